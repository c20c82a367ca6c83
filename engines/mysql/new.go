package mysql

import (
	"io"

	"github.com/rollcall-dev/rollcall/engines"
)

var _ engines.Peered = (*Engine)(nil)

// New makes an adapter; it connects when it is first asked for something.
func New(o Options) (*Engine, error) {
	l, err := newLocal(o)
	if err != nil {
		return nil, err
	}
	return newEngine(l, l.options), nil
}

// Close ends all sessions with the local server.
func (e *Engine) Close() error {
	if c, ok := e.server.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

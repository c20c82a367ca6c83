package mysql

import (
	"io"

	"github.com/rollcall-dev/rollcall/engines"
)

var (
	_ engines.Peered = (*Engine)(nil)
	_ server         = (*local)(nil)
)

// New makes an adapter; it connects when it is first asked for something.
func New(o Options) (*Engine, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	l, err := newLocal(o.serverOptions)
	if err != nil {
		return nil, err
	}
	return newEngine(l, o), nil
}

// Close ends all sessions with the local server.
func (e *Engine) Close() error {
	if c, ok := e.server.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

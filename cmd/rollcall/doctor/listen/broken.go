package listen

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
)

// brokenConn remembers why its connection broke. net/http says it with names of its own functions in
// front, or not at all.
type brokenConn struct {
	net.Conn
	why atomic.Pointer[error]
}

func (c *brokenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.note(err)
}

func (c *brokenConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.note(err)
}

func (c *brokenConn) note(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.why.CompareAndSwap(nil, &err)
	}
	return err
}

// err returns nil if the connection did not break.
func (c *brokenConn) err() error {
	if why := c.why.Load(); why != nil {
		return *why
	}
	return nil
}

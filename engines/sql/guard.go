package sql

import (
	"context"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"net"
)

// errMalformed means that the server's answer violates the protocol.
var errMalformed = errors.New("the answer is not one of MySQL's protocol")

// caught makes an error of a panic. The driver trusts packets to be as long as the
// protocol says, and indexes past the end of those that are not.
func caught(err *error) {
	if recover() != nil {
		*err = errMalformed
	}
}

// guarded makes connections that survive any answer.
type guarded struct{ sqldriver.Connector }

func (g guarded) Connect(ctx context.Context) (c sqldriver.Conn, err error) {
	defer caught(&err)
	c, err = g.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	asks, ok := c.(asking)
	if !ok {
		_ = c.Close()
		return nil, errors.New("the driver lacks something")
	}
	return &guardedConn{asking: asks}, nil
}

// asking is what the driver's connections can do.
type asking interface {
	sqldriver.Conn
	sqldriver.QueryerContext
	sqldriver.ExecerContext
	sqldriver.NamedValueChecker
	sqldriver.SessionResetter
	sqldriver.Validator
}

// guardedConn is not used again after a malformed answer.
type guardedConn struct {
	asking
	broken bool
}

func (c *guardedConn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (rows sqldriver.Rows, err error) {
	defer c.catch(&err)
	if rows, err = c.asking.QueryContext(ctx, query, args); err != nil {
		return nil, err
	}
	return &guardedRows{rows, c}, nil
}

func (c *guardedConn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (r sqldriver.Result, err error) {
	defer c.catch(&err)
	return c.asking.ExecContext(ctx, query, args)
}

func (c *guardedConn) IsValid() bool { return !c.broken && c.asking.IsValid() }

func (c *guardedConn) Close() (err error) {
	defer caught(&err)
	return c.asking.Close()
}

// catch is called by a deferring method.
func (c *guardedConn) catch(err *error) {
	if recover() != nil {
		*err, c.broken = errMalformed, true
	}
}

type guardedRows struct {
	sqldriver.Rows
	of *guardedConn
}

func (r *guardedRows) Next(into []sqldriver.Value) (err error) {
	defer r.of.catch(&err)
	return r.Rows.Next(into)
}

func (r *guardedRows) Close() (err error) {
	defer r.of.catch(&err)
	return r.Rows.Close()
}

// greeting reads the first packet of a server and gives it back with what follows. A
// panic over that one would leave a goroutine of the driver behind.
func greeting(ctx context.Context, c net.Conn) (io.Reader, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return nil, unheard(ctx, err)
	}
	const most = 4 << 10
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if size == 0 || size > most || head[3] != 0 {
		return nil, errMalformed
	}
	packet := append(head, make([]byte, size)...)
	if _, err := io.ReadFull(c, packet[4:]); err != nil {
		return nil, unheard(ctx, err)
	}
	if !greets(packet[4:]) {
		return nil, errMalformed
	}
	return &prefixed{packet, c}, nil
}

func unheard(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// greets tells a handshake of version 10, or a refusal, that is as long as it must be.
func greets(packet []byte) bool {
	const (
		refusal, version = 0xff, 10
		// number of the thread, seed, capabilities, character set, status, more of the two
		// in the middle, ten bytes, more of the seed
		least = 4 + 8 + 1 + 2 + 1 + 2 + 2 + 1 + 10 + 12
	)
	switch packet[0] {
	case refusal:
		return len(packet) >= 4 && (packet[3] != '#' || len(packet) >= 9) && binary.LittleEndian.Uint16(packet[1:3]) != 0
	case version:
		for i, b := range packet {
			if b == 0 {
				return len(packet)-i-1 >= least
			}
		}
	}
	return false
}

// prefixed gives what was read already first.
type prefixed struct {
	first []byte
	rest  io.Reader
}

func (p *prefixed) Read(into []byte) (int, error) {
	if len(p.first) == 0 {
		return p.rest.Read(into)
	}
	n := copy(into, p.first)
	p.first = p.first[n:]
	return n, nil
}

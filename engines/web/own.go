package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// OwnPod returns a dialer for a server in the own pod. Some listen on the pod's own address only: when
// nobody listens at the address that is asked for, the same port of the pod's own is tried. Whichever
// has said something first stays the one, so that a server that is down is told from one elsewhere.
// A timeout is no refusal. The name that a certificate must have does not change with it.
func OwnPod(own netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &ownPod{own: own}
	return d.dial
}

const (
	nobodyYet int32 = iota
	asAsked
	atOwn
)

type ownPod struct {
	own netip.Addr
	// spoke is who has said something.
	spoke  atomic.Int32
	dialer net.Dialer
}

func (d *ownPod) dial(ctx context.Context, network, address string) (net.Conn, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil || !d.own.IsValid() {
		return d.dialer.DialContext(ctx, network, address)
	}
	at := asAsked
	if d.spoke.Load() == atOwn {
		at, address = atOwn, net.JoinHostPort(d.own.String(), port)
	}
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil && at == asAsked && d.spoke.Load() == nobodyYet && errors.Is(err, syscall.ECONNREFUSED) {
		if other, otherErr := d.dialer.DialContext(ctx, network, net.JoinHostPort(d.own.String(), port)); otherErr == nil {
			at, conn, err = atOwn, other, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &heard{Conn: conn, at: at, spoke: &d.spoke}, nil
}

// heard notes that the other end has said something.
type heard struct {
	net.Conn
	at    int32
	spoke *atomic.Int32
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	if n > 0 {
		h.spoke.CompareAndSwap(nobodyYet, h.at)
	}
	return n, err
}

// SyscallConn lets a driver find out whether an idle connection has ended.
func (h *heard) SyscallConn() (syscall.RawConn, error) {
	c, ok := h.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return c.SyscallConn()
}

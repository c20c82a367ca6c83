package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// OwnPod returns a dialer for the servers in the own pod. Some listen on the pod's own address only: when
// nobody listens at the port of localhost that is asked for, the same port of the pod's own address is
// tried. Whichever has said something first stays the one for that port, so that a server that is down is
// told from one elsewhere. A timeout is no refusal. The name that a certificate must have does not change
// with it. Nothing takes the place of another host.
func OwnPod(own netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	d := &ownPod{own: own, spoke: map[string]*atomic.Int32{}}
	return d.dial
}

const (
	nobodyYet int32 = iota
	asAsked
	atOwn
)

type ownPod struct {
	own    netip.Addr
	dialer net.Dialer

	mu sync.Mutex
	// spoke is who has said something, by port.
	spoke map[string]*atomic.Int32
}

func (d *ownPod) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || !d.own.IsValid() || !loopback(host) {
		return d.dialer.DialContext(ctx, network, address)
	}
	spoke := d.at(port)
	at := asAsked
	if spoke.Load() == atOwn {
		at, address = atOwn, net.JoinHostPort(d.own.String(), port)
	}
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil && at == asAsked && spoke.Load() == nobodyYet && errors.Is(err, syscall.ECONNREFUSED) {
		if other, otherErr := d.dialer.DialContext(ctx, network, net.JoinHostPort(d.own.String(), port)); otherErr == nil {
			at, conn, err = atOwn, other, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return &heard{Conn: conn, at: at, spoke: spoke}, nil
}

// at returns who has said something at a port.
func (d *ownPod) at(port string) *atomic.Int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spoke[port] == nil {
		d.spoke[port] = &atomic.Int32{}
	}
	return d.spoke[port]
}

// loopback reports whether a host is localhost or an address of it.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
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

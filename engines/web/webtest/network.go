package webtest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// Network connects servers and clients in memory, so that they run in virtual time.
type Network struct {
	mu      sync.Mutex
	servers map[string]*listener
}

// Listen returns a listener with an address of its own.
func (n *Network) Listen() net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.servers == nil {
		n.servers = map[string]*listener{}
	}
	l := &listener{
		address: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: len(n.servers) + 1},
		opened:  make(chan net.Conn), closed: make(chan struct{}),
	}
	n.servers[l.address.String()] = l
	return l
}

// Dial connects to a listening server.
func (n *Network) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.servers[address]
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)
	}
	near, far := net.Pipe()
	select {
	case l.opened <- far:
		return near, nil
	case <-l.closed:
		return nil, fmt.Errorf("%s: %w", address, syscall.ECONNREFUSED)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	address net.Addr
	opened  chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.opened:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

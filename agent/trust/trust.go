// Package trust checks certificates again after the handshake. TLS checks a
// certificate once, when a connection is made; a connection of hours would outlive
// the authority that it was made under. Here each connection is checked again
// whenever the authorities change.
package trust

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// Verify reports whether the authorities that are trusted at a moment have signed
// the certificate that a peer has shown.
func Verify(shown []*x509.Certificate, roots *x509.CertPool, usage x509.ExtKeyUsage, now time.Time) error {
	if len(shown) == 0 {
		return errors.New("no certificate was shown")
	}
	if roots == nil {
		return errors.New("no authority is known yet") // or the machine's would count
	}
	if len(shown) > 1 {
		// The authority signs every certificate itself. Trying a hundred made-up
		// ones with its name takes a quarter of a second.
		return errors.New("more than one certificate was shown")
	}
	_, err := shown[0].Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

// A connection lasts at most Life, and up to spread less, so that those that were
// made together do not end together.
const (
	Life   = 12 * time.Hour
	spread = time.Hour
)

// Connections are the open connections to peers with a certificate. The zero value
// is ready to use.
type Connections struct {
	mu   sync.Mutex
	open map[net.Conn]entry
}

type entry struct {
	raw   net.Conn // below TLS, which would take its time to say goodbye
	shown []*x509.Certificate
	ends  time.Time
}

// Sweep closes the connections to peers that are refused now, and those that are too
// old, and returns how many. Calls on them fail as if the network had failed.
func (c *Connections) Sweep(now time.Time, refused func(shown []*x509.Certificate) error) int {
	var ended []net.Conn
	c.mu.Lock()
	for conn, e := range c.open {
		if !now.Before(e.ends) || refused(e.shown) != nil {
			ended = append(ended, e.raw)
			delete(c.open, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range ended {
		_ = conn.Close() // a failed one is closed as well
	}
	return len(ended)
}

// Add notes a connection after its handshake, and the one below it. Without a
// certificate it is not noted.
func (c *Connections) Add(conn, raw net.Conn, shown []*x509.Certificate) {
	if len(shown) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]entry{}
	}
	if _, known := c.open[conn]; !known {
		c.open[conn] = entry{raw, shown, time.Now().Add(Life - rand.N(spread))}
	}
}

// Remove forgets a closed connection.
func (c *Connections) Remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// Len returns how many are open.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Credentials returns gRPC credentials that note their connections.
func (c *Connections) Credentials(of credentials.TransportCredentials) credentials.TransportCredentials {
	return noting{of, c}
}

type noting struct {
	credentials.TransportCredentials
	connections *Connections
}

func (n noting) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := n.TransportCredentials.ServerHandshake(conn)
	return n.note(secure, conn, info, err)
}

func (n noting) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, conn)
	return n.note(secure, conn, info, err)
}

func (n noting) note(conn, raw net.Conn, info credentials.AuthInfo, err error) (net.Conn, credentials.AuthInfo, error) {
	if err != nil {
		return conn, info, err
	}
	noted := &noted{Conn: conn, connections: n.connections}
	if t, ok := info.(credentials.TLSInfo); ok {
		n.connections.Add(noted, raw, t.State.PeerCertificates)
	}
	return noted, info, nil
}

func (n noting) Clone() credentials.TransportCredentials {
	return noting{n.TransportCredentials.Clone(), n.connections}
}

// noted is a connection that is forgotten when it is closed.
type noted struct {
	net.Conn
	connections *Connections
}

func (n *noted) Close() error {
	n.connections.Remove(n)
	return n.Conn.Close()
}

// SyscallConn lets gRPC set socket options.
func (n *noted) SyscallConn() (syscall.RawConn, error) {
	if s, ok := n.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, fmt.Errorf("%T has no socket", n.Conn)
}

// Shown returns the certificates that the peer of a call has shown. Verify checks
// them.
func Shown(info credentials.AuthInfo) []*x509.Certificate {
	if t, ok := info.(credentials.TLSInfo); ok {
		return t.State.PeerCertificates
	}
	return nil
}

package zookeepertest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// Say sends a four letter word and returns the answer, without the adapter.
func (s *Server) Say(word string) (string, error) {
	conn, err := s.ensemble.Dial("tcp", s.Address(), 2*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// Mode is what the server says that it is; empty if it does not serve.
func (s *Server) Mode() string {
	answer, _ := s.Say("srvr")
	_, mode, _ := strings.Cut(answer, "\nMode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

// Leader waits for a server that leads, and returns it.
func (e *Ensemble) Leader() *Server {
	e.t.Helper()
	var leader *Server
	require.Eventually(e.t, func() bool {
		for _, s := range e.Servers {
			if s.Mode() == "leader" {
				leader = s
			}
		}
		return leader != nil
	}, time.Minute, 20*time.Millisecond, "nobody leads")
	return leader
}

// Dial connects to a client port, with TLS if the ensemble has it.
func (e *Ensemble) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: timeout}
	if !e.options.TLS {
		return dialer.Dial(network, address)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(e.CA))
	own, err := tls.X509KeyPair([]byte(e.Client), []byte(e.ClientKey))
	if err != nil {
		return nil, err
	}
	return tls.DialWithDialer(dialer, network, address, &tls.Config{RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{own}})
}

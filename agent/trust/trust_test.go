package trust_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/trust"
)

func leaf(t *testing.T, a *agenttest.Authority, role string) *x509.Certificate {
	t.Helper()
	certificate, err := x509.ParseCertificate(a.Client("agent", role).Certificates[0].Certificate[0])
	require.NoError(t, err)
	return certificate
}

func TestVerify(t *testing.T) {
	a, other := agenttest.NewAuthority(t), agenttest.NewAuthority(t)
	client := leaf(t, a, config.RoleReader)
	shown := []*x509.Certificate{client}
	now := time.Now()
	roots := a.Client("agent", config.RoleReader).RootCAs
	require.NoError(t, trust.Verify(shown, roots, x509.ExtKeyUsageClientAuth, now))
	require.ErrorContains(t, trust.Verify(shown, other.Client("agent", config.RoleReader).RootCAs, x509.ExtKeyUsageClientAuth, now), "unknown authority")
	require.ErrorContains(t, trust.Verify(shown, roots, x509.ExtKeyUsageServerAuth, now), "incompatible key usage")
	require.ErrorContains(t, trust.Verify(shown, roots, x509.ExtKeyUsageClientAuth, client.NotAfter.Add(time.Second)), "expired")
	require.ErrorContains(t, trust.Verify(nil, roots, x509.ExtKeyUsageClientAuth, now), "no certificate was shown")
	require.ErrorContains(t, trust.Verify(shown, nil, x509.ExtKeyUsageClientAuth, now), "no authority is known")
}

// Connections end by a sweep when they are refused or old, and only then; who is closed otherwise is forgotten.
func TestSweep(t *testing.T) {
	a := agenttest.NewAuthority(t)
	var c trust.Connections
	server := c.Credentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{a.Agent("agent", "agent").Certificates[0]}, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13,
		ClientCAs: a.Client("agent", config.RoleReader).RootCAs, ClientAuth: tls.RequireAndVerifyClientCert,
	}))
	connect := func(role string) (client, served net.Conn) {
		near, far := net.Pipe()
		made := make(chan net.Conn)
		go func() {
			conf := a.Client("agent", role)
			conf.NextProtos = []string{"h2"}
			conn, _, err := credentials.NewTLS(conf).ClientHandshake(t.Context(), "agent", near)
			if err != nil {
				t.Error(err)
			}
			made <- conn
		}()
		served, _, err := server.ServerHandshake(far)
		require.NoError(t, err)
		return <-made, served
	}
	ends := func(conn net.Conn) bool {
		if conn.SetReadDeadline(time.Now().Add(50*time.Millisecond)) != nil {
			return true
		}
		_, err := conn.Read(make([]byte, 1))
		return err != nil && !isTimeout(err)
	}
	reader, _ := connect(config.RoleReader)
	coordinator, _ := connect(config.RoleCoordinator)
	gone, left := connect(config.RoleReader)
	require.Equal(t, 3, c.Len())
	go func() { _, _ = gone.Read(make([]byte, 1)) }() // takes the last words of who closes
	require.NoError(t, left.Close())
	require.Equal(t, 2, c.Len(), "closed is forgotten")

	now := time.Now()
	taken := func([]*x509.Certificate) error { return nil }
	require.Zero(t, c.Sweep(now, taken))
	require.Equal(t, 1, c.Sweep(now, func(shown []*x509.Certificate) error {
		if shown[0].URIs[0].String() == config.RolePrefix+config.RoleReader {
			return errors.New("not any more")
		}
		return nil
	}))
	require.Equal(t, 1, c.Len())
	require.True(t, ends(reader))
	require.False(t, ends(coordinator), "another's")
	require.Zero(t, c.Sweep(now.Add(trust.Life-2*time.Hour), taken))
	require.Equal(t, 1, c.Sweep(now.Add(trust.Life+time.Minute), taken), "too old")
	require.Zero(t, c.Len())
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

package apiserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// oldConnection is one connection, which is never made a second time.
type oldConnection struct {
	what  string
	agent bool
	ask   func(ctx context.Context) error

	answers atomic.Int64
	mu      sync.Mutex
	last    time.Time
	refused []refusal
}

type refusal struct {
	at  time.Time
	err error
}

func (o *oldConnection) call(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return o.ask(ctx)
}

func (o *oldConnection) run(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(40 * time.Millisecond) {
		began := time.Now()
		err := o.call(ctx)
		if ctx.Err() != nil {
			return
		}
		o.mu.Lock()
		if err != nil {
			o.refused = append(o.refused, refusal{time.Now(), err})
		} else {
			o.answers.Add(1)
			o.last = began
		}
		o.mu.Unlock()
	}
}

func (o *oldConnection) refusals() (all []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.refused {
		all = append(all, r.at.Format("15:04:05.000 ")+r.err.Error())
	}
	return all
}

func (o *oldConnection) firstRefusal() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.refused) == 0 {
		return time.Time{}
	}
	return o.refused[0].at
}

func (o *oldConnection) lastAnswer() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// once dials once.
func once(address string) func(context.Context) (net.Conn, error) {
	var dialled atomic.Bool
	return func(ctx context.Context) (net.Conn, error) {
		if dialled.Swap(true) {
			return nil, errors.New("the connection has ended")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
}

func clientOf(pair pki.Pair, authority pki.Authority, name string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: authority.Pool(), ServerName: name, Certificates: []tls.Certificate{pair.TLS()}}
}

func connect(t *testing.T, address string, conf *tls.Config) *grpc.ClientConn {
	t.Helper()
	dial := once(address)
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(conf)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func roleOf(pair pki.Pair) string {
	role, _ := pki.Role(pair.Certificate())
	return role
}

func askCoordinator(t *testing.T, c *running, pair pki.Pair, authority pki.Authority) *oldConnection {
	// Only a certificate gets this, and from those that do not lead, too.
	client := healthv1.NewHealthClient(connect(t, c.grpc, clientOf(pair, authority, pki.CoordinatorName)))
	return &oldConnection{what: roleOf(pair) + " to " + c.identity, ask: func(ctx context.Context) error {
		_, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
		return err
	}}
}

func askAgent(t *testing.T, a *agentProcess, pair pki.Pair, authority pki.Authority) *oldConnection {
	client := rollcallv1.NewAgentServiceClient(connect(t, a.address, clientOf(pair, authority, config.ServerName("prod", "db"))))
	return &oldConnection{what: roleOf(pair) + " to an agent", agent: true, ask: func(ctx context.Context) error {
		_, err := client.GetRoster(ctx, &rollcallv1.GetRosterRequest{})
		return err
	}}
}

func askPage(t *testing.T, c *running, pair pki.Pair, authority pki.Authority) *oldConnection {
	dial := once(c.page)
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: clientOf(pair, authority, pki.CoordinatorName),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	return &oldConnection{what: roleOf(pair) + " to the page of " + c.identity, ask: func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://page/", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", response.Status, text)
		}
		return err
	}}
}

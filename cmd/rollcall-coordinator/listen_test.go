package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

const reviewOfNothing = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}}`

// port is a coordinator's webhook and its HTTP, as run has them.
type port struct {
	keeper        *pki.Webhook
	m             *metrics
	webhook, http string
}

func newPort(t *testing.T, callers *x509.CertPool) *port {
	t.Helper()
	opts := pki.Options{Namespace: "n", Service: "s"}
	keeper, err := pki.NewWebhook(fake.NewClientset(), opts)
	require.NoError(t, err)
	require.NoError(t, keeper.Ensure(t.Context()))
	registry := prometheus.NewRegistry()
	m := newMetrics(registry)
	webhook, err := inject.NewWebhook(inject.WebhookOptions{Image: "agent", Logger: quiet})
	require.NoError(t, err)
	sockets, err := listen(t.Context(), options{grpcAddr: "127.0.0.1:0", httpAddr: "127.0.0.1:0", webhook: "127.0.0.1:0"}, door.New(m.connections, quiet))
	require.NoError(t, err)
	require.NoError(t, sockets.grpc.Close())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() {
		ended <- inject.Serve(ctx, sockets.webhook, webhookTLS(keeper.TLS(), callers), webhook, quiet)
	}()
	go func() {
		ended <- serveHTTP(ctx, sockets.http, newHandler(registry, func() error { return nil }), quiet)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		<-ended
	})
	return &port{keeper, m, sockets.webhook.Addr().String(), sockets.http.Addr().String()}
}

// caller is an API server, from an address of this machine.
func (p *port) caller(from string, own ...tls.Certificate) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		DialContext:       (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: p.keeper.Authority().Pool(), ServerName: "s.n.svc", Certificates: own},
	}}
}

func (p *port) ask(c *http.Client) (int, error) {
	response, err := c.Post("https://"+p.webhook+inject.WebhookPath, "application/json", strings.NewReader(reviewOfNothing))
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// inUse is what is live, and the stacks.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// TestSlowHeadersTakeNothing checks that 6,000 connections that begin a request and do not end it
// take a few MiB at most, and keep neither an API server nor the kubelet out, which come from an
// address of theirs.
func TestSlowHeadersTakeNothing(t *testing.T) {
	p := newPort(t, nil)
	apiserver := p.caller("127.0.0.2")
	code, err := p.ask(apiserver)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	before := inUse()
	hello := clientHello(t)
	var all []net.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	for i := range 6000 {
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%20))}}
		address, begin := p.http, []byte("GET /healthz HTTP/1.1\r\nA: ")
		if i%2 == 0 {
			address, begin = p.webhook, hello
		}
		c, err := from.DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		_, _ = c.Write(begin)
		all = append(all, c)
		if i%500 == 499 {
			code, err := p.ask(apiserver)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
			kubelet := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
				DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, 1)}}).DialContext}}
			response, err := kubelet.Get("http://" + p.http + "/healthz")
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
		}
	}
	for _, name := range []string{"http", "webhook"} {
		require.Greater(t, testutil.ToFloat64(p.m.connections.WithLabelValues(name, "all")), 2500.0)
	}
	var took int64
	require.Eventually(t, func() bool { // those that were ended are under way
		took = inUse() - before
		return took < 8<<20 // the test's own 6,000 ends are in it
	}, time.Minute, 100*time.Millisecond)
	t.Logf("%d KiB", took>>10)
}

// TestStrangersEndNoKeptConnection checks that an API server's connection, which it keeps between
// its reviews, outlives strangers who come from the same address, as behind NAT.
func TestStrangersEndNoKeptConnection(t *testing.T) {
	p := newPort(t, nil)
	apiserver := p.caller("127.0.0.2")
	dialled := 0
	transport := apiserver.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled++
		return dial(ctx, network, address)
	}
	for range 3 {
		code, err := p.ask(apiserver)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, code)
		for range 200 {
			c, err := dial(t.Context(), "tcp", p.webhook)
			require.NoError(t, err)
			defer c.Close()
			_, err = c.Write(clientHello(t))
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { return testutil.ToFloat64(p.m.connections.WithLabelValues("webhook", "peer")) > 150 }, time.Minute, 10*time.Millisecond)
	}
	require.Equal(t, 1, dialled)
}

// clientHello is the first message of a handshake.
func clientHello(t *testing.T) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() { _ = tls.Client(ours, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()) }()
	message := make([]byte, 4096)
	n, err := theirs.Read(message)
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	return message[:n]
}

// TestWebhookDemandsCertificates checks that the webhook demands certificates of the authority that
// it was given, and of no other.
func TestWebhookDemandsCertificates(t *testing.T) {
	issuer, err := pki.NewKeeper(fake.NewClientset(), pki.Options{Namespace: "other", Service: "s"})
	require.NoError(t, err)
	require.NoError(t, issuer.Ensure(t.Context()))
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, issuer.Authority().Bundle(), 0o600))
	callers, err := options{webhookCA: file}.webhookCallers()
	require.NoError(t, err)
	p := newPort(t, callers)
	issue := func(keeper interface{ Authority() pki.Authority }) tls.Certificate {
		pair, err := keeper.Authority().Issue(pki.ClientProfile("apiserver"), time.Now())
		require.NoError(t, err)
		return pair.TLS()
	}
	code, err := p.ask(p.caller("127.0.0.2", issue(issuer)))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	_, err = p.ask(p.caller("127.0.0.2"))
	require.Error(t, err)
	_, err = p.ask(p.caller("127.0.0.2", issue(p.keeper)))
	require.Error(t, err, "the webhook's own authority is not the API server's")

	// As many are taken as somebody may have between; a hundred, of which each would be tried, are not.
	for shown, taken := range map[int]bool{mostShown: true, mostShown + 1: false, 100: false} {
		long := issue(issuer)
		for len(long.Certificate) < shown {
			long.Certificate = append(long.Certificate, issue(p.keeper).Certificate[0])
		}
		_, err = p.ask(p.caller("127.0.0.2", long))
		require.Equal(t, taken, err == nil, "%d: %v", shown, err)
	}
	require.Error(t, isOf(callers, nil))
}

func TestWebhookCallersAreRead(t *testing.T) {
	none, err := options{}.webhookCallers()
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = options{webhookCA: filepath.Join(t.TempDir(), "none")}.webhookCallers()
	require.ErrorContains(t, err, "--webhook-client-ca")
	file := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("a"), 10), 0o600))
	_, err = options{webhookCA: file}.webhookCallers()
	require.ErrorContains(t, err, "no certificate in the file")
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}), 0o600))
	_, err = options{webhookCA: file}.webhookCallers()
	require.ErrorContains(t, err, "no certificate in the file")
}

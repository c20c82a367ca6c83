package siege

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stranger knows nobody's authority, and has no certificate.
func stranger() *tls.Config { return &tls.Config{InsecureSkipVerify: true} } // whoever attacks does not care whom

// from dials from one of a few addresses, none of which is the API server's.
func from(i int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, byte(1+i%16))}}
}

// calm is what all others are compared with.
func calm(*testing.T, *coordinator) { time.Sleep(5 * time.Second) }

// send posts one review of 0.9 MB.
func (s shape) send(t *testing.T, c *coordinator) {
	body := s.make(900_000)
	require.Less(t, len(body), 1_000_000)
	t.Logf("%d bytes: %s", len(body), post(t.Context(), c, body))
}

func eightLarge(t *testing.T, c *coordinator) {
	body := thirtyThousand()
	require.Less(t, len(body), 4<<20)
	var all sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		all.Go(func() { answers[i] = post(t.Context(), c, body) })
	}
	all.Wait()
	t.Logf("8 x %d bytes, %d containers: %s", len(body), strings.Count(body, `"image"`), strings.Join(answers, "; "))
}

// post sends a review over a connection of its own, and says what came of it.
func post(ctx context.Context, c *coordinator, body string) string {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	transport := &http.Transport{TLSClientConfig: stranger(), DialContext: from(0).DialContext}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.webhook+inject.WebhookPath, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return fmt.Sprintf("%s, %d bytes %.100q %v", response.Status, len(text), text, err)
}

// listener is one of the coordinator's.
type listener struct {
	address  string
	secured  bool
	protocol string
}

func (c *coordinator) listener(name string) listener {
	return map[string]listener{
		"http":    {c.http, false, ""},
		"webhook": {c.webhook, true, "http/1.1"},
		"page":    {c.page, true, "http/1.1"},
		"grpc":    {c.grpc, true, "h2"},
	}[name]
}

// again is after how long an attacker comes back who was let go. Attackers share
// the machine with the attacked: sooner, there is nothing left of it but handshakes.
func again() time.Duration { return lasts() / 3 }

// slowHeaders holds 6,000 connections in all, as far as there are files for them, and opens those
// again that are closed. Every other one shakes hands before.
func slowHeaders(names ...string) func(*testing.T, *coordinator) {
	return func(t *testing.T, c *coordinator) {
		ctx, cancel := context.WithTimeout(t.Context(), lasts())
		defer cancel()
		var all sync.WaitGroup
		for _, name := range names {
			l := c.listener(name)
			var opened, held, most atomic.Int64
			for i := range min(6000, c.world.files-1000) / len(names) {
				all.Go(func() {
					for ctx.Err() == nil {
						conn, err := from(i).DialContext(ctx, "tcp", l.address)
						if err == nil {
							opened.Add(1)
							now := held.Add(1)
							for before := most.Load(); now > before && !most.CompareAndSwap(before, now); before = most.Load() {
							}
							l.trickle(ctx, conn, i%2 == 0)
							held.Add(-1)
						}
						pause(ctx, again())
					}
				})
			}
			defer func() { t.Logf("%s: %d connections opened, %d at once", name, opened.Load(), most.Load()) }()
		}
		all.Wait()
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// trickle sends a byte each second until the other side or ctx ends it.
func (l listener) trickle(ctx context.Context, conn net.Conn, handshake bool) {
	defer conn.Close()
	text := "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " + strings.Repeat("a", 64)
	switch {
	case l.secured && handshake:
		conf := stranger()
		conf.NextProtos = []string{l.protocol}
		client := tls.Client(conn, conf)
		if client.HandshakeContext(ctx) != nil {
			return
		}
		conn = client
		if l.protocol == "h2" {
			text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		}
	case l.secured:
		// The beginning of a TLS record of 16 KiB with a ClientHello in it.
		text = "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + strings.Repeat("r", 64)
	}
	first := len(text) / 2
	if _, err := io.WriteString(conn, text[:first]); err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	for ; first < len(text); first++ {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-time.After(time.Second):
		}
		if _, err := io.WriteString(conn, text[first:first+1]); err != nil {
			return
		}
	}
}

// handshakes does a hundred of them a second on each of two ports, and keeps the connections.
func handshakes(t *testing.T, c *coordinator) {
	var all sync.WaitGroup
	var done, refused atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), lasts()+5*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range 100 * int(lasts()/time.Second) {
		<-tick.C
		for address, protocol := range map[string]string{c.webhook: "http/1.1", c.grpc: "h2"} {
			all.Go(func() {
				conf := stranger()
				conf.NextProtos = []string{protocol}
				conn, err := (&tls.Dialer{NetDialer: from(i), Config: conf}).DialContext(ctx, "tcp", address)
				if err != nil {
					refused.Add(1)
					return
				}
				defer conn.Close()
				done.Add(1)
				<-ctx.Done()
			})
		}
	}
	cancel()
	all.Wait()
	t.Logf("%d handshakes, %d refused", done.Load(), refused.Load())
}

// madeUpTokens asks with 60 different tokens a second, from one address. A person
// with a token of their own asks from another.
func madeUpTokens(t *testing.T, c *coordinator) {
	client := c.asks(t, "127.0.0.66")
	person := c.asks(t, "127.0.0.77")
	token := c.world.person(t)
	ask := func(client rollcallv1.CoordinatorServiceClient, token string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
		_, err := client.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: honestNamespace})
		return err
	}
	require.NoError(t, ask(person, token))
	before := c.world.served(t.Context(), "tokenreviews")
	var mu sync.Mutex
	answers, heard := map[codes.Code]int{}, map[codes.Code]int{}
	var all sync.WaitGroup
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for i := range 60 * int(lasts()/time.Second) {
		<-tick.C
		note := func(client rollcallv1.CoordinatorServiceClient, token string, answers map[codes.Code]int) {
			all.Go(func() {
				err := ask(client, token)
				mu.Lock()
				defer mu.Unlock()
				answers[grpcstatus.Code(err)]++
			})
		}
		note(client, fmt.Sprintf("made-up-%d", i), answers)
		if i%30 == 0 {
			note(person, token, heard)
		}
	}
	all.Wait()
	t.Logf("answers: %v; to a person meanwhile: %v; the API server was asked about %d tokens",
		answers, heard, c.world.served(t.Context(), "tokenreviews")-before)
	require.Zero(t, answers[codes.OK], "a made-up token was taken")
	require.Eventually(t, func() bool { return ask(person, token) == nil }, 10*time.Second, time.Second, "a person is not answered after it")
}

// asks is a client at an address of its own.
func (c *coordinator) asks(t *testing.T, address string) rollcallv1.CoordinatorServiceClient {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := grpc.NewClient("passthrough:///"+c.grpc, grpc.WithTransportCredentials(credentials.NewTLS(stranger())),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to)
		}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return rollcallv1.NewCoordinatorServiceClient(conn)
}

// person returns the token of somebody who may read everything.
func (w *world) person(t *testing.T) string {
	t.Helper()
	ctx := t.Context()
	_, err := w.admin.CoreV1().ServiceAccounts(honestNamespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "person"}}, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	_, err = w.admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "person"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "rollcall-databaseclusters-view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: honestNamespace, Name: "person"}},
	}, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
	return w.token(t, honestNamespace, "person")
}

package people

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const rollcallNamespace = "rollcall-system"

// apiServer answers reviews. Tokens are "NAME" or, made for Rollcall alone, "rollcall:NAME".
type apiServer struct {
	mu     sync.Mutex
	may    map[string]bool // "NAME VERB NAMESPACE"
	asked  []string
	broken error
	deaf   bool // it does not look at audiences
	client *fake.Clientset
}

func (a *apiServer) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *apiServer) count(what string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, line := range a.asked {
		if strings.HasPrefix(line, what) {
			n++
		}
	}
	return n
}

func (a *apiServer) react(action k8stesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch review := action.(k8stesting.CreateAction).GetObject().(type) {
	case *authenticationv1.TokenReview:
		a.asked = append(a.asked, "token")
		if a.broken != nil {
			return true, nil, fmt.Errorf("%w: spec.token: Invalid value: %q", a.broken, review.Spec.Token)
		}
		name, ours := strings.CutPrefix(review.Spec.Token, "rollcall:")
		known := slices.Contains([]string{"ada", "bob"}, name)
		if known && (a.deaf || ours == slices.Contains(review.Spec.Audiences, TokenAudience)) {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true,
				User: authenticationv1.UserInfo{Username: name, Groups: []string{"dba"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}}
			if !a.deaf {
				review.Status.Audiences = review.Spec.Audiences
			}
		}
		return true, review, nil
	case *authorizationv1.SubjectAccessReview:
		s := review.Spec
		if s.ResourceAttributes.Group != "rollcall.dev" || s.ResourceAttributes.Resource != "databaseclusters" ||
			!slices.Equal(s.Groups, []string{"dba"}) || len(s.Extra["k"]) != 1 {
			return true, nil, fmt.Errorf("asked about %v", s)
		}
		line := s.User + " " + s.ResourceAttributes.Verb + " " + s.ResourceAttributes.Namespace
		a.asked = append(a.asked, line)
		review.Status.Allowed = a.may[line]
		return true, review, nil
	}
	return false, nil, nil
}

func (a *apiServer) gate(refuses func([]*x509.Certificate) error) *Gate {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", a.react)
	client.PrependReactor("create", "subjectaccessreviews", a.react)
	client.PrependReactor("get", "certificatesigningrequests", a.reads)
	a.client = client
	return NewGate(client, refuses)
}

// service has one database in each of three namespaces.
type service struct {
	rollcallv1.UnimplementedCoordinatorServiceServer
	next chan struct{}
}

func (*service) ListClusters(_ context.Context, r *rollcallv1.ListClustersRequest) (*rollcallv1.ListClustersResponse, error) {
	answer := &rollcallv1.ListClustersResponse{}
	for _, namespace := range []string{"dev", "prod", "test"} {
		if r.GetNamespace() == "" || r.GetNamespace() == namespace {
			answer.Clusters = append(answer.Clusters, &rollcallv1.Cluster{Namespace: namespace, Name: "db"})
		}
	}
	return answer, nil
}

func (*service) GetCluster(_ context.Context, r *rollcallv1.GetClusterRequest) (*rollcallv1.Cluster, error) {
	return &rollcallv1.Cluster{Namespace: r.GetNamespace()}, nil
}

func (s *service) WatchCluster(r *rollcallv1.WatchClusterRequest, stream grpc.ServerStreamingServer[rollcallv1.Cluster]) error {
	for range s.next {
		if err := stream.Send(&rollcallv1.Cluster{Namespace: r.GetNamespace()}); err != nil {
			return err
		}
	}
	return nil
}

// world is a server behind the gate, over loopback with the installation's TLS.
type world struct {
	t         *testing.T
	api       *apiServer
	gate      *Gate
	service   *service
	address   string
	secrets   *fake.Clientset
	roots     *x509.CertPool
	keeper    *pki.Keeper
	authority pki.Authority

	mu  sync.Mutex
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, api: &apiServer{may: map[string]bool{}}, service: &service{next: make(chan struct{})}, secrets: fake.NewClientset(), now: time.Now()}
	keeper, err := pki.NewKeeper(w.secrets, pki.Options{Namespace: rollcallNamespace, Service: "rollcall-coordinator"})
	require.NoError(t, err)
	require.NoError(t, keeper.Ensure(t.Context()))
	w.keeper, w.authority = keeper, keeper.Authority()
	w.roots = x509.NewCertPool()
	require.True(t, w.roots.AppendCertsFromPEM(w.secret(pki.SecretTrust)["ca.crt"]))
	w.gate = w.api.gate(keeper.Refuses)
	w.gate.now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	}
	server := grpc.NewServer(append(w.gate.ServerOptions(), grpc.Creds(keeper.GateCredentials()))...)
	rollcallv1.RegisterCoordinatorServiceServer(server, w.service)
	rollcallv1.RegisterAgentServiceServer(server, rollcallv1.UnimplementedAgentServiceServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w.address = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	return w
}

func (w *world) secret(name string) map[string][]byte {
	w.t.Helper()
	secret, err := w.secrets.CoreV1().Secrets(rollcallNamespace).Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	return secret.Data
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) dial(certificates ...tls.Certificate) *grpc.ClientConn {
	w.t.Helper()
	config := &tls.Config{RootCAs: w.roots, ServerName: pki.CoordinatorName, MinVersion: tls.VersionTLS13}
	for i := range certificates {
		// Shown whether or not the server would trust it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[i], nil }
	}
	conn, err := grpc.NewClient("passthrough:///"+w.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func as(t *testing.T, token string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), Header, "Bearer "+token)
}

func requireCode(t *testing.T, want codes.Code, err error, words ...string) {
	t.Helper()
	require.Equal(t, want.String(), grpcstatus.Code(err).String(), "%v", err)
	for _, word := range words {
		require.ErrorContains(t, err, word)
	}
}

func TestWhoMaySee(t *testing.T) {
	w := newWorld(t)
	w.api.may = map[string]bool{"ada get prod": true, "ada list prod": true, "ada list dev": true}
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	get := func(ctx context.Context, namespace string) error {
		_, err := client.GetCluster(ctx, &rollcallv1.GetClusterRequest{Namespace: namespace, Name: "db"})
		return err
	}
	require.NoError(t, get(as(t, "ada"), "prod"))
	require.NoError(t, get(as(t, "rollcall:ada"), "prod"), "a token made for Rollcall alone")
	requireCode(t, codes.PermissionDenied, get(as(t, "ada"), "test"), `ada may not get databaseclusters.rollcall.dev in namespace "test"`)
	requireCode(t, codes.PermissionDenied, get(as(t, "bob"), "prod"), `bob may not get databaseclusters.rollcall.dev in namespace "prod"`)
	requireCode(t, codes.InvalidArgument, get(as(t, "ada"), ""), "namespace is empty")
	requireCode(t, codes.Unauthenticated, get(as(t, "eve"), "prod"), "the API server does not know the token", "log in again")
	requireCode(t, codes.Unauthenticated, get(t.Context(), "prod"), "neither a client certificate, nor a proof by a CertificateSigningRequest, nor a token")
	requireCode(t, codes.Unauthenticated, get(as(t, ""), "prod"), "neither a client certificate, nor a proof by a CertificateSigningRequest, nor a token")
	requireCode(t, codes.Unauthenticated, get(metadata.AppendToOutgoingContext(as(t, "ada"), Header, "Bearer bob"), "prod"), "neither")
	requireCode(t, codes.Unauthenticated, get(metadata.AppendToOutgoingContext(t.Context(), Header, "Basic ada"), "prod"), "neither")

	list := func(ctx context.Context, namespace string) (seen []string, err error) {
		answer, err := client.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: namespace})
		for _, c := range answer.GetClusters() {
			seen = append(seen, c.GetNamespace())
		}
		return seen, err
	}
	seen, err := list(as(t, "ada"), "")
	require.NoError(t, err)
	require.Equal(t, []string{"dev", "prod"}, seen)
	seen, err = list(as(t, "ada"), "prod")
	require.NoError(t, err)
	require.Equal(t, []string{"prod"}, seen)
	_, err = list(as(t, "ada"), "test")
	requireCode(t, codes.PermissionDenied, err, `ada may not list databaseclusters.rollcall.dev in namespace "test"`)
	_, err = list(as(t, "bob"), "")
	requireCode(t, codes.PermissionDenied, err, `bob may not list databaseclusters.rollcall.dev in any namespace`)
	w.api.set(func() { w.api.may["bob list "] = true })
	w.pass(keepRefused)
	seen, err = list(as(t, "bob"), "")
	require.NoError(t, err)
	require.Len(t, seen, 3)
}

func TestAnswersAreKeptForAShortTime(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	get := func(token string) error {
		_, err := client.GetCluster(as(t, token), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"})
		return err
	}
	for range 5 {
		require.NoError(t, get("ada"))
		require.Error(t, get("eve"))
	}
	require.Equal(t, 3, w.api.count("token"), "one for ada, two for eve: of the API server and of ours")
	require.Equal(t, 1, w.api.count("ada get"))
	w.api.set(func() { w.api.may["ada get prod"] = false })
	w.pass(keepAllowed - time.Millisecond)
	require.NoError(t, get("ada"))
	w.pass(time.Millisecond)
	requireCode(t, codes.PermissionDenied, get("ada"))
	w.api.set(func() { w.api.may["ada get prod"] = true })
	w.pass(keepRefused)
	require.NoError(t, get("ada"))
}

// A watch that has begun ends when the right does.
func TestAWatchDoesNotOutliveTheRight(t *testing.T) {
	w := newWorld(t)
	defer close(w.service.next)
	w.api.may["ada get prod"] = true
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	stream, err := client.WatchCluster(as(t, "ada"), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "db"})
	require.NoError(t, err)
	w.service.next <- struct{}{}
	_, err = stream.Recv()
	require.NoError(t, err)
	w.api.set(func() { w.api.may["ada get prod"] = false })
	w.pass(keepAllowed)
	w.service.next <- struct{}{}
	_, err = stream.Recv()
	requireCode(t, codes.PermissionDenied, err, `namespace "prod"`)

	stream, err = client.WatchCluster(as(t, "bob"), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "db"})
	require.NoError(t, err)
	_, err = stream.Recv()
	requireCode(t, codes.PermissionDenied, err, "bob may not get")
}

func TestTheAPIServerHasTheLastWord(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	get := func(token string) error {
		_, err := client.GetCluster(as(t, token), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"})
		return err
	}
	w.api.set(func() { w.api.broken = errors.New("no quorum") })
	err := get("ada")
	requireCode(t, codes.Unavailable, err, "no quorum", `"[token]"`)
	require.NotContains(t, err.Error(), `"ada"`, "a token is shown to nobody")
	w.api.set(func() { w.api.broken = nil })
	require.NoError(t, get("ada"), "a failure is not remembered")

	w.api.set(func() { w.api.deaf = true })
	who, err := w.gate.review(t.Context(), "rollcall:ada", []string{TokenAudience})
	require.NoError(t, err)
	require.Nil(t, who, "an API server that does not look at audiences does not vouch for ours")

	w.gate.limit = flowcontrol.NewFakeNeverRateLimiter()
	requireCode(t, codes.ResourceExhausted, get("bob"), "try again in a few seconds")
	require.NoError(t, get("ada"), "who is known is not asked about")
}

func TestTheCacheIsBounded(t *testing.T) {
	now := time.Now()
	c := newCache[int, bool](&Gate{now: func() time.Time { return now }})
	for i := range 3 * maxEntries {
		c.put(i, true, time.Minute)
		_, ok := c.get(0)
		require.True(t, ok, "who asks again is remembered")
	}
	require.Len(t, c.answers.Keys(), maxEntries)
	_, ok := c.get(3*maxEntries - 1)
	require.True(t, ok)
	now = now.Add(time.Minute)
	_, ok = c.get(3*maxEntries - 1)
	require.False(t, ok)
}

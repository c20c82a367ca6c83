package people

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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

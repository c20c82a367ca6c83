package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/people"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// askers have client certificates: ada may view prod, and bob nothing.
const askers = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: askers, namespace: rollcall-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-asker}
subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: Group, name: askers}
  - {kind: ServiceAccount, name: editor, namespace: prod}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: askers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rollcall-asker}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: askers}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: dba, namespace: prod}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: User, name: ada}
  - {kind: ServiceAccount, name: asker, namespace: prod}
`

// liar is a coordinator that was taken over: it has the installation's certificates, and
// notes what it is shown.
type liar struct {
	address string
	mu      sync.Mutex
	given   metadata.MD
}

func newLiar(t *testing.T, admin *kubernetes.Clientset) *liar {
	t.Helper()
	keeper, err := pki.NewKeeper(admin, pki.Options{Namespace: install, Service: "rollcall-coordinator"})
	require.NoError(t, err)
	require.NoError(t, keeper.Ensure(t.Context()))
	l := &liar{}
	server := grpc.NewServer(grpc.Creds(keeper.GateCredentials()), grpc.InTapHandle(func(ctx context.Context, info *tap.Info) (context.Context, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.given = info.Header.Copy()
		return ctx, nil
	}))
	rollcallv1.RegisterCoordinatorServiceServer(server, rollcallv1.UnimplementedCoordinatorServiceServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.address = listener.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	return l
}

// person is one with a kubeconfig.
type person struct {
	name string
	file string
	// secret is what the kubeconfig gives the API server, which nobody else is to have.
	secret string
	// shows is what the coordinator is to be shown.
	shows string
}

func (p *person) options(t *testing.T) reach.Options {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.file)
	require.NoError(t, err)
	return reach.Options{Config: config, Namespace: install}
}

// ask asks the coordinator whatever is behind the forwarded port about databases.
func (p *person) ask(t *testing.T, namespace string, change ...func(*reach.Options)) (int, error) {
	t.Helper()
	opts := p.options(t)
	for _, c := range change {
		c(&opts)
	}
	c, err := reach.Dial(t.Context(), opts)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	answer, err := c.ListClusters(t.Context(), &rollcallv1.ListClustersRequest{Namespace: namespace})
	return len(answer.GetClusters()), err
}

// user writes a kubeconfig of one.
func (s *Server) user(name string, user clientcmdapi.AuthInfo) string {
	s.t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: s.Admin.Host, CertificateAuthority: s.Admin.CAFile}
	config.AuthInfos["it"] = &user
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	file := s.path(name + ".kubeconfig")
	require.NoError(s.t, clientcmd.WriteToFile(*config, file))
	return file
}

// everyKind is each kind of kubeconfig.
func everyKind(t *testing.T, s *Server) []*person {
	t.Helper()
	ada := s.Certificate("ada", "askers")
	key, err := os.ReadFile(ada.KeyFile)
	require.NoError(t, err)
	token := s.As(t.Context(), "prod", "asker").BearerToken
	file, plugin := s.path("token"), s.path("plugin")
	require.NoError(t, os.WriteFile(file, []byte(token), 0o600))
	require.NoError(t, os.WriteFile(plugin, fmt.Appendf(nil, "#!/bin/sh\necho '%s'\n",
		`{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "`+token+`"}}`), 0o700))
	editor := s.As(t.Context(), "prod", "editor").BearerToken
	const proof = "Request "
	return []*person{
		{"client certificate", s.Kubeconfig("ada", ada), string(key), proof},
		{"token", s.user("asker", clientcmdapi.AuthInfo{Token: token}), token, proof},
		{"token file", s.user("file", clientcmdapi.AuthInfo{TokenFile: file}), token, proof},
		{"plugin", s.user("plugin", clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/v1", Command: plugin,
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}), token, proof},
		// May make no request, and may make tokens of the accounts of its namespace.
		{"ServiceAccount with edit", s.user("editor", clientcmdapi.AuthInfo{Token: editor}), editor, "Bearer "},
	}
}

// TestPeopleGiveNothingAway checks that whatever the kubeconfig has, its owner is known to the
// coordinator, which is shown nothing that is of use elsewhere; on a real API server, by its real
// port-forward.
func TestPeopleGiveNothingAway(t *testing.T) {
	w := newWork(t)
	w.server.Apply(bindings)
	w.server.Apply(askers)
	w.server.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n")
	node := newKubelet(t, w.server, w.admin)
	w.grpc = port(t)
	stop := w.coordinator()
	eventually(t, "a coordinator's work", w.done)
	all := everyKind(t, w.server)
	bob := &person{name: "bob", file: w.server.Kubeconfig("bob", w.server.Certificate("bob", "askers"))}
	node.forwards(w.grpc)
	eventually(t, "a decision", func(context.Context) error {
		n, err := all[0].ask(t, "prod")
		if err == nil && n != 1 {
			err = fmt.Errorf("%d databases", n)
		}
		return err
	})
	for _, p := range all {
		n, err := p.ask(t, "prod")
		require.NoError(t, err, p.name)
		require.Equal(t, 1, n, p.name)
		_, err = p.ask(t, "other")
		require.Equal(t, codes.PermissionDenied, grpcstatus.Code(err), "%s: %v", p.name, err)
	}
	_, err := bob.ask(t, "prod")
	require.Equal(t, codes.PermissionDenied, grpcstatus.Code(err), "%v", err)
	require.ErrorContains(t, err, "bob may not list")
	left, err := w.admin.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, left.Items, "the coordinator deletes what it has read")

	lies := newLiar(t, w.admin)
	node.forwards(lies.address)
	for _, p := range all {
		_, err := p.ask(t, "prod")
		require.Equal(t, codes.Unimplemented, grpcstatus.Code(err), "%s: %v", p.name, err)
		require.NotContains(t, fmt.Sprint(lies.given), p.secret, p.name)
		shown := strings.Join(lies.given.Get(people.Header), "\n")
		require.True(t, strings.HasPrefix(shown, p.shows), "%s: %s", p.name, shown)
		_, value, _ := strings.Cut(shown, " ")
		require.True(t, unknown(t, w.server, value), "%s: the API server takes what the coordinator was shown", p.name)
		if p.shows != "Bearer " {
			require.ErrorContains(t, replay(t, w, shown), "its signature is not of this key on this connection", p.name)
		}
	}
	// What is sent when asked for is what the API server takes.
	_, err = all[1].ask(t, "prod", func(o *reach.Options) { o.SendToken = true })
	require.Equal(t, codes.Unimplemented, grpcstatus.Code(err), "%v", err)
	require.Equal(t, "Bearer "+all[1].secret, lies.given.Get(people.Header)[0])
	require.False(t, unknown(t, w.server, all[1].secret))
	stop()
}

// replay shows the coordinator what another one was shown.
func replay(t *testing.T, w *work, shown string) error {
	t.Helper()
	trust, err := w.admin.CoreV1().Secrets(install).Get(t.Context(), pki.SecretTrust, metav1.GetOptions{})
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(trust.Data["ca.crt"]))
	conn, err := grpc.NewClient("passthrough:///"+w.grpc, grpc.WithTransportCredentials(credentials.NewTLS(
		&tls.Config{RootCAs: roots, ServerName: pki.CoordinatorName, MinVersion: tls.VersionTLS13})))
	require.NoError(t, err)
	defer conn.Close()
	_, err = rollcallv1.NewCoordinatorServiceClient(conn).ListClusters(t.Context(), &rollcallv1.ListClustersRequest{Namespace: "prod"},
		grpc.PerRPCCredentials(verbatim(shown)))
	return err
}

// verbatim is shown as it is.
type verbatim string

func (verbatim) RequireTransportSecurity() bool { return true }
func (v verbatim) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{people.Header: string(v)}, nil
}

// unknown reports whether the API server does not know this token.
func unknown(t *testing.T, s *Server, token string) bool {
	t.Helper()
	config := rest.AnonymousClientConfig(s.Admin)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	_, err = client.CoreV1().Pods("prod").List(t.Context(), metav1.ListOptions{})
	return apierrors.IsUnauthorized(err)
}

// TestTheAPIServerSaysWhoHasMadeARequest checks that nobody makes one in the name of another, or
// takes one over.
func TestTheAPIServerSaysWhoHasMadeARequest(t *testing.T) {
	s, admin := installed(t)
	s.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n")
	s.Apply(askers)
	ada, err := kubernetes.NewForConfig(s.Certificate("ada", "askers"))
	require.NoError(t, err)
	bob, err := kubernetes.NewForConfig(s.Certificate("bob", "askers"))
	require.NoError(t, err)
	request, err := people.NewRequest()
	require.NoError(t, err)
	object, err := request.Object()
	require.NoError(t, err)
	object.Spec.Username, object.Spec.Groups, object.Spec.UID = "admin", []string{"system:masters"}, "1"
	object.Spec.Extra = map[string]certificatesv1.ExtraValue{"a": {"b"}}
	made, err := ada.CertificatesV1().CertificateSigningRequests().Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, "ada", made.Spec.Username)
	require.ElementsMatch(t, []string{"askers", "system:authenticated"}, made.Spec.Groups)
	require.NotContains(t, made.Spec.Extra, "a")

	// Not even who may update it makes it another's.
	made.Spec.Username, made.Spec.Groups = "admin", []string{"system:masters"}
	updated, err := admin.CertificatesV1().CertificateSigningRequests().Update(t.Context(), made, metav1.UpdateOptions{})
	if err == nil {
		require.Equal(t, "ada", updated.Spec.Username)
	}
	now, err := admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), made.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "ada", now.Spec.Username)

	// Its name is taken, and who asks may neither read nor delete those of others.
	_, err = bob.CertificatesV1().CertificateSigningRequests().Create(t.Context(), object, metav1.CreateOptions{})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	_, err = bob.CertificatesV1().CertificateSigningRequests().Get(t.Context(), made.Name, metav1.GetOptions{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.True(t, apierrors.IsForbidden(bob.CertificatesV1().CertificateSigningRequests().Delete(t.Context(), made.Name, metav1.DeleteOptions{})))
}

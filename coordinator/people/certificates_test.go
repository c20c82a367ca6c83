package people

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Certificates go on as before, and what only they may do stays theirs.
func TestCertificatesAndTokensAreApart(t *testing.T) {
	w := newWorld(t)
	w.api.may = map[string]bool{"ada get prod": true}
	reader := w.secret(pki.SecretReader)
	pair, err := tls.X509KeyPair(reader["tls.crt"], reader["tls.key"])
	require.NoError(t, err)
	conn := w.dial(pair)
	answer, err := rollcallv1.NewCoordinatorServiceClient(conn).ListClusters(t.Context(), &rollcallv1.ListClustersRequest{})
	require.NoError(t, err)
	require.Len(t, answer.GetClusters(), 3)
	require.Zero(t, w.api.count(""), "Kubernetes is not asked about a certificate")
	// Health is not served here: the gate let it through.
	_, err = healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	requireCode(t, codes.Unimplemented, err)
	_, err = rollcallv1.NewAgentServiceClient(conn).Drain(t.Context(), &rollcallv1.DrainRequest{})
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")

	person := w.dial()
	_, err = rollcallv1.NewAgentServiceClient(person).Drain(as(t, "ada"), &rollcallv1.DrainRequest{})
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")
	_, err = rollcallv1.NewAgentServiceClient(person).GetReport(as(t, "ada"), &rollcallv1.GetReportRequest{})
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")
	require.Zero(t, w.api.count(""))

	// A certificate of an agent, or of nobody's, does not become a person by a token.
	foreign, err := pki.NewAuthority(pki.SecretAuthority, time.Now())
	require.NoError(t, err)
	for profile, authority := range map[*pki.Profile]pki.Authority{
		new(pki.AgentProfile("prod", "db")): w.authority,
		new(pki.ClientProfile("reader")):    foreign,
	} {
		odd, err := authority.Issue(*profile, time.Now())
		require.NoError(t, err)
		_, err = rollcallv1.NewCoordinatorServiceClient(w.dial(odd.TLS())).GetCluster(as(t, "ada"), &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"})
		requireCode(t, codes.Unavailable, err)
	}
	require.Zero(t, w.api.count(""))
}

// Somebody has deleted the authority's Secret, as a certificate was stolen. What was signed before is refused from
// then on, on the connection that it was shown on, too, and so is the watch on it.
func TestACertificateDoesNotOutliveItsAuthority(t *testing.T) {
	w := newWorld(t)
	defer close(w.service.next)
	pair, err := pki.ParsePair(w.secret(pki.SecretReader)["tls.crt"], w.secret(pki.SecretReader)["tls.key"])
	require.NoError(t, err)
	conn := w.dial(pair.TLS())
	client := rollcallv1.NewCoordinatorServiceClient(conn)
	request := &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"}
	_, err = client.GetCluster(t.Context(), request)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := client.WatchCluster(ctx, &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "db"})
	require.NoError(t, err)
	w.service.next <- struct{}{}
	_, err = stream.Recv()
	require.NoError(t, err)

	require.NoError(t, w.keeper.Ensure(t.Context()))
	_, err = client.GetCluster(t.Context(), request)
	require.NoError(t, err, "nothing has changed")
	require.NoError(t, w.secrets.CoreV1().Secrets(rollcallNamespace).Delete(t.Context(), pki.SecretAuthority, metav1.DeleteOptions{}))
	require.NoError(t, w.keeper.Ensure(t.Context()))
	_, err = client.GetCluster(t.Context(), request)
	require.Error(t, err)
	_, err = stream.Recv()
	requireCode(t, codes.Unavailable, err)
	require.Error(t, w.keeper.Refuses([]*x509.Certificate{pair.Certificate()}))
}

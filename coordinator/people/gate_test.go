package people

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rollcall-dev/rollcall/coordinator/pki"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

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
	_, err = rollcallv1.NewAgentServiceClient(conn).Prepare(t.Context(), &rollcallv1.PrepareRequest{})
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")

	person := w.dial()
	_, err = rollcallv1.NewAgentServiceClient(person).Prepare(as(t, "ada"), &rollcallv1.PrepareRequest{})
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
	requireCode(t, codes.ResourceExhausted, get("bob"), "try again in some seconds")
	require.NoError(t, get("ada"), "who is known is not asked about")
}

func TestTheCacheIsBounded(t *testing.T) {
	var c cache[int, bool]
	now := time.Now()
	for i := range 3 * maxEntries {
		c.put(i, true, now.Add(time.Minute), now)
		require.LessOrEqual(t, len(c.entries), maxEntries)
	}
	_, ok := c.get(3*maxEntries-1, now)
	require.True(t, ok)
	_, ok = c.get(3*maxEntries-1, now.Add(time.Minute))
	require.False(t, ok)
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

package people

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// reads counts the requests that are read.
func (a *apiServer) reads(k8stesting.Action) (bool, runtime.Object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, "request")
	return a.broken != nil, nil, a.broken
}

// asks makes a request in the API server, which writes down who has made it.
func (w *world) asks(name string, changes ...func(*certificatesv1.CertificateSigningRequest)) *Request {
	w.t.Helper()
	request, err := NewRequest()
	require.NoError(w.t, err)
	object, err := request.Object()
	require.NoError(w.t, err)
	object.UID = "u"
	object.CreationTimestamp = metav1.NewTime(w.gate.now())
	object.Spec.Username, object.Spec.Groups = name, []string{"dba"}
	object.Spec.Extra = map[string]certificatesv1.ExtraValue{"k": {"v"}}
	for _, change := range changes {
		change(object)
	}
	_, err = w.api.client.CertificatesV1().CertificateSigningRequests().Create(w.t.Context(), object, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return request
}

// kept are the requests that are still there.
func (w *world) kept() int {
	w.t.Helper()
	list, err := w.api.client.CertificatesV1().CertificateSigningRequests().List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	return len(list.Items)
}

// get asks with a request on a connection of its own.
func (w *world) get(request *Request, namespace string) error {
	w.t.Helper()
	client := rollcallv1.NewCoordinatorServiceClient(w.dial())
	_, err := client.GetCluster(w.t.Context(), &rollcallv1.GetClusterRequest{Namespace: namespace, Name: "db"}, grpc.PerRPCCredentials(request))
	return err
}

func TestWhoHasMadeTheRequest(t *testing.T) {
	w := newWorld(t)
	w.api.may = map[string]bool{"ada get prod": true, "ada list prod": true}
	ada, bob := w.asks("ada"), w.asks("bob")
	require.NoError(t, w.get(ada, "prod"))
	requireCode(t, codes.PermissionDenied, w.get(ada, "test"), `ada may not get databaseclusters.rollcall.dev in namespace "test"`)
	requireCode(t, codes.PermissionDenied, w.get(bob, "prod"), `bob may not get databaseclusters.rollcall.dev in namespace "prod"`)
	require.Zero(t, w.kept(), "what has been read is deleted")
	require.Equal(t, 2, w.api.count("request"))
	require.Zero(t, w.api.count("token"))

	answer, err := rollcallv1.NewCoordinatorServiceClient(w.dial()).ListClusters(t.Context(), &rollcallv1.ListClustersRequest{}, grpc.PerRPCCredentials(ada))
	require.NoError(t, err)
	require.Len(t, answer.GetClusters(), 1)

	// What needs a certificate still does.
	_, err = rollcallv1.NewAgentServiceClient(w.dial()).Drain(t.Context(), &rollcallv1.DrainRequest{}, grpc.PerRPCCredentials(ada))
	requireCode(t, codes.PermissionDenied, err, "not open to anybody")

	// A right that is taken away is gone as soon as with a token.
	w.api.set(func() { w.api.may = nil })
	w.pass(keepAllowed)
	requireCode(t, codes.PermissionDenied, w.get(ada, "prod"))
}

// A request says who somebody is for some minutes, and no longer.
func TestRequestsEnd(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	ada := w.asks("ada")
	require.NoError(t, w.get(ada, "prod"))
	w.pass(keepAttested - 2*time.Second)
	require.NoError(t, w.get(ada, "prod"))
	w.pass(2 * time.Second)
	requireCode(t, codes.Unauthenticated, w.get(ada, "prod"), "run the command again")

	made := func(d time.Duration) func(*certificatesv1.CertificateSigningRequest) {
		return func(o *certificatesv1.CertificateSigningRequest) {
			o.CreationTimestamp = metav1.NewTime(w.gate.now().Add(-d))
		}
	}
	// One that nobody has shown in time, and one of another clock.
	for _, age := range []time.Duration{keepAttested + time.Second, -skewAllowed - 2*time.Second} {
		requireCode(t, codes.Unauthenticated, w.get(w.asks("ada", made(age)), "prod"), "was made at", "by the coordinator's clock", "the clocks")
	}
	require.Zero(t, w.kept())
	// An old one counts for the rest of its time.
	ada = w.asks("ada", made(keepAttested-time.Minute))
	require.NoError(t, w.get(ada, "prod"))
	w.pass(time.Minute)
	requireCode(t, codes.Unauthenticated, w.get(ada, "prod"))

	// A watch ends with it.
	defer close(w.service.next)
	stream, err := rollcallv1.NewCoordinatorServiceClient(w.dial()).WatchCluster(t.Context(), &rollcallv1.WatchClusterRequest{Namespace: "prod", Name: "db"},
		grpc.PerRPCCredentials(w.asks("ada")))
	require.NoError(t, err)
	w.service.next <- struct{}{}
	_, err = stream.Recv()
	require.NoError(t, err)
	w.pass(keepAttested)
	w.service.next <- struct{}{}
	_, err = stream.Recv()
	requireCode(t, codes.Unauthenticated, err)
}

// shows is a proof that was recorded, or made up.
type shows string

func (shows) RequireTransportSecurity() bool { return true }
func (s shows) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{Header: string(s)}, nil
}

// records notes what a call carries.
type records struct {
	of   *Request
	seen string
}

func (*records) RequireTransportSecurity() bool { return true }
func (r *records) GetRequestMetadata(ctx context.Context, uri ...string) (map[string]string, error) {
	m, err := r.of.GetRequestMetadata(ctx, uri...)
	r.seen = m[Header]
	return m, err
}

// Whoever has seen a proof, and knows all of the request, is not that person.
func TestAProofIsOfOneConnection(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	request := &rollcallv1.GetClusterRequest{Namespace: "prod", Name: "db"}
	ada := &records{of: w.asks("ada")}
	conn := w.dial()
	_, err := rollcallv1.NewCoordinatorServiceClient(conn).GetCluster(t.Context(), request, grpc.PerRPCCredentials(ada))
	require.NoError(t, err)
	asked := w.api.count("")
	other := rollcallv1.NewCoordinatorServiceClient(w.dial())
	_, err = other.GetCluster(t.Context(), request, grpc.PerRPCCredentials(shows(ada.seen)))
	requireCode(t, codes.Unauthenticated, err, "not of this key on this connection")

	public, signature, _ := strings.Cut(strings.TrimPrefix(ada.seen, requestScheme+" "), ".")
	for value, why := range map[string]string{
		requestScheme + " " + public:                  "KEY.SIGNATURE",
		requestScheme + " " + public + ".?":           "not base64url",
		requestScheme + " " + public + ".":            "not of this key",
		requestScheme + " AAAA." + signature:          "asn1",
		requestScheme + " !." + signature:             "KEY.SIGNATURE",
		"Bearer " + public + "." + signature:          "does not know the token",
		"Basic " + public + "." + signature:           "neither a client certificate",
		strings.ToLower(requestScheme) + " " + public: "KEY.SIGNATURE",
	} {
		_, err = other.GetCluster(t.Context(), request, grpc.PerRPCCredentials(shows(value)))
		requireCode(t, codes.Unauthenticated, err, why)
	}
	require.Equal(t, asked+2, w.api.count(""), "the API server is asked about the token only")

	// Without TLS nothing is shown.
	_, err = ada.of.GetRequestMetadata(credentials.NewContextWithRequestInfo(t.Context(), credentials.RequestInfo{}))
	require.ErrorContains(t, err, "TLS")
	old := tls.ConnectionState{Version: tls.VersionTLS12}
	_, err = ada.of.proof(old)
	require.ErrorContains(t, err, "TLS 1.3")
	_, err = readProof(t.Context(), public)
	requireCode(t, codes.Unauthenticated, err)
}

// The name of a request, or one that was made for another purpose, is of no use to anybody.
func TestRequestsOfOthers(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	eve, err := NewRequest()
	require.NoError(t, err)
	requireCode(t, codes.Unauthenticated, w.get(eve, "prod"), "there is no CertificateSigningRequest "+requestPrefix)

	foreign, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, change := range map[string]func(*certificatesv1.CertificateSigningRequest){
		"its signerName is": func(o *certificatesv1.CertificateSigningRequest) { o.Spec.SignerName = "example.com/other" },
		"it has another key": func(o *certificatesv1.CertificateSigningRequest) {
			o.Spec.Request = signedBy(t, foreign, RequestSigner)
		},
		"there is no PEM": func(o *certificatesv1.CertificateSigningRequest) { o.Spec.Request = nil },
		"asn1": func(o *certificatesv1.CertificateSigningRequest) {
			o.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "A", Bytes: []byte("b")})
		},
		"does not say who":            func(o *certificatesv1.CertificateSigningRequest) { o.Spec.Username = "" },
		"its common name is not roll": nil,
	} {
		t.Run(name, func(t *testing.T) {
			if change != nil {
				requireCode(t, codes.Unauthenticated, w.get(w.asks("ada", change), "prod"), name)
				return
			}
			request := w.asks("ada")
			object, err := request.Object()
			require.NoError(t, err)
			object.Spec.Request = signedBy(t, request.key, "node")
			require.ErrorContains(t, isFor(object, digestOf(request.public)), name)
		})
	}
	require.Equal(t, 5, w.kept(), "what is not for the coordinator is left alone, and so is what was not shown")
}

func signedBy(t *testing.T, key *ecdsa.PrivateKey, name string) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: name}}, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// Whoever makes keys up, from however many addresses, leaves those alone who come through the API
// server; and those who are known.
func TestMadeUpRequestsKeepNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	ada := w.asks("ada")
	require.NoError(t, w.get(ada, "prod"))
	for i := range 1000 {
		w.gate.strangers.admit(from(t, fmt.Sprintf("10.1.%d.%d", i/256, i%256)), w.gate.now())
	}
	_, _, err := proof{1}.identify(from(t, "10.9.9.9"), w.gate)
	requireCode(t, codes.ResourceExhausted, err, "does not know yet")
	require.Equal(t, 1.0, testutil.ToFloat64(w.gate.refused.WithLabelValues(reasonLimit)), "counted")
	require.NoError(t, w.get(w.asks("ada"), "prod"), "through the API server")

	// Who comes through it is bounded, too.
	before, refused := w.api.count("request"), 0
	for i := range 200 {
		if _, _, err := (proof{2, byte(i)}).identify(from(t, "127.0.0.1"), w.gate); i == 199 {
			requireCode(t, codes.ResourceExhausted, err)
			refused++
		}
	}
	require.Equal(t, 1, refused)
	require.Less(t, w.api.count("request")-before, strangersAtOnce+1)
	require.NoError(t, w.get(ada, "prod"), "who is known is not asked about")
	require.LessOrEqual(t, cap(w.gate.attested.reading), 2)
}

// The API server's troubles are neither remembered nor taken for an answer.
func TestRequestsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.api.may["ada get prod"] = true
	ada := w.asks("ada")
	w.api.set(func() { w.api.broken = errors.New("no quorum") })
	requireCode(t, codes.Unavailable, w.get(ada, "prod"), "no quorum")
	w.api.set(func() { w.api.broken = nil })
	w.api.client.PrependReactor("delete", "certificatesigningrequests", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("not permitted")
	})
	require.NoError(t, w.get(ada, "prod"), "whether or not it can be deleted")
	require.Equal(t, 1, w.kept())
}

package provision

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a namespace with one DatabaseCluster in it.
type world struct {
	t         *testing.T
	client    *fake.Clientset
	authority pki.Authority
	now       time.Time
	cluster   *v1alpha1.DatabaseCluster
	pods      kube.Networks
	p         *Provisioner
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	authority, err := pki.NewAuthority(pki.SecretAuthority, start)
	require.NoError(t, err)
	w := &world{
		t: t, client: fake.NewClientset(objects...), authority: authority, now: start,
		cluster: &v1alpha1.DatabaseCluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search", UID: "u1"},
			Spec:       model.Spec{Engine: model.Solr},
		},
	}
	w.p, err = New(Options{
		Client:    w.client,
		Authority: func() pki.Authority { return w.authority },
		now:       func() time.Time { return w.now },
	})
	require.NoError(t, err)
	return w
}

func (w *world) ensure() Result {
	w.t.Helper()
	result, err := w.p.Ensure(w.t.Context(), w.cluster, w.pods)
	require.NoError(w.t, err)
	return result
}

func (w *world) secret() *corev1.Secret {
	w.t.Helper()
	secret, err := w.client.CoreV1().Secrets("prod").Get(w.t.Context(), "search-rollcall", metav1.GetOptions{})
	require.NoError(w.t, err)
	return secret
}

func (w *world) service() *corev1.Service {
	w.t.Helper()
	service, err := w.client.CoreV1().Services("prod").Get(w.t.Context(), "search-rollcall", metav1.GetOptions{})
	require.NoError(w.t, err)
	return service
}

func (w *world) file() (file config.File) {
	w.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(w.secret().Data[config.KeyConfig]))
	decoder.DisallowUnknownFields()
	require.NoError(w.t, decoder.Decode(&file))
	return file
}

func (w *world) cert() pki.Pair {
	w.t.Helper()
	data := w.secret().Data
	pair, err := pki.ParsePair(data[config.KeyCert], data[config.KeyKey])
	require.NoError(w.t, err)
	return pair
}

func TestEnsureMakesAll(t *testing.T) {
	w := newWorld(t)
	require.Equal(t, 2, w.ensure().Writes)

	service := w.service()
	require.Equal(t, "None", service.Spec.ClusterIP)
	require.True(t, service.Spec.PublishNotReadyAddresses)
	require.Equal(t, map[string]string{"rollcall.dev/cluster": "search"}, service.Spec.Selector)
	require.Len(t, service.Spec.Ports, 4)

	secret := w.secret()
	require.Len(t, secret.Data[config.KeyGossip], 32)
	require.Equal(t, w.authority.Bundle(), secret.Data[config.KeyCA])
	require.NoError(t, w.cert().Certificate().VerifyHostname("search.prod.agent.rollcall"))
	require.Equal(t, config.File{
		ClusterUID: "u1",
		Service:    "search-rollcall.prod.svc",
		Engine:     "Solr",
		Drain:      config.Drain{TimeoutSeconds: 300},
	}, w.file())

	for _, owners := range [][]metav1.OwnerReference{service.OwnerReferences, secret.OwnerReferences} {
		require.Len(t, owners, 1)
		require.Equal(t, "rollcall.dev/v1alpha1", owners[0].APIVersion)
		require.EqualValues(t, "u1", owners[0].UID)
		require.Nil(t, owners[0].BlockOwnerDeletion)
	}
}

// TestEnsureWritesOnlyDifferences also when the API server has filled in its defaults.
func TestEnsureWritesOnlyDifferences(t *testing.T) {
	w := newWorld(t)
	first := w.ensure()
	service := w.service()
	service.Spec.SessionAffinity = corev1.ServiceAffinityNone
	service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	service.Labels["team"] = "search"
	_, err := w.client.CoreV1().Services("prod").Update(t.Context(), service, metav1.UpdateOptions{})
	require.NoError(t, err)

	second := w.ensure()
	require.Zero(t, second.Writes)
	require.Equal(t, first.Next, second.Next)

	service.Spec.Selector["also"] = "this"
	_, err = w.client.CoreV1().Services("prod").Update(t.Context(), service, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, w.ensure().Writes)
	require.Equal(t, map[string]string{"rollcall.dev/cluster": "search"}, w.service().Spec.Selector)
	require.Equal(t, "search", w.service().Labels["team"])
}

func TestGossipKeyNeverChanges(t *testing.T) {
	w := newWorld(t)
	next := w.ensure().Next
	key := w.secret().Data[config.KeyGossip]

	cert := w.cert().CertPEM()
	w.now = next
	require.Equal(t, 1, w.ensure().Writes, "the certificate is renewed")
	require.NotEqual(t, cert, w.cert().CertPEM())
	w.cluster.Spec.Connection.Port = 8984
	require.Equal(t, 1, w.ensure().Writes, "another spec")
	require.Equal(t, 8984, w.file().Connection.Port)
	w.cluster.UID = "u2"
	require.Equal(t, 2, w.ensure().Writes, "a DatabaseCluster that was made again")
	require.EqualValues(t, "u2", w.secret().OwnerReferences[0].UID)
	require.Equal(t, "u2", w.file().ClusterUID)

	// Somebody rotates it: two keys for a while.
	require.Equal(t, key, w.secret().Data[config.KeyGossip])
	secret := w.secret()
	secret.Data[config.KeyGossip] = append(bytes.Repeat([]byte{1}, 32), key...)
	_, err := w.client.CoreV1().Secrets("prod").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.Zero(t, w.ensure().Writes)

	secret.Data[config.KeyGossip] = []byte("short")
	_, err = w.client.CoreV1().Secrets("prod").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.ErrorContains(t, err, "secret prod/search-rollcall: key gossip.key has 5 bytes: must be 32")
	require.Equal(t, []byte("short"), w.secret().Data[config.KeyGossip])
}

func TestAuthorityChange(t *testing.T) {
	w := newWorld(t)
	w.ensure()
	next, changed, err := w.authority.Advance(start.Add(pki.AuthorityLife * 2 / 3))
	require.NoError(t, err)
	require.True(t, changed)
	cert := w.cert().CertPEM()
	w.authority = next
	require.Equal(t, 1, w.ensure().Writes)
	require.Equal(t, next.Bundle(), w.secret().Data[config.KeyCA], "the next authority is trusted at once")
	require.Equal(t, cert, w.cert().CertPEM(), "but does not sign yet")
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "prod", Name: "search-rollcall"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1"}}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"mine": []byte("x")}}
	w := newWorld(t, service, secret)
	result, err := w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.ErrorIs(t, err, pki.ErrForeign)
	require.ErrorContains(t, err, "service prod/search-rollcall: ")
	require.ErrorContains(t, err, "secret prod/search-rollcall: ")
	require.Zero(t, result.Writes)
	require.Equal(t, service, w.service())
	require.Equal(t, secret, w.secret())
}

func TestConnectionAndDrain(t *testing.T) {
	w := newWorld(t)
	w.cluster.Spec.Connection = model.Connection{
		Host: "localhost", Port: 8984, Failover: model.FailoverExternal, MaxLagSeconds: 25,
		TLS: model.ConnectionTLS{Enabled: true, ServerName: "solr", InsecureSkipVerify: true},
	}
	w.cluster.Spec.Drain.Data.Restart = model.DataLose
	w.cluster.Spec.Update.Primary = model.PrimaryHold
	w.ensure()
	file := w.file()
	require.Equal(t, config.Connection{
		Host: "localhost", Port: 8984, Failover: "External", MaxLagSeconds: 25, Primary: "Hold",
		TLS: config.ConnectionTLS{Enabled: true, ServerName: "solr", InsecureSkipVerify: true},
	}, file.Connection)
	require.Equal(t, config.Drain{Evacuate: true, TimeoutSeconds: 86400}, file.Drain)
	require.False(t, file.Observe)
	require.Empty(t, file.GossipCIDRs)
	w.p.opts.GossipCIDRs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
	require.Equal(t, 2, w.ensure().Writes, "the Secret, and what the Service says of it")
	require.Equal(t, w.p.opts.GossipCIDRs, w.file().GossipCIDRs)
	require.Empty(t, file.StopHookCIDRs)
	w.p.opts.StopHookCIDRs = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
	require.Equal(t, 1, w.ensure().Writes)
	require.Equal(t, w.p.opts.StopHookCIDRs, w.file().StopHookCIDRs)
	w.cluster.Spec.Update.Mode = model.ModeObserve
	require.Equal(t, 1, w.ensure().Writes)
	require.True(t, w.file().Observe)

	for scheme, want := range map[string]bool{"https": true, "http": false} {
		w.cluster.Spec.Connection.Scheme = scheme
		w.ensure()
		require.Equal(t, want, w.file().Connection.TLS.Enabled, scheme)
	}
}

// Certificates are passed on, and nothing else that is in the Secret.
func TestDatabaseCA(t *testing.T) {
	authority, err := pki.NewAuthority(pki.SecretAuthority, start)
	require.NoError(t, err)
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "solr-tls"},
		Data:       map[string][]byte{"ca.crt": append(authority.Encode()["tls.key"], authority.Bundle()...), "password": []byte("hunter2")},
	}
	w := newWorld(t, source)
	w.cluster.Spec.Connection.TLS = model.ConnectionTLS{Enabled: true, CASecret: "solr-tls"}
	w.ensure()
	require.Equal(t, string(authority.Bundle()), w.file().Connection.TLS.CA)
	for key, value := range w.secret().Data {
		require.NotContains(t, string(value), "hunter2", key)
	}
	require.NotContains(t, string(w.secret().Data[config.KeyConfig]), "PRIVATE KEY")

	// It cannot be used any more: the rest is kept current all the same.
	for name, change := range map[string]func(){
		"garbage": func() { source.Data = map[string][]byte{"ca.crt": []byte("x")} },
		"no key":  func() { source.Data = nil },
	} {
		change()
		_, err = w.client.CoreV1().Secrets("prod").Update(t.Context(), source, metav1.UpdateOptions{})
		require.NoError(t, err)
		w.cluster.Spec.Connection.Port++
		_, err = w.p.Ensure(t.Context(), w.cluster, w.pods)
		require.ErrorContains(t, err, "spec.connection.tls.caSecret: key ca.crt of secret solr-tls: no certificate", name)
		require.Equal(t, string(authority.Bundle()), w.file().Connection.TLS.CA, name)
		require.EqualValues(t, w.cluster.Spec.Connection.Port, w.file().Connection.Port, name)
	}
	require.NoError(t, w.client.CoreV1().Secrets("prod").Delete(t.Context(), "solr-tls", metav1.DeleteOptions{}))
	_, err = w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.ErrorContains(t, err, `spec.connection.tls.caSecret: secrets "solr-tls" not found`)
	require.True(t, apierrors.IsNotFound(err))
}

func TestNothingIsMadeForWhatIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	w.cluster.DeletionTimestamp = new(metav1.NewTime(start))
	require.Zero(t, w.ensure())
	require.Empty(t, w.client.Actions())
}

func TestWithoutAuthority(t *testing.T) {
	w := newWorld(t)
	w.authority = pki.Authority{}
	result, err := w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.ErrorContains(t, err, "no certificate authority yet")
	require.Equal(t, 1, result.Writes, "the service needs none")
	_, err = New(Options{})
	require.ErrorContains(t, err, "a client and an authority")
}

func TestLostRaces(t *testing.T) {
	w := newWorld(t)
	w.client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: action.GetResource().Resource}, "search-rollcall")
	})
	require.Zero(t, w.ensure().Writes, "another coordinator made them first")

	w = newWorld(t)
	w.ensure()
	w.client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "search-rollcall", errors.New("changed"))
	})
	w.cluster.Spec.Connection.Port = 1
	_, err := w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.True(t, apierrors.IsConflict(err), "%v", err)
}

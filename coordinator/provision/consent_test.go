package provision

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// guardedWorld is one in which Secrets have to allow what they are named for.
type guardedWorld struct {
	*world
	meta *fake.FakeMetadataClient
	down error
}

func newGuardedWorld(t *testing.T) *guardedWorld {
	scheme := fake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	w := &guardedWorld{world: newWorld(t), meta: fake.NewSimpleMetadataClient(scheme)}
	w.meta.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return w.down != nil, nil, w.down })
	w.p.opts.Metadata = w.meta
	return w
}

// has makes a Secret be there, with a label and an annotation.
func (w *guardedWorld) has(name, label, hosts string) {
	w.t.Helper()
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{
		Namespace: "prod", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}, Annotations: map[string]string{v1alpha1.AnnotationAllowHosts: hosts},
	}}
	gvr := corev1.SchemeGroupVersion.WithResource("secrets")
	_ = w.meta.Tracker().Delete(gvr, "prod", name)
	require.NoError(w.t, w.meta.Tracker().Create(gvr, object, "prod"))
}

// told is what is refused, and what agents are told then.
func (w *guardedWorld) told(mounted ...string) (string, config.File) {
	w.t.Helper()
	_, err := w.p.Ensure(w.t.Context(), w.cluster, w.pods, mounted...)
	refused, failed := consent.Split(err)
	require.Equal(w.t, w.down != nil, failed, "%v", err)
	return refused, w.file()
}

// Agents use what is in a Secret once whoever may write it has said so, and until it is taken back.
func TestSecretsAreUsedByConsent(t *testing.T) {
	w := newGuardedWorld(t)
	refused, file := w.told()
	require.Empty(t, refused, "a Solr without a password")
	require.Contains(t, file.Withheld("search-rollcall-credentials"), "there is no Secret prod/search-rollcall-credentials", "nor is one that is made later used unasked")

	w.cluster.Spec.Connection.CredentialsSecret = "accounts"
	refused, _ = w.told()
	require.Contains(t, refused, "there is no Secret prod/accounts")
	w.has("accounts", "", "")
	refused, file = w.told()
	require.Contains(t, refused, "kubectl -n prod label secret accounts rollcall.dev/cluster=search")
	require.Equal(t, refused, file.Withheld("accounts"))
	w.has("accounts", "search", "")
	refused, file = w.told()
	require.Empty(t, refused)
	require.Empty(t, file.Withheld("accounts"))

	// Pods mount what was named when they were made.
	w.has("former", "logs", "")
	refused, file = w.told("former", "accounts", "gone")
	require.Contains(t, refused, "rollcall.dev/cluster=logs.search --overwrite")
	require.Empty(t, file.Withheld("accounts"))
	require.NotEmpty(t, file.Withheld("former"))
	require.NotEmpty(t, file.Withheld("gone"))

	w.has("accounts", "", "")
	_, file = w.told()
	require.NotEmpty(t, file.Withheld("accounts"), "taken back")
}

// A DatabaseCluster alone sends nobody's password anywhere, and has nobody called.
func TestHostsAreUsedByConsent(t *testing.T) {
	w := newGuardedWorld(t)
	w.has("accounts", "search", "db.example, failover.example:8443")
	w.has("other", "search", "")
	connection := &w.cluster.Spec.Connection
	connection.CredentialsSecret = "accounts"
	for _, c := range []struct {
		secret, host, failover         string
		mounted                        []string
		wantHost, wantFailover, refuse string
	}{
		{"accounts", "127.0.0.1", "", nil, "127.0.0.1", "", ""},
		{"accounts", "db.example", "External", nil, "db.example", "External", ""},
		{"accounts", "db.example", "https://failover.example:8443/hook", nil, "db.example", "https://failover.example:8443/hook", ""},
		{"accounts", "evil.example", "", nil, "", "", "spec.connection.host is evil.example, which Secret prod/accounts does not allow; whoever may write the Secret allows it: kubectl -n prod annotate secret accounts rollcall.dev/allow-hosts=db.example,failover.example:8443,evil.example --overwrite"},
		{"accounts", "", "https://failover.example/hook", nil, "", "External", "the host of spec.connection.failover is failover.example, which"},
		{"accounts", "", "http://db.example:22/", nil, "", "External", "the host of spec.connection.failover is db.example:22, which"},
		{"accounts", "", "http://db.example/", nil, "", "http://db.example/", ""},
		{"accounts", "", "https://evil.example/", nil, "", "External", "the host of spec.connection.failover is evil.example"},
		{"accounts", "", "http://user:hunter2@[", nil, "", "External", "spec.connection.failover is no URL"},
		// Named away, so that no Secret is there that could refuse: the pods have the one before.
		{"none", "evil.example", "http://evil.example", []string{"accounts"}, "", "External", "there is no Secret prod/none: make it, with the label rollcall.dev/cluster=search and the annotation rollcall.dev/allow-hosts=evil.example"},
		{"", "evil.example", "", nil, "", "", "there is no Secret prod/search-rollcall-credentials"},
		// Another Secret allows the host, and the pods show the password of theirs.
		{"accounts", "db.example", "", []string{"other"}, "", "", "which Secret prod/other does not allow"},
		{"accounts", "db.example", "", []string{"gone"}, "db.example", "", ""},
	} {
		connection.CredentialsSecret, connection.Host, connection.Failover = c.secret, c.host, c.failover
		refused, file := w.told(c.mounted...)
		require.Equal(t, c.wantHost, file.Connection.Host, "%+v", c)
		require.Equal(t, c.wantFailover, file.Connection.Failover, "%+v", c)
		require.NotContains(t, refused, "hunter2")
		if c.refuse == "" {
			require.Empty(t, refused)
		} else {
			require.Contains(t, refused, c.refuse)
		}
	}
}

// While the API server does not answer, nothing is given and nothing is taken away.
func TestABlipChangesNoConsent(t *testing.T) {
	w := newGuardedWorld(t)
	w.has("accounts", "search", "db.example")
	w.cluster.Spec.Connection.CredentialsSecret, w.cluster.Spec.Connection.Host = "accounts", "db.example"
	_, before := w.told()
	require.Empty(t, before.Withheld("accounts"))

	w.down = errors.New("busy")
	_, file := w.told()
	require.Equal(t, before, file, "a healthy database keeps what it has")
	w.cluster.Spec.Connection.Host, w.cluster.Spec.Connection.Failover = "evil.example", "http://evil.example"
	w.cluster.Spec.Connection.CredentialsSecret = "new"
	_, file = w.told("accounts")
	require.Equal(t, before.Connection, file.Connection)
	require.Empty(t, file.Withheld("accounts"))
	require.Contains(t, file.Withheld("new"), "not known yet")

	// One that was never looked at is told nothing of others' hosts.
	w.cluster.Name, w.cluster.UID = "logs", "u2"
	_, err := w.p.Ensure(t.Context(), w.cluster, w.pods)
	require.Error(t, err)
	secret, err := w.client.CoreV1().Secrets("prod").Get(t.Context(), "logs-rollcall", metav1.GetOptions{})
	require.NoError(t, err)
	file = presentFile(secret.Data)
	require.Empty(t, file.Connection.Host)
	require.Equal(t, model.FailoverExternal, file.Connection.Failover)
}

// A Secret of somebody else passes no certificates on, and the agents keep those that they have.
func TestDatabaseCAByConsent(t *testing.T) {
	authority, err := pki.NewAuthority(pki.SecretAuthority, start)
	require.NoError(t, err)
	w := newGuardedWorld(t)
	w.cluster.Spec.Connection.TLS = model.ConnectionTLS{Enabled: true, CASecret: "solr-tls"}
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "solr-tls"}, Data: map[string][]byte{"ca.crt": authority.Bundle()}}
	write := func(label string) {
		source.Labels = map[string]string{v1alpha1.LabelCluster: label}
		if _, err := w.client.CoreV1().Secrets("prod").Update(t.Context(), source, metav1.UpdateOptions{}); err != nil {
			_, err = w.client.CoreV1().Secrets("prod").Create(t.Context(), source, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
	write("logs")
	refused, file := w.told()
	require.Contains(t, refused, "spec.connection.tls.caSecret: Secret prod/solr-tls has no label")
	require.Contains(t, refused, "kubectl -n prod label secret solr-tls rollcall.dev/cluster=logs.search --overwrite")
	require.Empty(t, file.Connection.TLS.CA)
	write("logs.search")
	refused, file = w.told()
	require.Empty(t, refused)
	require.Equal(t, string(authority.Bundle()), file.Connection.TLS.CA)
	write("")
	_, file = w.told()
	require.Equal(t, string(authority.Bundle()), file.Connection.TLS.CA, "a healthy database keeps what it has")
}

// Whoever may write the Secret allows a host, and means the database there: who listens at
// another port of a node or of a balancer may be anybody.
func TestAHostIsAllowedAtItsPort(t *testing.T) {
	w := newGuardedWorld(t)
	w.has("accounts", "search", "10.0.0.7")
	connection := &w.cluster.Spec.Connection
	connection.CredentialsSecret, connection.Host, connection.Port = "accounts", "10.0.0.7", 31337
	refused, file := w.told()
	require.Empty(t, file.Connection.Host)
	require.Contains(t, refused, "spec.connection.host is 10.0.0.7:31337, which Secret prod/accounts does not allow")
	require.Contains(t, refused, "rollcall.dev/allow-hosts=10.0.0.7,10.0.0.7:31337 --overwrite")
	require.NotEmpty(t, (&config.File{Engine: "Solr", Connection: config.Connection{Host: "10.0.0.7", Port: 31337}, Secrets: file.Secrets}).Withheld("accounts"))

	for _, c := range []struct {
		port  int32
		hosts string
	}{{0, "10.0.0.7"}, {8983, "10.0.0.7"}, {31337, "10.0.0.7 10.0.0.7:31337"}} {
		w.has("accounts", "search", c.hosts)
		connection.Port = c.port
		refused, file = w.told()
		require.Empty(t, refused)
		require.Equal(t, "10.0.0.7", file.Connection.Host)
		require.Empty(t, file.Withheld("accounts"))
	}
	w.down = errors.New("busy")
	connection.Port = 22
	_, file = w.told()
	require.Equal(t, 31337, file.Connection.Port, "not while the API server does not tell of the Secret")
}

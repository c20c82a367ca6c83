package provision

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
)

// write makes a Secret be there, with a label and this content.
func (w *guardedWorld) write(name, label string, data map[string]string) {
	w.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	secrets := w.client.CoreV1().Secrets("prod")
	if _, err := secrets.Update(w.t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		_, err = secrets.Create(w.t.Context(), secret, metav1.CreateOptions{})
		require.NoError(w.t, err)
	}
	w.has(name, label, "")
}

// TestClientCertificateByConsent checks that agents get certificate and key, and nothing else, once the
// Secret allows it, that a renewal reaches them, and that they lose both when that is taken back.
func TestClientCertificateByConsent(t *testing.T) {
	ours := authority.New(t, "ours")
	cert, key := ours.Issue(authority.Leaf{Name: "agent"})
	w := newGuardedWorld(t)
	w.cluster.Spec.Connection.TLS = model.ConnectionTLS{Enabled: true, ClientSecret: "agent-tls"}
	has := func(wantCert, wantKey string) {
		t.Helper()
		require.Equal(t, wantCert, w.file().Connection.TLS.Cert)
		require.Equal(t, wantKey, string(w.secret().Data[config.KeyClientKey]))
		_, there := w.secret().Data[config.KeyClientKey]
		require.Equal(t, wantKey != "", there)
	}
	refused, _ := w.told()
	require.Contains(t, refused, "spec.connection.tls.clientSecret: there is no Secret prod/agent-tls: make it with the label rollcall.dev/cluster=search")
	has("", "")

	data := map[string]string{"tls.crt": cert, "tls.key": "# note hunter2\n" + key, "ca.crt": ours.CA, "password": "hunter2"}
	w.write("agent-tls", "logs", data)
	refused, _ = w.told()
	require.Contains(t, refused, "spec.connection.tls.clientSecret: Secret prod/agent-tls has no label")
	has("", "")
	w.write("agent-tls", "search", data)
	refused, _ = w.told()
	require.Empty(t, refused)
	has(cert, key)
	for name, value := range w.secret().Data {
		require.NotContains(t, string(value), "hunter2", name)
	}
	require.NotContains(t, string(w.secret().Data[config.KeyConfig]), "PRIVATE KEY", "not in what may be shown")
	require.Zero(t, w.ensure().Writes, "nothing has changed")

	renewed, renewedKey := ours.Issue(authority.Leaf{Name: "agent"})
	data["tls.crt"], data["tls.key"] = renewed, renewedKey
	w.write("agent-tls", "search", data)
	w.told()
	has(renewed, renewedKey)

	// What cannot be used leaves a healthy database what it has.
	for name, broken := range map[string][2]string{"no key": {cert, ""}, "another key": {cert, renewedKey}, "no certificate": {"", renewedKey}, "garbage": {"x", "hunter2"}} {
		w.write("agent-tls", "search", map[string]string{"tls.crt": broken[0], "tls.key": broken[1]})
		_, err := w.p.Ensure(t.Context(), w.cluster, w.pods)
		require.ErrorContains(t, err, "spec.connection.tls.clientSecret: keys tls.crt and tls.key of secret agent-tls: ", name)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "PRIVATE")
		has(renewed, renewedKey)
	}
	w.write("agent-tls", "logs", data)
	refused, _ = w.told()
	require.Contains(t, refused, "has no label")
	has("", "")
	w.write("agent-tls", "search", data)
	w.told()
	has(renewed, renewedKey)
	w.cluster.Spec.Connection.TLS.ClientSecret = ""
	w.told()
	has("", "")
}

// TestCredentialsNamedLater checks that pods that were made before the Secret was named get it, by consent
// only, and only as long as there are such pods.
func TestCredentialsNamedLater(t *testing.T) {
	w := newGuardedWorld(t)
	w.cluster.Spec.Connection.CredentialsSecret = "accounts"
	content := map[string]string{"username": "ann", "password": "hunter2", "replication-username": "rep", "replication-password": "hunter3", "root": "hunter4"}
	copies := func() (string, map[string]string) {
		out := map[string]string{}
		for _, key := range append(credentialKeys, "root") {
			if value, there := w.secret().Data[config.CopiedPrefix+key]; there {
				out[key] = string(value)
			}
		}
		return w.file().Copied, out
	}
	none := func(mounted ...string) {
		t.Helper()
		w.told(mounted...)
		from, data := copies()
		require.Empty(t, from)
		require.Empty(t, data)
	}
	all := func(mounted ...string) {
		t.Helper()
		refused, file := w.told(mounted...)
		require.Empty(t, refused)
		require.Empty(t, file.Withheld("accounts"))
		from, data := copies()
		require.Equal(t, "accounts", from)
		require.Equal(t, map[string]string{"username": "ann", "password": content["password"], "replication-username": "rep", "replication-password": "hunter3"}, data)
	}
	none("")
	w.write("accounts", "logs", content)
	none("")
	w.write("accounts", "search", content)
	none()
	none("accounts")
	all("")
	all("", "accounts")
	none("accounts")
	w.has("former", "search", "")
	none("former") // it may be used, whatever is named now
	w.has("former", "", "")
	_, _ = w.told("former")
	from, _ := copies()
	require.Equal(t, "accounts", from, "what is mounted may not be used")

	content["password"] = "changed"
	w.write("accounts", "search", content)
	result, err := w.p.Ensure(t.Context(), w.cluster, w.pods, "")
	require.NoError(t, err)
	require.LessOrEqual(t, result.Next.Sub(start), copyEvery, "a change is looked for")
	all("")
	w.cluster.Spec.Engine = model.FoundationDB
	none("")
	w.cluster.Spec.Engine = model.OpenSearch
	all("")

	// A blip changes nothing, and says nothing of the content.
	broken := true
	w.client.PrependReactor("get", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return broken && action.(clienttesting.GetAction).GetName() == "accounts", nil, errors.New("busy")
	})
	_, err = w.p.Ensure(t.Context(), w.cluster, w.pods, "")
	require.ErrorContains(t, err, "secret accounts: busy")
	require.NotContains(t, err.Error(), "changed")
	from, data := copies()
	require.Equal(t, "accounts", from)
	require.Len(t, data, 4)
	broken = false

	w.write("accounts", "logs", content)
	refused, _ := consent.Split(func() error { _, err := w.p.Ensure(t.Context(), w.cluster, w.pods, ""); return err }())
	require.Contains(t, refused, "has no label")
	none("")
	w.has("accounts", "search", "") // the label was taken away since it was looked at
	none("")
	w.cluster.Spec.Connection.CredentialsSecret = ""
	none("")
	w.write("search-rollcall-credentials", "search", content)
	w.told("")
	from, _ = copies()
	require.Equal(t, "search-rollcall-credentials", from, "the default name")
}

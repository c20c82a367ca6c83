package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// ofManifest is a world in which the objects of a manifest are applied, after changes of its text.
func ofManifest(t *testing.T, file string, changes ...string) *enrollWorld {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := 0; i < len(changes); i += 2 {
		require.Contains(t, string(text), changes[i], "the manifest changed")
		text = bytes.ReplaceAll(text, []byte(changes[i]), []byte(changes[i+1]))
	}
	e := newEnrollWorld(t, rolling(t))
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var kind metav1.PartialObjectMetadata
		require.NoError(t, yaml.Unmarshal(document, &kind))
		switch kind.Kind {
		case "StatefulSet":
			var set appsv1.StatefulSet
			require.NoError(t, yaml.Unmarshal(document, &set))
			set.Namespace, set.UID = "prod", "s1"
			e.sets[set.Name] = &set
		case "ConfigMap":
			var c corev1.ConfigMap
			require.NoError(t, yaml.Unmarshal(document, &c))
			e.objects["/api/v1/namespaces/prod/configmaps/"+c.Name] = c
		}
	}
	e.coordinate = func(c *v1alpha1.DatabaseCluster) {
		initialized(c)
		for name := range e.sets {
			c.Status.UpdateRevisions[name] = "v1"
		}
	}
	e.show()
	return e
}

const defaults = "testdata/secured/opensearch.yaml"

// secret is one that was made as enroll says.
func (e *enrollWorld) secret(name string, data map[string][]byte) {
	e.objects[secretsPath+name] = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: "u", ResourceVersion: "7"}, Data: data}
}

var login = map[string][]byte{"username": []byte("rollcall"), "password": []byte("correct-horse")}

// authority is a certificate that has signed itself, for these names.
func authority(t *testing.T, until time.Time, names ...string) (pair tls.Certificate, pemText []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node"}, DNSNames: names, NotBefore: until.Add(-time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// TestEnrollAsksForWhatSecurityWants checks that the chart's defaults, which name neither TLS nor a login,
// are refused before anything is written, with each command that is missing; and that with what is
// asked for the right DatabaseCluster is written.
func TestEnrollAsksForWhatSecurityWants(t *testing.T) {
	e := ofManifest(t, defaults)
	code, stdout, stderr := e.run("enroll", "logs")
	require.Equal(t, 2, code)
	require.Empty(t, stdout)
	require.Empty(t, e.writes)
	require.Contains(t, oneLine(stderr), "error security StatefulSet prod/logs its servers want TLS (the image opensearchproject/opensearch:2.19.4 has its security plugin on by default, and nothing sets DISABLE_SECURITY_PLUGIN or plugins.security.disabled), and agents are not told so")
	require.Contains(t, oneLine(stderr), "error security StatefulSet prod/logs its servers want a login")
	for _, typed := range []string{
		"kubectl -n prod exec logs-0 -c opensearch -- cat /usr/share/opensearch/config/root-ca.pem > ca.crt",
		"kubectl -n prod create secret generic logs-database-ca --from-file=ca.crt",
		"kubectl -n prod create secret generic logs-rollcall-credentials --type=kubernetes.io/basic-auth --from-literal=username=rollcall --from-file=password=./password",
		"rollcall enroll logs -n prod --tls --ca-secret logs-database-ca --credentials-secret logs-rollcall-credentials",
	} {
		require.Contains(t, stderr, "\n        "+typed+"\n")
	}
	require.Contains(t, stderr, "error: nothing was written: 2 errors")

	_, ca := authority(t, time.Now().Add(time.Hour), "localhost")
	e.secret("logs-database-ca", map[string][]byte{"ca.crt": ca})
	e.secret("logs-rollcall-credentials", login)
	code, _, stderr = e.run("enroll", "logs", "--name", "search", "--tls", "--ca-secret", "logs-database-ca", "--credentials-secret", "logs-rollcall-credentials")
	require.Zero(t, code, stderr)
	require.Equal(t, model.Connection{TLS: model.ConnectionTLS{Enabled: true, CASecret: "logs-database-ca"}, CredentialsSecret: "logs-rollcall-credentials"}, e.made.Spec.Connection)
	for _, name := range []string{"logs-database-ca", "logs-rollcall-credentials"} {
		require.Equal(t, "search", e.objects[secretsPath+name].(*corev1.Secret).Labels[v1alpha1.LabelCluster], "whoever names it allows it")
	}
	require.NotContains(t, stderr, "security")
}

// TestEnrollAsksForSecrets checks that Secrets that are named are there, and have what is needed.
func TestEnrollAsksForSecrets(t *testing.T) {
	named := []string{"enroll", "logs", "--name", "search", "--timeout", "5s", "--ca-secret", "ca", "--server-name", "node-0.example", "--port", "9201", "--credentials-secret", "login"}
	_, good := authority(t, time.Now().Add(time.Hour), "localhost")
	_, old := authority(t, time.Date(2023, 9, 28, 0, 0, 0, 0, time.UTC), "localhost")
	for name, tt := range map[string]struct {
		ca, login map[string][]byte
		want      string
	}{
		"no CA":            {nil, login, "error certificates StatefulSet prod/logs there is no Secret prod/ca with the certificate of the authority of its servers"},
		"no login":         {map[string][]byte{"ca.crt": good}, nil, "error credentials StatefulSet prod/logs there is no Secret prod/login with the username and password of the agents fix: make it (keys username, password) for the account that deploy/docs/opensearch.md#permissions grants"},
		"no key":           {map[string][]byte{"ca.pem": good}, login, "there is no key ca.crt of Secret prod/ca"},
		"no certificate":   {map[string][]byte{"ca.crt": []byte("hello")}, login, "key ca.crt of Secret prod/ca has no certificates that can be read"},
		"an old one":       {map[string][]byte{"ca.crt": old}, login, "key ca.crt of Secret prod/ca has expired: it was valid until 2023-09-28"},
		"an old one, too":  {map[string][]byte{"ca.crt": append(slices.Clone(old), good...)}, login, "warning: certificates: 1 of 2 certificates in key ca.crt of Secret prod/ca have expired"},
		"half of a login":  {map[string][]byte{"ca.crt": good}, map[string][]byte{"username": []byte("a")}, "Secret prod/login has no password of the agents"},
		"nothing is wrong": {map[string][]byte{"ca.crt": good}, login, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := ofManifest(t, defaults)
			if tt.ca != nil {
				e.secret("ca", tt.ca)
			}
			if tt.login != nil {
				e.secret("login", tt.login)
			}
			code, _, stderr := e.run(named...)
			require.Contains(t, oneLine(stderr), tt.want)
			require.NotContains(t, stderr, "correct-horse")
			if tt.want == "" || strings.HasPrefix(tt.want, "warning") {
				require.Zero(t, code, stderr)
				require.Equal(t, "node-0.example", e.made.Spec.Connection.TLS.ServerName)
				require.EqualValues(t, 9201, e.made.Spec.Connection.Port)
				return
			}
			require.Equal(t, 2, code, stderr)
			require.Empty(t, e.writes)
		})
	}
}

// TestEnrollFindsNothingWithoutSecurity checks that the same manifests without security ask for nothing.
func TestEnrollFindsNothingWithoutSecurity(t *testing.T) {
	for _, e := range []*enrollWorld{
		ofManifest(t, defaults, "            - {name: node.roles", "            - {name: DISABLE_SECURITY_PLUGIN, value: 'true'}\n            - {name: node.roles"),
		ofManifest(t, defaults, "network.host: 0.0.0.0", "plugins: {security: {disabled: true}}"),
		ofManifest(t, "testdata/secured/solr.yaml", `SOLR_ENABLE_AUTHENTICATION, value: "yes"`, `SOLR_ENABLE_AUTHENTICATION, value: "no"`, `SOLR_SSL_ENABLED, value: "yes"`, `SOLR_SSL_ENABLED, value: "no"`),
	} {
		for name := range e.sets {
			code, _, stderr := e.run("enroll", name, "--name", "search", "--timeout", "5s")
			require.Zero(t, code, stderr)
			require.NotContains(t, stderr, "security")
			require.NotContains(t, stderr, "certificates")
			require.Zero(t, e.made.Spec.Connection)
		}
	}
}

// TestEnrollKnowsTheChartsOwnSecret checks that a Secret that pods mount is named where it has the
// authority, and that what a certificate there does not name is told.
func TestEnrollKnowsTheChartsOwnSecret(t *testing.T) {
	e := ofManifest(t, "testdata/secured/solr.yaml")
	_, ca := authority(t, time.Now().Add(time.Hour), "*.books-solr-headless.prod.svc")
	e.secret("books-solr-crt", map[string][]byte{"ca.crt": ca, "tls.crt": ca, "tls.key": []byte("hidden")})
	code, _, stderr := e.run("enroll", "books-solr", "--name", "books")
	require.Equal(t, 2, code)
	require.NotContains(t, stderr, "--from-file=ca.crt", "it is there")
	require.Contains(t, stderr, "rollcall enroll books-solr -n prod --name books --tls --ca-secret books-solr-crt --credentials-secret books-rollcall-credentials\n")
	require.Contains(t, stderr, "Secret books-solr-crt, which the pods mount, has the authority under ca.crt; agents get no\n    other key of it.")
	e.secret("books-rollcall-credentials", login)
	args := []string{"enroll", "books-solr", "--name", "books", "--ca-secret", "books-solr-crt", "--credentials-secret", "books-rollcall-credentials"}
	_, _, stderr = e.run(append(args, "--dry-run")...)
	require.Contains(t, stderr, "warning: certificates: the certificate in Secret prod/books-solr-crt, which its pods mount, does not name localhost, which agents expect")
	_, stdout, stderr := e.run(append(args, "--server-name", "books-solr-0.books-solr-headless.prod.svc", "--dry-run")...)
	require.NotContains(t, stderr, "certificates")
	require.Contains(t, stdout, "kubectl -n prod label secret books-solr-crt rollcall.dev/cluster=books\n")
	require.Contains(t, stdout, `  connection:
    credentialsSecret: books-rollcall-credentials
    tls:
      caSecret: books-solr-crt
      enabled: true
      serverName: books-solr-0.books-solr-headless.prod.svc
`)
}

// TestEnrollTakesNoOddFlags checks flags that contradict each other, or a DatabaseCluster that is there.
func TestEnrollTakesNoOddFlags(t *testing.T) {
	e := ofManifest(t, defaults)
	for want, args := range map[string][]string{
		"--tls is false: leave out --ca-secret":      {"--tls=false", "--ca-secret", "ca"},
		"--server-name is empty: must be a name":     {"--server-name", ""},
		`--ca-secret "a/b": must be the name of a`:   {"--ca-secret", "a/b"},
		"--port is 70000: must be 1 to 65535":        {"--port", "70000"},
		`--credentials-secret "A": must be the name`: {"--credentials-secret", "A"},
	} {
		code, _, stderr := e.run(append([]string{"enroll", "logs"}, args...)...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, want)
	}
	e = newEnrollWorld(t, rolling(t), solr("search"))
	e.must("enroll", "search", "--tls=false")
	for field, args := range map[string][]string{"--tls is true": {"--ca-secret", "ca"}, "--port is 8984": {"--port", "8984"}} {
		code, _, stderr := e.run(append([]string{"enroll", "search"}, args...)...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, field+", and DatabaseCluster search, which is there and is left as it is, says otherwise in spec.connection.")
	}
}

// TestEnrollOfADatabaseClusterThatLacksTLS checks that what is missing is patched into an object that
// is there, by its owner.
func TestEnrollOfADatabaseClusterThatLacksTLS(t *testing.T) {
	e := ofManifest(t, defaults)
	c := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "logs", UID: "c1", Generation: 1}}
	c.Spec.Engine = model.OpenSearch
	e.coordinate(c)
	e.made = c
	e.show()
	_, ca := authority(t, time.Now().Add(time.Hour), "localhost")
	e.secret("logs-database-ca", map[string][]byte{"ca.crt": ca})
	code, _, stderr := e.run("enroll", "logs")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "kubectl -n prod label secret logs-database-ca rollcall.dev/cluster=logs\n")
	require.Contains(t, stderr, `kubectl -n prod patch dbc logs --type=merge -p '{"spec":{"connection":{"tls":{"enabled":true,"caSecret":"logs-database-ca"},"credentialsSecret":"logs-rollcall-credentials"}}}'`)
}

// oneLine is a text as if it had not been wrapped.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

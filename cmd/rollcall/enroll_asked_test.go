package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// listens has a pod of each StatefulSet whose database answers as the handler does, by TLS where there is
// a certificate.
func (e *enrollWorld) listens(port string, pair *tls.Certificate, answer http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(answer)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if pair == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*pair}}
		server.StartTLS()
	}
	e.t.Cleanup(server.Close)
	e.ports[port] = server.Listener.Addr().String()
	e.pods()
	return server
}

// pods has one Ready pod of each StatefulSet.
func (e *enrollWorld) pods() {
	var list corev1.PodList
	for _, set := range e.sets {
		yes := true
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: set.Name + "-0", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: &yes}}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		list.Items = append(list.Items, p)
	}
	e.objects["/api/v1/namespaces/prod/pods"] = list
}

// wantsLogin lets in who has the password.
func wantsLogin(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != "rollcall" || password != "correct-horse" {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// plainImage is an image of which nobody knows whether it has the security plugin.
var plainImage = []string{"opensearchproject/opensearch:2.19.4", "registry.example/search/opensearch:2.19.4"}

// TestEnrollAsksPods checks that what a pod answers counts before what its objects say.
func TestEnrollAsksPods(t *testing.T) {
	pair, ca := authority(t, time.Now().Add(time.Hour), "localhost")
	e := ofManifest(t, defaults, plainImage...)
	code, _, stderr := e.run("enroll", "logs", "--dry-run")
	require.Zero(t, code)
	require.Contains(t, stderr, "warning: security: it cannot be told whether its servers want TLS and a login: nothing sets DISABLE_SECURITY_PLUGIN or plugins.security.disabled, and whether the image registry.example/search/opensearch:2.19.4 has the security plugin cannot be seen")
	_, _, stderr = e.run("enroll", "logs", "--dry-run", "--tls=false")
	require.NotContains(t, stderr, "security")

	e.listens("9200", &pair, wantsLogin)
	code, _, stderr = e.run("enroll", "logs", "--dry-run")
	require.Equal(t, 2, code)
	require.Contains(t, oneLine(stderr), "its servers want TLS (pod logs-0 answers by TLS), and agents are not told so")
	require.Contains(t, oneLine(stderr), "its servers want a login (pod logs-0 refuses requests without a login)")

	e.secret("ca", map[string][]byte{"ca.crt": ca})
	e.secret("login", login)
	e.must("enroll", "logs", "--dry-run", "--ca-secret", "ca", "--credentials-secret", "login")

	plain := ofManifest(t, defaults)
	plain.listens("9200", nil, func(http.ResponseWriter, *http.Request) {})
	_, _, stderr = plain.run("enroll", "logs", "--dry-run")
	require.NotContains(t, stderr, "security", "the plugin is not in this image after all")
}

// TestEnrollTriesWhatAgentsWillShow checks that a wrong password, a wrong name and a foreign authority are
// found before any pod restarts, and that no password is shown to a server that is not the right one.
func TestEnrollTriesWhatAgentsWillShow(t *testing.T) {
	pair, ca := authority(t, time.Now().Add(time.Hour), "localhost")
	other, foreign := authority(t, time.Now().Add(time.Hour), "node-0.example")
	old, expired := authority(t, time.Date(2023, 9, 28, 0, 0, 0, 0, time.UTC), "localhost")
	for name, tt := range map[string]struct {
		shows    tls.Certificate
		ca       []byte
		password string
		want     string
		shown    bool
	}{
		"all is well":         {pair, ca, "correct-horse", "", true},
		"a wrong password":    {pair, ca, "battery-staple", "error security StatefulSet prod/logs pod logs-0 refuses the username and password of Secret prod/login (status 401)", true},
		"a wrong name":        {other, foreign, "correct-horse", "error certificates StatefulSet prod/logs the certificate that pod logs-0 shows does not name localhost, which agents expect fix: --server-name, or spec.connection.tls.serverName, with a name that it has: node-0.example", false},
		"a foreign authority": {pair, foreign, "correct-horse", "no authority in Secret ca has signed the certificate that pod logs-0 shows (its issuer is \"CN=node\")", false},
		"one that is over":    {old, append(slices.Clone(expired), ca...), "correct-horse", "the certificate that pod logs-0 shows is not valid now: x509: certificate has expired", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := ofManifest(t, defaults)
			shown := false
			e.listens("9200", &tt.shows, func(w http.ResponseWriter, r *http.Request) {
				shown = shown || r.Header.Get("Authorization") != ""
				wantsLogin(w, r)
			})
			e.secret("ca", map[string][]byte{"ca.crt": tt.ca})
			e.secret("login", map[string][]byte{"username": []byte("rollcall"), "password": []byte(tt.password)})
			code, stdout, stderr := e.run("enroll", "logs", "--ca-secret", "ca", "--credentials-secret", "login", "--dry-run")
			require.Contains(t, oneLine(stderr), tt.want)
			require.Equal(t, map[bool]int{true: 0, false: 2}[tt.want == ""], code, stderr)
			require.Equal(t, tt.shown, shown)
			require.NotContains(t, stdout+stderr, tt.password)
			require.Empty(t, e.writes)
		})
	}
}

// TestEnrollSaysWhenPodsCannotBeAsked checks that it is said plainly, and what is known by the objects
// counts then.
func TestEnrollSaysWhenPodsCannotBeAsked(t *testing.T) {
	e := ofManifest(t, defaults)
	e.listens("9200", nil, wantsLogin)
	e.forbid("/api/v1/namespaces/prod/pods/logs-0/portforward")
	code, _, stderr := e.run("enroll", "logs", "--dry-run")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "note: not read, so not examined: how pod logs-0 wants to be spoken to (TLS, login): ")
	require.Contains(t, oneLine(stderr), "its servers want TLS (the image")

	e = ofManifest(t, defaults)
	e.pods()
	_, _, stderr = e.run("enroll", "logs", "--dry-run")
	require.Contains(t, oneLine(stderr), "how pod logs-0 wants to be spoken to (TLS, login): port 9200: port 9200 of pod prod/logs-0: nobody listens")
}

// TestDoctorAsksNoPodWhoseAgentKnows checks that agents that reach their servers are believed, whatever
// the objects say.
func TestDoctorAsksNoPodWhoseAgentKnows(t *testing.T) {
	e := ofManifest(t, defaults, "name: logs,", "name: search, ")
	e.pods()
	c := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "search", UID: "c1", Generation: 1}}
	c.Spec.Engine = "OpenSearch"
	e.made = c
	e.sets["search"].Labels[v1alpha1.LabelCluster] = "search"
	e.show()
	_, stdout, stderr := e.run("doctor", "search")
	require.NotContains(t, stdout+stderr, "security  ")
	require.NotContains(t, stdout+stderr, "spoken to")
	e.refuse = nil
	e.forbid("/api/v1/namespaces/rollcall-system")
	_, stdout, _ = e.run("doctor", "search")
	require.Equal(t, 2, strings.Count(stdout, "error    security  "), stdout)
}

// TestEnrollAsksForAClientCertificate checks that servers that want a certificate of each client are
// asked with the one that agents will show, and that it is written and allowed.
func TestEnrollAsksForAClientCertificate(t *testing.T) {
	pair, ca := authority(t, time.Now().Add(time.Hour), "localhost")
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	e := ofManifest(t, defaults, "network.host: 0.0.0.0", "plugins.security.ssl.http: {enabled: true, clientauth_mode: REQUIRE}")
	e.secret("ca", map[string][]byte{"ca.crt": ca})
	e.secret("login", login)
	e.secret("pair", map[string][]byte{"tls.crt": ca, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})})
	named := []string{"enroll", "logs", "--name", "search", "--ca-secret", "ca", "--credentials-secret", "login"}
	code, _, stderr := e.run(named...)
	require.Equal(t, 2, code)
	require.Contains(t, oneLine(stderr), "its servers want a certificate of each client (plugins.security.ssl.http.clientauth_mode is REQUIRE (ConfigMap logs-config)), and no Secret with one of the agents is named")
	require.Contains(t, stderr, "kubectl -n prod create secret tls search-rollcall-client --cert=client.crt --key=client.key\n")
	require.Contains(t, stderr, "--tls --ca-secret ca --client-secret search-rollcall-client --credentials-secret login\n")
	code, _, stderr = e.run(append(named, "--client-secret", "away")...)
	require.Equal(t, 2, code)
	require.Contains(t, oneLine(stderr), "there is no Secret prod/away with the certificate of the agents")

	server := e.listens("9200", &pair, wantsLogin)
	server.TLS.ClientAuth = tls.RequireAnyClientCert
	code, _, stderr = e.run(append(named, "--client-secret", "pair")...)
	require.Zero(t, code, stderr)
	require.Equal(t, model.ConnectionTLS{Enabled: true, CASecret: "ca", ClientSecret: "pair"}, e.made.Spec.Connection.TLS)
	require.Equal(t, "search", e.objects[secretsPath+"pair"].(*corev1.Secret).Labels[v1alpha1.LabelCluster])
}

package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// TestConsentIsExamined checks that a missing consent in the Secret is found, with the command that
// adds it.
func TestConsentIsExamined(t *testing.T) {
	secret := func(name, label, hosts string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}, Annotations: map[string]string{v1alpha1.AnnotationAllowHosts: hosts}}
	}
	with := func(connection string) string {
		return strings.Replace(fine, "engine: Solr", "engine: Solr, connection: {"+connection+"}", 1)
	}
	const usual = "search-rollcall-credentials"
	for name, tt := range map[string]struct {
		manifest string
		secret   *metav1.ObjectMeta
		want     string
	}{
		"no label": {fine, secret(usual, "", ""), "Secret prod/search-rollcall-credentials has no label that allows it for DatabaseCluster search; whoever may write the Secret allows it: kubectl -n prod label secret search-rollcall-credentials rollcall.dev/cluster=search |"},
		"shared":   {fine, secret(usual, "logs.search", ""), ""},
		"CA":       {with("tls: {caSecret: ca}"), secret("ca", "logs", ""), "Secret prod/ca has no label"},
		"client":   {with("tls: {clientSecret: client}"), secret("client", "logs", ""), "Secret prod/client has no label"},
		"the template's": {strings.Replace(fine, "metadata: {labels: {app: solr", "metadata: {annotations: {rollcall.dev/credentials-secret: mine}, labels: {app: solr", 1),
			secret("mine", "", ""), "Secret prod/mine has no label"},
		"a host":                {with("host: db"), secret(usual, "search", ""), "spec.connection.host is db, which Secret prod/search-rollcall-credentials does not allow"},
		"a host that may be":    {with("host: db"), secret(usual, "search", "db"), ""},
		"at another port":       {with("host: db, port: 8984"), secret(usual, "search", "db"), "spec.connection.host is db:8984, which Secret prod/search-rollcall-credentials does not allow"},
		"at a port that may be": {with("host: db, port: 8984"), secret(usual, "search", "db:8984"), ""},
		"a host, and no Secret": {with("host: db"), nil, "spec.connection.host is db, which a Secret must allow, and there is no Secret prod/search-rollcall-credentials: make it"},
		"failover":              {with("failover: 'https://manager:1/x'"), secret(usual, "search", "db,manager"), "the host of spec.connection.failover is manager:1, which"},
		"another manager":       {with("failover: External"), secret(usual, "search", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, tt.manifest, func(f *Facts) {
				live(f)
				f.SecretMetas = map[string]*metav1.ObjectMeta{"prod/" + usual: nil}
				if tt.secret != nil {
					f.Secrets = []string{"prod/" + tt.secret.Name}
					f.SecretMetas["prod/"+tt.secret.Name] = tt.secret
				}
			})
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], "error consent: "+tt.want)
		})
	}
}

// A chart's own Secret says what it is for, too.
func TestConsentInAManifest(t *testing.T) {
	const secret = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: search-rollcall-credentials LABELS}\nstringData: {password: hunter2}\n"
	require.Empty(t, examine(t, fine+strings.Replace(secret, "LABELS", ", labels: {rollcall.dev/cluster: search}", 1), nil))
	got := examine(t, fine+strings.Replace(secret, "LABELS", "", 1), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "whoever may write the Secret allows it: kubectl label secret search-rollcall-credentials rollcall.dev/cluster=search |")
}

package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestStrategiesAreThoseOfTheAPIServer checks that a manifest's update strategy is what the API server
// makes of it: only a RollingUpdate without rollingUpdate names no partition.
func TestStrategiesAreThoseOfTheAPIServer(t *testing.T) {
	for strategy, want := range map[string]string{
		"":                                    "info update-strategy: its updateStrategy is RollingUpdate: its pods are held",
		"updateStrategy: {}":                  "info update-strategy: its updateStrategy is RollingUpdate: its pods are held",
		"updateStrategy: {rollingUpdate: {}}": "info update-strategy: its updateStrategy is RollingUpdate: its pods are held",
		"updateStrategy: {type: RollingUpdate, rollingUpdate: {}}":                  "info update-strategy: its updateStrategy is RollingUpdate: its pods are held",
		"updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}": "info update-strategy: its updateStrategy is RollingUpdate: its pods are held",
		"updateStrategy: {type: RollingUpdate}":                                     "error update-strategy: its updateStrategy is RollingUpdate and names no partition",
		"updateStrategy: {type: RollingUpdate, rollingUpdate: null}":                "error update-strategy: its updateStrategy is RollingUpdate and names no partition",
		"updateStrategy: {type: OnDelete}":                                          "",
	} {
		got := examine(t, strings.Replace(fine, "updateStrategy: {type: OnDelete}", strategy, 1), nil)
		if want == "" {
			require.Empty(t, got, strategy)
			continue
		}
		require.Len(t, got, 1, "%s: %q", strategy, got)
		require.Contains(t, got[0], want, strategy)
	}
}

// TestLabelsThatNobodyCanChange checks that a rendering with the label where nobody can change it is
// refused, and an object that was made with it is not.
func TestLabelsThatNobodyCanChange(t *testing.T) {
	for from, tt := range map[string]struct{ to, field string }{
		"volumeClaimTemplates: [{metadata: {name: data}}]": {"volumeClaimTemplates: [{metadata: {name: data, labels: {rollcall.dev/cluster: search}}}]", "spec.volumeClaimTemplates"},
		"  podManagementPolicy: Parallel":                  {"  selector: {matchLabels: {rollcall.dev/cluster: search}}\n  podManagementPolicy: Parallel", "spec.selector"},
	} {
		manifest := strings.Replace(fine, from, tt.to, 1)
		got := examine(t, manifest, nil)
		require.Len(t, got, 1, "%q", got)
		require.Contains(t, got[0], "error claim-labels: the label rollcall.dev/cluster is also in "+tt.field+", which nobody can change: Kubernetes refuses the upgrade")
		require.Empty(t, examine(t, manifest, live))
	}
}

// TestPasswordsThatAChartMakesUp checks which values look as if nobody had chosen them, and that none
// is kept.
func TestPasswordsThatAChartMakesUp(t *testing.T) {
	for text, want := range map[string]bool{
		"q8Rz3TnV1x": true, "U7mZ3kQ9vT": true, "aB3dE5gH7jK9mN1p": true, "x9Kf2LmQ8r": true, "hT4kkQzz81mPa": true,
		"admin": false, "opensearch": false, "changeme123": false, "our-own-words": false, "Password123": false, "production2026": false, "": false, "s3cr3t!": false, "mysql-bin": false,
	} {
		require.Equal(t, want, random(text), text)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	certificate := func(from time.Time) []byte {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	now := time.Now()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Data: map[string][]byte{"tls.crt": certificate(now), "ca.crt": certificate(now), "tls.key": []byte("x")}}
	require.Equal(t, []string{"tls.key"}, renderedSecret(secret).Keys, "made together")
	secret.Data["ca.crt"] = certificate(now.Add(-24 * time.Hour))
	require.Empty(t, renderedSecret(secret).Keys, "of an authority that was there before")
	secret.Data["ca.crt"] = []byte("none")
	require.Empty(t, renderedSecret(secret).Keys)

	const rendered = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: prod}\nstringData: {password: q8Rz3TnV1x, username: solr}\n"
	require.Empty(t, examine(t, fine+rendered, nil), "no pod uses it")
	uses := map[string]string{
		"a variable":         "          env: [{name: P, valueFrom: {secretKeyRef: {name: login, key: password}}}]\n",
		"all variables":      "          envFrom: [{secretRef: {name: login}}]\n",
		"a volume":           "      volumes: [{name: login, secret: {secretName: login}}]\n",
		"a projected volume": "      volumes: [{name: login, projected: {sources: [{secret: {name: login}}]}}]\n",
	}
	for name, text := range uses {
		manifest := strings.Replace(fine, "  volumeClaimTemplates", text+"  volumeClaimTemplates", 1)
		got := slices.DeleteFunc(examine(t, manifest+rendered, nil), func(found string) bool { return strings.Contains(found, " security: ") })
		require.Len(t, got, 1, "%s: %q", name, got)
		require.Contains(t, got[0], "warning rendered-secret: Secret login is part of this rendering, and what it has in password looks as if the chart had made it up", name)
		require.NotContains(t, got[0], "q8Rz3TnV1x")
		require.NotContains(t, got[0], "checksum")
		summed := strings.Replace(manifest, "metadata: {labels: {app: solr", "metadata: {annotations: {checksum/secrets: abc}, labels: {app: solr", 1)
		require.Contains(t, examine(t, summed+rendered, nil)[0], "the pod template has its checksum, so that each rendering restarts all pods")
	}
	_, err = Manifest([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: [q8Rz3TnV1x]}\n"))
	require.ErrorContains(t, err, "the Secret cannot be read")
	require.NotContains(t, err.Error(), "q8Rz3TnV1x")
}

// TestWhichDatabaseIsAsked checks that what cannot be told is asked, and that the answer counts.
func TestWhichDatabaseIsAsked(t *testing.T) {
	const postgres = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: pg}\nspec: {template: {spec: {containers: [{name: pg, image: \"postgres:17\", ports: [{containerPort: 5432}]}]}}}\n"
	f, err := Manifest([]byte(postgres))
	require.NoError(t, err)
	require.EqualError(t, f.Only(nil), "which database is this? Images and ports do not say it of StatefulSet pg (image postgres:17): say it by --engine, and name the StatefulSets of that database where there are others")
	for _, tt := range []struct{ image, port, want string }{
		{"ours:1", "2181", "(image ours:1, with port 2181, which is ZooKeeper's)"},
		{"solr:9", "9200", "(image solr:9, which is Solr's, with port 9200, which is OpenSearch's)"},
	} {
		other, err := Manifest([]byte(strings.NewReplacer("postgres:17", tt.image, "5432", tt.port).Replace(postgres)))
		require.NoError(t, err)
		require.ErrorContains(t, other.Only(nil), tt.want)
	}
	f.Engine = model.Solr
	require.NoError(t, f.Only([]string{"pg"}))
	require.Contains(t, strings.Join(texts(Examine(f)), "\n"), "error volume: ")

	f, err = Manifest([]byte(postgres + "---\n" + fine))
	require.NoError(t, err)
	require.NoError(t, f.Only(nil), "beside one that is known")
	require.Len(t, f.Unnamed, 0)
	ours := strings.Replace(fine, "solr:9.10", "ours:1", 1)
	require.Empty(t, examine(t, ours, nil), "its DatabaseCluster says it")
	unlabelled := strings.NewReplacer("kind: DatabaseCluster", "kind: Other", "rollcall.dev/v1alpha1", "example.com/v1").Replace(ours)
	f, err = Manifest([]byte(unlabelled))
	require.NoError(t, err)
	require.ErrorContains(t, f.Only(nil), "StatefulSet solr (image ours:1)", "a label alone does not")
}

// TestTheSameIsSaidOnce checks that a finding names all StatefulSets of a database that it is the same
// of, and each database by itself.
func TestTheSameIsSaidOnce(t *testing.T) {
	second := strings.NewReplacer("name: solr, ", "name: other, ", "uid: s1", "uid: s2").Replace(fine[strings.Index(fine, "---"):])
	without := strings.ReplaceAll(fine+second, "terminationGracePeriodSeconds: 300", "terminationGracePeriodSeconds: 30")
	f, err := Manifest([]byte(without))
	require.NoError(t, err)
	found := Examine(f)
	require.Len(t, found, 1)
	require.Equal(t, "StatefulSets prod/solr, prod/other", found[0].Object)
	apart := strings.Replace(without, "uid: s2, labels: {rollcall.dev/cluster: search}", "uid: s2, labels: {rollcall.dev/cluster: second}", 1)
	apart = apart[:strings.LastIndex(apart, "rollcall.dev/cluster: search")] + strings.Replace(apart[strings.LastIndex(apart, "rollcall.dev/cluster: search"):], "search", "second", 1)
	f, err = Manifest([]byte(apart))
	require.NoError(t, err)
	var objects []string
	for _, found := range Examine(f) {
		if found.Check == "grace-period" {
			objects = append(objects, found.Object)
		}
	}
	require.Equal(t, []string{"StatefulSet prod/solr", "StatefulSet prod/other"}, objects)
}

// TestSuspendedOperators checks what ends an operator's doing, as its object says.
func TestSuspendedOperators(t *testing.T) {
	for object, want := range map[string]string{
		"apiVersion: k8s.mariadb.com/v1alpha1\nkind: MariaDB\nmetadata: {name: a}\nspec: {suspend: true}":                                            "info operator: mariadb-operator makes a database of it, and the operator leaves its pods alone: suspend is true",
		"apiVersion: k8s.mariadb.com/v1alpha1\nkind: MariaDB\nmetadata: {name: a}\nspec: {updateStrategy: {type: OnDelete}}":                         "error operator: mariadb-operator makes a database of it, and rolls its pods by itself",
		"apiVersion: moco.cybozu.com/v1beta2\nkind: MySQLCluster\nmetadata: {name: a, annotations: {moco.cybozu.com/clustering-stopped: \"false\"}}": "error operator: MOCO makes a database of it",
		"apiVersion: solr.apache.org/v1beta1\nkind: SolrCloud\nmetadata: {name: a}\nspec: {updateStrategy: {method: StatefulSet}}":                   "error operator: the Solr operator makes a database of it",
	} {
		got := examine(t, object, nil)
		require.Len(t, got, 1, object)
		require.Contains(t, got[0], want)
	}
}

// TestEveryCheckAndSectionIsThere checks that the documents have each check, and each section that a
// finding names.
func TestEveryCheckAndSectionIsThere(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../../deploy/docs/" + name)
		require.NoError(t, err)
		return string(text)
	}
	page := read("doctor.md")
	for _, name := range Names() {
		require.True(t, strings.Contains(page, "`"+name+"`"), "deploy/docs/doctor.md does not say what %s is about", name)
	}
	headings := func(text string) (out []string) {
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
			anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
			out = append(out, strings.ReplaceAll(anchor, " ", "-"))
		}
		return out
	}
	sections := headings(read("coming-from.md"))
	for _, o := range operators {
		require.Contains(t, sections, o.section, o.name)
	}
	require.Contains(t, sections, "other-operators")
	require.Contains(t, headings(page), "what-kubernetes-may-refuse")
	require.Contains(t, headings(page), "labels-of-volume-claims")
}

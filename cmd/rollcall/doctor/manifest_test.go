package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
)

// TestManifest checks that lists are opened, what is of no interest is not read, and bad input
// names its document.
func TestManifest(t *testing.T) {
	f, err := Manifest([]byte("kind: Deployment\napiVersion: apps/v1\nspec: [not, a, map]\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}}\n"))
	require.NoError(t, err)
	require.Len(t, f.Sets, 1)
	for text, want := range map[string]string{
		"":                "there is no StatefulSet in it",
		"a: b\n---\na: [": "document 2",
		"just text":       "document 1: this is not an object of Kubernetes, which has apiVersion and kind: is it what helm template prints?",
		"apiVersion: apps/v1\nkind: StatefulSet\nspec: {replicas: many}": "document 1",
	} {
		_, err := Manifest([]byte(text))
		require.ErrorIs(t, err, ErrManifest, text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestAManifestWithItsOwnAgent checks that the manifest decides which image its own agent has.
func TestAManifestWithItsOwnAgent(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{v1alpha1.LabelCluster: "a"}}}
	set.Spec.Template = corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelCluster: "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
	}
	with, warnings, err := inject.Template(&set.Spec.Template, inject.Options{Image: "r/agent:v1"})
	require.NoError(t, err)
	require.Empty(t, warnings)
	set.Spec.Template = *with
	require.Empty(t, agent(&Facts{Sets: []appsv1.StatefulSet{*set}}))
}

// TestBadQuantities checks that the field and its value are named, of whatever has quantities in
// it.
func TestBadQuantities(t *testing.T) {
	const set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a, namespace: prod}\nspec: {template: {spec: {containers: [{name: x}, %s]}}}\n"
	for container, want := range map[string]string{
		`{resources: {requests: {cpu: 1, memory: "4 GB"}}}`:      `StatefulSet prod/a: spec.template.spec.containers[1].resources.requests.memory is "4 GB": must be a quantity, such as 500m, 4Gi or 10G`,
		`{resources: {limits: {cpu: half}}}`:                     `containers[1].resources.limits.cpu is "half"`,
		`{env: [{valueFrom: {resourceFieldRef: {divisor: x}}}]}`: `containers[1].env[0].valueFrom.resourceFieldRef.divisor is "x"`,
	} {
		_, err := Manifest(fmt.Appendf(nil, set, container))
		require.ErrorIs(t, err, ErrManifest)
		require.ErrorContains(t, err, want)
	}
	_, err := Manifest([]byte("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {volumeClaimTemplates: [{spec: {resources: {requests: {storage: 10 Gi}}}}]}\n"))
	require.ErrorContains(t, err, `spec.volumeClaimTemplates[0].spec.resources.requests.storage is "10 Gi"`)
	_, err = Manifest(fmt.Appendf(nil, set, `{resources: {requests: {cpu: 0.5, memory: 4Gi}}}`))
	require.NoError(t, err)
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(fine + pdb + netpol))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [1, {}, null]"))
	charts, err := filepath.Glob("testdata/databases/*.yaml")
	require.NoError(f, err)
	for _, file := range charts {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := Manifest(data)
		if err != nil {
			require.ErrorIs(t, err, ErrManifest)
			return
		}
		require.NoError(t, facts.Only(nil))
		live(facts)
		for _, found := range Examine(facts) {
			require.NotEmpty(t, found.Found)
			require.NotEmpty(t, found.Fix)
			require.NotEmpty(t, found.Object)
		}
	})
}

func TestManifestNamesTheObject(t *testing.T) {
	for from, want := range map[string]string{
		"engine: Solr": "DatabaseCluster prod/search",
		"replicas: 3":  "StatefulSet prod/solr",
	} {
		_, err := Manifest([]byte(strings.Replace(fine, from, from[:strings.Index(from, ":")]+": [1]", 1)))
		require.ErrorContains(t, err, want)
	}
	_, err := Manifest([]byte(strings.Replace(fine, "engine: Solr", "engine: Solr, guard: Off", 1)))
	require.ErrorContains(t, err, "YAML reads On, Off, Yes and No as booleans unless they are in quotes")
}

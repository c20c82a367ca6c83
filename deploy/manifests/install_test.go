package manifests

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// names are kind and name of each object, in their order.
func names(t *testing.T, manifest string) []string {
	t.Helper()
	var all []string
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		var object metav1.PartialObjectMetadata
		require.NoError(t, yaml.Unmarshal(document, &object))
		if object.Kind != "" {
			all = append(all, object.Kind+" "+object.Namespace+"/"+object.Name)
		}
	}
}

func TestInstall(t *testing.T) {
	plain, err := Install(Options{})
	require.NoError(t, err)
	require.Equal(t, text, plain)

	other, err := Install(Options{Namespace: "ops", CoordinatorImage: "registry.example.com:5000/rc/coordinator@sha256:00ff", AgentImage: "agent:v1"})
	require.NoError(t, err)
	require.NotContains(t, other, Namespace)
	require.NotContains(t, other, "docker.io")
	require.Contains(t, other, "system:serviceaccount:ops:rollcall-coordinator", "whom the guard lets open")
	require.Contains(t, other, "--install-namespace=ops")
	require.Contains(t, other, "--agent-image=agent:v1")
	require.Equal(t, 2, strings.Count(other, `image: "registry.example.com:5000/rc/coordinator@sha256:00ff"`))
	want := regexp.MustCompile(Namespace).ReplaceAllString(strings.Join(names(t, plain), "\n"), "ops")
	require.Equal(t, want, strings.Join(names(t, other), "\n"))
	require.Len(t, names(t, other), strings.Count(text, "\nkind: "))

	other, err = Install(Options{Namespace: "ops", CoordinatorImage: "registry/rollcall-system/coordinator:v1"})
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(other, `image: "registry/rollcall-system/coordinator:v1"`))

	for _, o := range []Options{{Namespace: "Ops"}, {Namespace: "a b"}, {CoordinatorImage: `a"b`}, {AgentImage: "a\nb"}, {AgentImage: "a b"}} {
		_, err := Install(o)
		require.Error(t, err, "%+v", o)
		_, err = Uninstall(o, true)
		require.Error(t, err, "%+v", o)
	}
}

// What is taken away is what was put there, the other way round; DatabaseClusters
// stay unless somebody says that they go, too.
func TestUninstall(t *testing.T) {
	installed := names(t, text)
	all, err := Uninstall(Options{}, true)
	require.NoError(t, err)
	removed := names(t, all)
	require.Len(t, removed, len(installed))
	for i, name := range removed {
		require.Equal(t, installed[len(installed)-1-i], name)
	}
	kept, err := Uninstall(Options{Namespace: "ops"}, false)
	require.NoError(t, err)
	require.Len(t, names(t, kept), len(installed)-1)
	require.NotContains(t, kept, "kind: CustomResourceDefinition")
	require.Contains(t, names(t, kept), "Namespace /ops")
}

package searchcluster

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
)

// sets are the StatefulSets of the manifest after an edit, by name.
func sets(t *testing.T, edit func(*appsv1.StatefulSet)) map[string]appsv1.StatefulSet {
	t.Helper()
	manifest, err := os.ReadFile("../manifests/opensearch.yaml")
	require.NoError(t, err)
	out := map[string]appsv1.StatefulSet{}
	text, err := manifests.Edit(string(manifest), func(set *appsv1.StatefulSet) {
		edit(set)
		out[set.Name] = *set
	}, Pools...)
	require.NoError(t, err)
	require.Equal(t, len(Pools), strings.Count(text, "kind: StatefulSet"), "the chart has no other pools")
	return out
}

func TestEveryPoolIsLabelled(t *testing.T) {
	for name, set := range sets(t, Labelled) {
		require.Equal(t, Name, set.Labels[manifests.ClusterLabel], name)
		require.Equal(t, Name, set.Spec.Template.Labels[manifests.ClusterLabel], name)
		require.Equal(t, appsv1.OnDeleteStatefulSetStrategyType, set.Spec.UpdateStrategy.Type, name)
		require.Equal(t, Container, set.Spec.Template.Spec.Containers[0].Name, name)
	}
}

func TestEmptyDirIsForDataOnly(t *testing.T) {
	all := sets(t, EmptyDir)
	data := all[Data]
	require.Empty(t, data.Spec.VolumeClaimTemplates)
	require.NotNil(t, data.Spec.Template.Spec.Volumes[0].EmptyDir)
	require.Equal(t, data.Spec.Template.Spec.Containers[0].VolumeMounts[0].Name, data.Spec.Template.Spec.Volumes[0].Name)
	require.Len(t, all[Managers].Spec.VolumeClaimTemplates, 1, "who was elected must be remembered")
}

func TestKindIsTheOrderOfPools(t *testing.T) {
	for pod, kind := range map[string]int{"os-data-3": 0, "os-coord-0": 1, "os-manager-2": 2, "zk-0": -1} {
		require.Equal(t, kind, Kind(pod), pod)
	}
}

func TestPatches(t *testing.T) {
	for _, patch := range []string{Image("3.8.0"), ImageAndNote("3.8.0", "x")} {
		var set appsv1.StatefulSet
		require.NoError(t, json.Unmarshal([]byte(patch), &set))
		require.Equal(t, "docker.io/rollcall-test/opensearch:3.8.0", set.Spec.Template.Spec.Containers[0].Image)
	}
	require.Contains(t, ImageAndNote("3.8.0", "x"), `"example.com/change":"x"`)
}

func TestOneIndexHasNoReplicas(t *testing.T) {
	c := &Cluster{}
	require.Equal(t, []string{"scratch"}, c.Alone())
	require.Equal(t, []string{"books", "logs", "users"}, c.Load().Collections)
	require.Len(t, Names(), 4)
}

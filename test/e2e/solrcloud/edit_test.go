package solrcloud

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
)

const manifest = `apiVersion: v1
kind: Service
metadata: {name: solr}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: solr}
spec:
  template:
    metadata: {labels: {app: solr}}
`

func TestEditChangesTheStatefulSetOnly(t *testing.T) {
	text, err := editStatefulSet(manifest, Labelled)
	require.NoError(t, err)
	require.Contains(t, text, "rollcall.dev/cluster: solr")
	require.Contains(t, text, "metadata: {name: solr}\n---\n", "the other document stays as it is")

	same, err := editStatefulSet(manifest, nil)
	require.NoError(t, err)
	require.Equal(t, manifest, same)
}

func TestEditNeedsTheStatefulSet(t *testing.T) {
	_, err := editStatefulSet("kind: Service\nmetadata: {name: solr}\n", Labelled)
	require.ErrorContains(t, err, "no StatefulSet solr")
}

func TestWithoutLeavesTheOthersAsTheyAre(t *testing.T) {
	text, err := without(manifest, "StatefulSet")
	require.NoError(t, err)
	require.Equal(t, "apiVersion: v1\nkind: Service\nmetadata: {name: solr}", text)
	same, err := without(manifest, "Namespace")
	require.NoError(t, err)
	require.Equal(t, manifest, same)
}

func TestChangesOfAChartAddUp(t *testing.T) {
	text, err := editStatefulSet(manifest+"    spec: {containers: [{name: solr}]}\n", func(set *appsv1.StatefulSet) {
		for _, change := range []func(*appsv1.StatefulSet){RollingUpdate, LabelledSet, Tag("9.10.0"), Annotated("a"), Annotated("b"), Line(7)} {
			change(set)
		}
	})
	require.NoError(t, err)
	for _, line := range []string{"type: RollingUpdate", "rollcall.dev/cluster: solr", "image: docker.io/rollcall-test/solr:9.10.0", "example.com/change: b", "partition: 7"} {
		require.Contains(t, text, line)
	}
}

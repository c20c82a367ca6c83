package manifests

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

func labelled(set *appsv1.StatefulSet) { Label(set, "solr") }

func TestEditChangesTheStatefulSetOnly(t *testing.T) {
	text, err := Edit(manifest, labelled, "solr")
	require.NoError(t, err)
	require.Contains(t, text, "rollcall.dev/cluster: solr")
	require.Contains(t, text, "metadata: {name: solr}\n---\n", "the other document stays as it is")

	same, err := Edit(manifest, nil, "solr")
	require.NoError(t, err)
	require.Equal(t, manifest, same)
}

func TestEditNeedsTheStatefulSet(t *testing.T) {
	_, err := Edit(manifest, labelled, "solr", "other")
	require.ErrorContains(t, err, "no StatefulSet other")
}

func TestWithoutLeavesTheOthersAsTheyAre(t *testing.T) {
	text, err := Without(manifest, "StatefulSet")
	require.NoError(t, err)
	require.Equal(t, "apiVersion: v1\nkind: Service\nmetadata: {name: solr}", text)
	same, err := Without(manifest, "Namespace")
	require.NoError(t, err)
	require.Equal(t, manifest, same)
}

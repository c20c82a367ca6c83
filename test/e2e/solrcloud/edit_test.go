package solrcloud

import (
	"testing"

	"github.com/stretchr/testify/require"
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

package solrcloud

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
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

func TestChangesOfAChartAddUp(t *testing.T) {
	text, err := manifests.Edit(manifest+"    spec: {containers: [{name: solr}]}\n", func(set *appsv1.StatefulSet) {
		for _, change := range []func(*appsv1.StatefulSet){RollingUpdate, LabelledSet, Tag("9.10.0"), Annotated("a"), Annotated("b"), Line(7)} {
			change(set)
		}
	}, Name)
	require.NoError(t, err)
	for _, line := range []string{"type: RollingUpdate", "rollcall.dev/cluster: solr", "image: docker.io/rollcall-test/solr:9.10.0", "example.com/change: b", "partition: 7"} {
		require.Contains(t, text, line)
	}
}

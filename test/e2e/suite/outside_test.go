package suite

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
)

// deleteOutside: somebody deletes a pod by hand. Nobody prepared it, so the
// stop hook hands over.
func (s *solr) deleteOutside(t *testing.T) {
	measure(t, solrcloud.Rehearsal{Cloud: s.cloud, Change: func(ctx context.Context) error {
		_, err := s.bed.Kubectl(ctx, "", "delete", "pod", "solr-2", "-n", solrcloud.Namespace)
		return err
	}})
}

// drainOutside: a node is drained by kubectl while nothing rolls.
func (s *solr) drainOutside(t *testing.T) {
	ctx := t.Context()
	node := s.cloud.Pods.All()[0].Spec.NodeName
	defer func() {
		_, err := s.bed.Kubectl(context.WithoutCancel(ctx), "", "uncordon", node)
		require.NoError(t, err)
	}()
	measure(t, solrcloud.Rehearsal{Cloud: s.cloud, Change: func(ctx context.Context) error {
		_, err := s.bed.Kubectl(ctx, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s", "--pod-selector=app=solr")
		if err != nil {
			return err
		}
		_, err = s.bed.Kubectl(ctx, "", "uncordon", node)
		return err
	}})
}

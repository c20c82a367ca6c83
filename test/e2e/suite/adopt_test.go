package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
)

// TestAdopt installs Rollcall on a SolrCloud with OnDelete that already runs
// without agents. TestRollingUpdateChart does so with the more common strategy,
// and runs each time.
func TestAdopt(t *testing.T) {
	b := bed(t, "solr")
	measured(t)
	ctx := t.Context()
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	cloud, err := solrcloud.Deploy(ctx, b, func(*appsv1.StatefulSet) {})
	require.NoError(t, err)
	require.NoError(t, cloud.CreateCollections(ctx))

	out := roll(t, rehearsal.Rehearsal{
		On: cloud,
		Change: func(ctx context.Context) error {
			// First the label on the StatefulSet object, which restarts nothing, then the
			// DatabaseCluster, then the label in the template, which brings the agents.
			if _, err := b.Kubectl(ctx, "", "label", "statefulset", "solr", "-n", solrcloud.Namespace, "rollcall.dev/cluster=solr"); err != nil {
				return err
			}
			if err := b.Apply(ctx, databaseCluster(t, b)); err != nil {
				return err
			}
			if err := cloud.Patch(ctx, `{"spec":{"template":{"metadata":{"labels":{"rollcall.dev/cluster":"solr"}}}}}`); err != nil {
				return err
			}
			if err := b.Eventually(ctx, "adoption to wait for a person", time.Minute, func(ctx context.Context) error {
				plan, err := b.Rollcall(ctx, "plan", "solr", "-n", solrcloud.Namespace, "-o", "text")
				if err != nil {
					return err
				}
				if !strings.Contains(plan, "approval") {
					return fmt.Errorf("not asked:\n%s", plan)
				}
				t.Log(plan)
				return nil
			}); err != nil {
				return err
			}
			_, err := b.Rollcall(ctx, "approve", "solr", "-n", solrcloud.Namespace, "--what", "adopt")
			return err
		},
		Done: func(ctx context.Context) error {
			if err := cloud.RolledOut(ctx, 2*rolloutLimit); err != nil {
				return err
			}
			for _, pod := range cloud.Pods.All() {
				if len(pod.Spec.InitContainers) == 0 {
					return fmt.Errorf("%s came back without an agent", pod.Name)
				}
			}
			return nil
		},
	})
	shard, away := out.Witness.WorstShard()
	require.LessOrEqual(t, away, 1, "replicas of %s unavailable at once", shard)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
	require.NoError(t, cloud.Delete(ctx))
}

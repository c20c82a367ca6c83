package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/observer"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// ensembleRolled: the ensemble under Solr is put under Rollcall, which restarts each server, and is
// rolled, while Solr serves. Each server goes while all others are in the quorum, the leader last,
// and no pod of Solr goes.
func (s *solr) ensembleRolled(t *testing.T) {
	ctx := t.Context()
	servers, addresses := s.servers(t)
	asked := observer.ZooKeeper{Pods: addresses}
	// Otherwise the StatefulSet's controller removes what Rollcall lets go, and the observer takes that for somebody else.
	require.NoError(t, solrcloud.PatchEnsemble(ctx, s.bed, `{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}`))
	enroll := func(timeout string) error {
		out, err := s.bed.Rollcall(ctx, "enroll", solrcloud.Ensemble, "-n", solrcloud.Namespace, "--timeout", timeout)
		t.Log(out, err)
		return err
	}
	require.ErrorContains(t, enroll("30s"), "PodDisruptionBudget", "the chart has one of its own")
	require.NoError(t, s.bed.Kube.PolicyV1().PodDisruptionBudgets(solrcloud.Namespace).Delete(ctx, solrcloud.Ensemble, metav1.DeleteOptions{}))
	require.NoError(t, enroll("3m"))
	_, err := s.bed.Rollcall(ctx, "approve", solrcloud.Ensemble, "-n", solrcloud.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
	metadata := fmt.Sprintf(`{"labels":{%q:%q}}`, manifests.ClusterLabel, solrcloud.Ensemble)
	for _, step := range []string{metadata, fmt.Sprintf(`{"annotations":{%q:"ensemble"}}`, manifests.Changed)} {
		o := observe(t, s.bed, servers, asked.Read)
		out := roll(t, rehearsal.Rehearsal{
			On: s.cloud,
			Change: func(ctx context.Context) error {
				return solrcloud.PatchEnsemble(ctx, s.bed, fmt.Sprintf(`{"template":{"metadata":%s}}`, step))
			},
			During: func(ctx context.Context, _ *witness.Witness) error { return s.leaderLast(ctx, servers, asked) },
			Done: func(ctx context.Context) error {
				return solrcloud.EnsembleRolledOut(ctx, s.bed, servers, 5*time.Minute)
			},
		})
		o.judged(t)
		require.Empty(t, out.Witness.Restarts, "no pod of Solr goes")
		require.Zero(t, out.Witness.MaxPodsAway, "no pod of Solr is unavailable")
	}
	for _, pod := range servers.All() {
		require.True(t, testbed.HasAgent(pod), pod.Name)
	}
	_, err = s.bed.Rollcall(ctx, "status", solrcloud.Ensemble, "-n", solrcloud.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
}

// leaderLast waits until all servers but one are new, and requires that the old one leads.
func (s *solr) leaderLast(ctx context.Context, servers *testbed.Pods, asked observer.ZooKeeper) error {
	before, err := s.ensemble(ctx)
	if err != nil {
		return err
	}
	old := ""
	err = s.bed.Eventually(ctx, "one server to be left", 5*time.Minute, func(context.Context) error {
		var left []string
		for _, pod := range servers.All() {
			if string(pod.UID) == before[pod.Name] && pod.DeletionTimestamp == nil {
				left = append(left, pod.Name)
			}
		}
		if len(left) > 1 {
			return fmt.Errorf("left: %s", strings.Join(left, ", "))
		}
		old = strings.Join(left, "")
		return nil
	})
	if err != nil {
		return err
	}
	if mode := asked.Modes(ctx)[old]; old != "" && mode != "leader" {
		return fmt.Errorf("the last of the ensemble, %s, does not lead: %s", old, mode)
	}
	return nil
}

package suite

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const (
	oldSearch = "2.19.6"
	newSearch = "3.8.0"
)

// searchPods is how many pods the pools have together.
func searchPods() int {
	if measuring() {
		return 8
	}
	return 3
}

// allRoles makes the nodes with data the whole OpenSearch where nothing is measured, as the default of the
// official chart is: three nodes that have each role.
func allRoles(set *appsv1.StatefulSet) {
	fewer(set, searchcluster.Managers, 0)
	fewer(set, searchcluster.Coordinating, 0)
	fewer(set, searchcluster.Data, 3)
	if set.Name != searchcluster.Data || measuring() {
		return
	}
	env := set.Spec.Template.Spec.Containers[0].Env
	for i := range env {
		switch env[i].Name {
		case "OPENSEARCH_ROLES":
			env[i].Value = "cluster_manager,data,ingest"
		case "OPENSEARCH_SEEDS":
			env[i].Value = "os"
		case "OPENSEARCH_MANAGERS":
			env[i].Value = "os-data-0,os-data-1,os-data-2"
		}
	}
}

// TestOpenSearch walks one OpenSearch through everything: the order matters, a
// later step starts from what an earlier one left.
func TestOpenSearch(t *testing.T) {
	b := bed(t, "opensearch")
	leaveNothing(t, b)
	s := deploySearch(t, b, searchcluster.Labelled)
	walk(t, []step{
		{"VersionUpgrade", s.upgrade},
		{"DowngradeRefused", s.downgrade},
	}, []step{
		{"ConfigurationChange", s.configuration},
		{"DataNodeKilled", s.dataKilled},
		{"ManagerKilled", s.managerKilled},
		{"ManagerPaused", s.managerPaused},
		{"IndexEverySecond", s.indexEverySecond},
		{"YellowRepairedByRollout", s.yellowRepaired},
		{"RedHolds", s.redHolds},
		{"AgentAndCoordinatorKilledBetweenThrottleAndRestart", s.killedWhileThrottled},
		{"EmptyDir", s.emptyDir},
	})
	require.NoError(t, s.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
}

type search struct {
	bed     *testbed.Bed
	cluster *searchcluster.Cluster
	// settings are the settings of the database as they were before any rollout.
	settings map[string]searchcluster.Setting
}

// deploySearch brings up an OpenSearch with its indices under a DatabaseCluster
// with changes.
func deploySearch(t *testing.T, b *testbed.Bed, edit func(*appsv1.StatefulSet), replace ...string) *search {
	t.Helper()
	ctx := t.Context()
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, b.Apply(ctx, manifest(t, b, "opensearch-databasecluster.yaml", replace...)))
	cluster, err := searchcluster.Deploy(ctx, b, func(set *appsv1.StatefulSet) {
		edit(set)
		allRoles(set)
	})
	require.NoError(t, err)
	require.NoError(t, cluster.CreateIndices(ctx))
	// A pod that comes while no webhook answers has no agent; the next change adopts it.
	_, err = b.Rollcall(ctx, "approve", searchcluster.Name, "-n", searchcluster.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
	settings, err := cluster.Settings(ctx)
	require.NoError(t, err)
	return &search{b, cluster, settings}
}

// configuration: every pod of every pool restarts, nothing else changes.
func (s *search) configuration(t *testing.T) {
	s.wellBehaved(t, roll(t, rehearsal.Rehearsal{On: s.cluster, Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "configuration") }}))
}

// upgrade: to the next major version, while the coordinator that leads is killed.
func (s *search) upgrade(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.SetImage(ctx, newSearch) },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 2); err != nil {
				return err
			}
			return killLeader(ctx, s.bed)
		},
	})
	s.wellBehaved(t, out)
	require.NoError(t, s.status(t))
}

// wellBehaved is what every undisturbed rollout must keep to.
func (s *search) wellBehaved(t *testing.T, out rehearsal.Outcome) {
	t.Helper()
	s.careful(t, out)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.Len(t, out.Witness.RestartCounts(), searchPods(), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
	require.NoError(t, out.Witness.InOrder(searchcluster.Kind))
	require.NoError(t, out.Witness.ElectedLast())
	s.leftAsBefore(t)
}

// careful is what a rollout keeps to whatever happens in it: no shard that has
// several copies is without any, or misses two.
func (s *search) careful(t *testing.T, out rehearsal.Outcome) {
	t.Helper()
	shard, away := out.Witness.WorstShard()
	require.LessOrEqual(t, away, 1, "copies of %s unavailable at once", shard)
	require.Empty(t, out.Witness.Leaderless, "red")
}

// leftAsBefore requires that soon nothing of Rollcall's own is left in the
// database: settings are what they were, and everybody may vote.
func (s *search) leftAsBefore(t *testing.T) {
	t.Helper()
	require.NoError(t, s.bed.Eventually(t.Context(), "nothing of Rollcall to be left in the database", 2*time.Minute, func(ctx context.Context) error {
		now, err := s.cluster.Settings(ctx)
		if err != nil {
			return err
		}
		if !maps.Equal(now, s.settings) {
			return fmt.Errorf("settings: %v, before: %v", now, s.settings)
		}
		excluded, err := s.cluster.Excluded(ctx)
		if err == nil && len(excluded) > 0 {
			return fmt.Errorf("excluded from voting: %v", excluded)
		}
		return err
	}))
}

func (s *search) status(t *testing.T) error {
	t.Helper()
	out, err := s.bed.Rollcall(t.Context(), "status", searchcluster.Name, "-n", searchcluster.Namespace, "--wait", "--timeout", "2m")
	t.Log(out)
	return err
}

// plan as text.
func (s *search) plan(ctx context.Context) (string, error) {
	return s.bed.Rollcall(ctx, "plan", searchcluster.Name, "-n", searchcluster.Namespace, "-o", "text")
}

// planSays waits until every one of the words is in the plan, and answers it.
func (s *search) planSays(ctx context.Context, limit time.Duration, words ...string) (plan string, err error) {
	err = s.bed.Eventually(ctx, strings.Join(words, ", ")+" in the plan", limit, func(ctx context.Context) error {
		if plan, err = s.plan(ctx); err != nil {
			return err
		}
		for _, word := range words {
			if !strings.Contains(plan, word) {
				return fmt.Errorf("no %s in the plan:\n%s", word, plan)
			}
		}
		return nil
	})
	return plan, err
}

// downgrade: an older version is asked for. No pod goes, and everybody is told
// why; with the version that runs all is as before.
func (s *search) downgrade(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.SetImage(ctx, oldSearch) },
		During: func(ctx context.Context, _ *witness.Witness) error {
			plan, err := s.planSays(ctx, time.Minute, "version-refused", oldSearch)
			if err != nil {
				return err
			}
			t.Log(plan)
			err = s.bed.Eventually(ctx, "the status to say so", time.Minute, func(ctx context.Context) error {
				status, err := s.bed.Rollcall(ctx, "status", searchcluster.Name, "-n", searchcluster.Namespace)
				if err == nil && !strings.Contains(status, oldSearch+" is older than "+newSearch) {
					return fmt.Errorf("the status:\n%s", status)
				}
				return err
			})
			if err != nil {
				return err
			}
			// Long enough for somebody who would go to go.
			if err := testbed.Pause(ctx, 20*time.Second); err != nil {
				return err
			}
			return s.cluster.SetImage(ctx, newSearch)
		},
	})
	require.Empty(t, out.Witness.Restarts, "no pod goes")
	require.NoError(t, s.status(t))
}

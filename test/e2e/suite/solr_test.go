package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/audit"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// solrPods is how many Solrs there are.
func solrPods() int {
	if measuring() {
		return 6
	}
	return 4
}

// TestSolr walks one SolrCloud through everything: the order matters, a later
// step starts from what an earlier one left.
func TestSolr(t *testing.T) {
	b := bed(t, "solr")
	ctx := t.Context()
	leaveNothing(t, b)
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, b.Apply(ctx, databaseCluster(t, b)))
	cloud, err := solrcloud.Deploy(ctx, b, func(set *appsv1.StatefulSet) {
		solrcloud.Labelled(set)
		patientProbe(set)
		fewer(set, solrcloud.Name, int32(solrPods()))
	})
	require.NoError(t, err)
	require.NoError(t, cloud.CreateCollections(ctx))
	s := &solr{bed: b, cloud: cloud}
	// A pod that comes while no webhook answers has no agent; the next change adopts it.
	_, err = b.Rollcall(ctx, "approve", "solr", "-n", solrcloud.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)

	require.NoError(t, s.status(t), "the new collections have settled")

	walk(t, []step{
		{"AgentsAreThereAndGrpcurlSeesThem", s.grpcurl},
		{"PeopleByTheirRights", s.people},
		{"SavedSnapshotGivesTheSamePlan", s.snapshot},
		{"SessionLostInMidRollout", s.sessionLost},
	}, []step{
		{"Upgrade", s.upgrade},
		{"EnsembleRolled", s.ensembleRolled},
		{"BrokenImageThenCorrection", s.brokenImage}, // TestOrderedReady has one on every commit
		{"PauseWindowCanaryApprovalOverride", s.steered},
		{"RestartSchedule", s.scheduled},
		{"AgentKilled", s.agentKilled},
		{"SolrKilledInAnotherPod", s.solrKilled},
		{"ReplicaDownBefore", s.downBefore},
		{"ZooKeeperRestarted", s.zookeeperRestarted},
		{"LeaderKilledTenTimes", s.leaderKilledTenTimes},
		{"LeaderFrozen", s.leaderFrozen},
		{"APIServerDown", s.apiServerDown},
		{"LivenessKills", s.livenessKills},
		{"DeleteOutsideRollcall", s.deleteOutside},
		{"DrainOutsideRollcall", s.drainOutside},
	})
	require.NoError(t, cloud.Delete(ctx), "a namespace with Rollcall in it can be deleted")
}

type solr struct {
	bed   *testbed.Bed
	cloud *solrcloud.Cloud
}

func (s *solr) upgrade(t *testing.T) {
	var began time.Time
	out := roll(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error {
		began = time.Now()
		return s.cloud.SetImage(ctx, newVersion)
	}})
	s.wellBehaved(t, out)
	require.NoError(t, out.Witness.ElectedLast())
	require.NoError(t, s.status(t))
	s.cheap(t, began, solrPods())
}

// cheap: an undisturbed restart costs the API server five writes, a rollout four
// more. Before the guard is opened and before the pod goes the StatefulSets and the pods
// are listed once each, live, and nothing else ever is. The API server itself says so.
func (s *solr) cheap(t *testing.T, began time.Time, restarts int) {
	t.Helper()
	file, ok := s.bed.AuditLog()
	if !ok {
		t.Log("the audit log of an existing cluster is not at hand: requests are not counted")
		return
	}
	requests, err := audit.ReadFile(file, "system:serviceaccount:"+testbed.InstallNamespace+":rollcall-coordinator", began)
	require.NoError(t, err)
	spent := audit.Cost(requests, solrcloud.Namespace)
	t.Logf("API server: %d writes for %d restarts, Events aside, and %d LISTs", len(spent.Writes), restarts, len(spent.Lists))
	require.NotEmpty(t, spent.Writes)
	require.LessOrEqual(t, len(spent.Writes), 5*restarts+4, strings.Join(spent.Writes, "\n"))
	require.LessOrEqual(t, len(spent.Lists), 4*restarts, strings.Join(spent.Lists, "\n"))
}

// wellBehaved is what every undisturbed rollout must keep to.
func (s *solr) wellBehaved(t *testing.T, out rehearsal.Outcome) {
	t.Helper()
	shard, away := out.Witness.WorstShard()
	require.LessOrEqual(t, away, 1, "replicas of %s unavailable at once", shard)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	require.Len(t, out.Witness.RestartCounts(), solrPods(), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
}

func (s *solr) status(t *testing.T) error {
	t.Helper()
	out, err := s.bed.Rollcall(t.Context(), "status", "solr", "-n", solrcloud.Namespace, "--wait", "--timeout", "2m")
	t.Log(out)
	return err
}

func (s *solr) agentKilled(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "agent-killed") },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			victim, err := s.untouched(w)
			if err != nil {
				return err
			}
			w.Hurt(victim.UID) // not Ready while its agent starts again
			n, err := s.bed.Kill(victim.UID, "rollcall-agent")
			t.Logf("killed %d agent of %s", n, victim.Name)
			return err
		},
	})
	s.wellBehaved(t, out)
}

// untouched is a Ready pod that has not been restarted yet and is not being deleted.
func (s *solr) untouched(w *witness.Witness) (witness.Pod, error) {
	counts := w.Report().RestartCounts()
	for _, pod := range s.cloud.Pods.Witnessed() {
		if counts[pod.Name] == 0 && pod.Ready {
			return pod, nil
		}
	}
	return witness.Pod{}, errors.New("no pod is left untouched")
}

func (s *solr) solrKilled(t *testing.T) {
	held := false
	// Requests fail while the killed Solr still stands in live_nodes, for as long
	// as its ZooKeeper session: that is the kill, not the rollout.
	out := measure(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "solr-killed") },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			victim, err := s.untouched(w)
			if err != nil {
				return err
			}
			if _, err := s.bed.Kill(victim.UID, "java"); err != nil {
				return err
			}
			t.Log("killed Solr in", victim.Name)
			return s.bed.Eventually(ctx, "a hold with a named reason", time.Minute, func(ctx context.Context) error {
				plan, err := s.bed.Rollcall(ctx, "plan", "solr", "-n", solrcloud.Namespace, "-o", "text")
				if err != nil {
					return err
				}
				if !strings.Contains(plan, "hold") || !strings.Contains(plan, "pod-budget") && !strings.Contains(plan, "shard-budget") && !strings.Contains(plan, "health") {
					return fmt.Errorf("no hold yet:\n%s", plan)
				}
				held = true
				t.Log(plan)
				return nil
			})
		},
	})
	require.True(t, held)
	for pod, n := range out.Witness.RestartCounts() {
		require.Equal(t, 1, n, "restarts of %s", pod)
	}
}

func (s *solr) brokenImage(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.SetImage(ctx, newVersion+"-broken") },
		During: func(ctx context.Context, w *witness.Witness) error {
			err := s.bed.Eventually(ctx, "the rollout to halt", 4*time.Minute, func(ctx context.Context) error {
				plan, err := s.bed.Rollcall(ctx, "plan", "solr", "-n", solrcloud.Namespace, "-o", "text")
				if err != nil {
					return err
				}
				if !strings.Contains(plan, "rollout-halted") {
					return fmt.Errorf("not stopped:\n%s", plan)
				}
				t.Log(plan)
				return nil
			})
			if err != nil {
				return err
			}
			if n := len(w.Report().RestartCounts()); n != 1 {
				return fmt.Errorf("%d pods were taken before the rollout halted", n)
			}
			victim := w.Report().Restarts[0].Pod
			for _, pod := range s.cloud.Pods.All() {
				if pod.Name == victim {
					continue
				}
				text, err := s.bed.Rollcall(ctx, "explain", pod.Name, "-n", solrcloud.Namespace)
				if err != nil {
					return err
				}
				t.Log(text)
				if !strings.Contains(text, "rollout-halted") || !strings.Contains(text, victim) {
					return fmt.Errorf("explain %s does not say why:\n%s", pod.Name, text)
				}
				break
			}
			return s.cloud.SetImage(ctx, newVersion)
		},
	})
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1)
}

func (s *solr) snapshot(t *testing.T) {
	// The two come from one decision or from two with the same verdict; the
	// cluster is at rest, so the plan does not change in between.
	file := filepath.Join(t.TempDir(), "snapshot.json")
	text, err := s.bed.Rollcall(t.Context(), "snapshot", "solr", "-n", solrcloud.Namespace)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	offline, err := s.bed.Rollcall(t.Context(), "plan", "--snapshot", file, "-o", "json")
	require.NoError(t, err)
	live, err := s.bed.Rollcall(t.Context(), "plan", "solr", "-n", solrcloud.Namespace, "-o", "json")
	require.NoError(t, err)
	require.JSONEq(t, live, offline)
}

func (s *solr) grpcurl(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	secret, err := s.bed.Kube.CoreV1().Secrets(testbed.InstallNamespace).Get(ctx, "rollcall-reader", metav1.GetOptions{})
	require.NoError(t, err)
	for key, content := range secret.Data {
		require.NoError(t, os.WriteFile(filepath.Join(dir, key), content, 0o600))
	}
	grpcurl := func(serverName, address string, args ...string) (string, error) {
		all := append([]string{
			"-cacert", filepath.Join(dir, "ca.crt"), "-cert", filepath.Join(dir, "tls.crt"), "-key", filepath.Join(dir, "tls.key"),
			"-servername", serverName,
		}, args[:len(args)-1]...)
		out, err := exec.CommandContext(ctx, s.bed.Program("grpcurl"), append(all, address, args[len(args)-1])...).CombinedOutput()
		return string(out), err
	}
	agent := net.JoinHostPort(s.cloud.Pods.All()[0].Status.PodIP, "7947")
	require.NoError(t, s.bed.Eventually(ctx, "a roster of six", 2*time.Minute, func(context.Context) error {
		out, err := grpcurl("agent.rollcall", agent, "rollcall.v1.AgentService/GetRoster")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		var roster struct {
			Entries []struct {
				Headline struct {
					Pod    string `json:"pod"`
					Member string `json:"member"`
				} `json:"headline"`
			} `json:"entries"`
		}
		if err := json.Unmarshal([]byte(out), &roster); err != nil {
			return err
		}
		live := 0
		for _, e := range roster.Entries {
			if e.Headline.Member == "MEMBERSHIP_LIVE" {
				live++
			}
		}
		if live != solrPods() {
			return fmt.Errorf("%d of %d are live: %s", live, solrPods(), out)
		}
		return nil
	}))
	services, err := grpcurl("agent.rollcall", agent, "list")
	require.NoError(t, err, services)
	require.Contains(t, services, "rollcall.v1.AgentService")
	require.Contains(t, services, "grpc.health.v1.Health")

	leader, err := s.bed.Leader(ctx)
	require.NoError(t, err)
	coordinator := net.JoinHostPort(leader.Status.PodIP, "7950")
	services, err = grpcurl("coordinator.rollcall", coordinator, "list")
	require.NoError(t, err, services)
	require.Contains(t, services, "rollcall.v1.CoordinatorService")
	plan, err := grpcurl("coordinator.rollcall", coordinator, "-d", `{"namespace":"demo","name":"solr"}`, "rollcall.v1.CoordinatorService/GetPlan")
	require.NoError(t, err, plan)
	require.Contains(t, plan, `"budget"`)
	t.Log(plan)

	_, err = grpcurl("agent.rollcall", agent, "-d", `{"kind":"DRAIN_KIND_HANDOFF","claim":"x","apply":true}`, "rollcall.v1.AgentService/Prepare")
	require.Error(t, err, "a reader may not give orders")
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/manifests"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// adopted: a chart that runs without agents. The replicas get theirs one after the
// other; the primary, for which nobody can hand over, is left alone, with a reason,
// until a person opens its pod.
func (s *sqlTest) adopted(t *testing.T) {
	ctx := t.Context()
	s.unaided(t)()
	cluster := s.cluster

	// As most charts are: the strategy names no partition. Then enroll, and the label in the template.
	primary := s.flavor.Name + "-0"
	require.NoError(t, cluster.Edit(ctx, func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	}))
	s.enroll(t, "labelled rollcall.dev/cluster="+s.flavor.Name, "names its partition: 0", "created", "approve "+s.flavor.Name)
	require.NoError(t, s.guarded(ctx), "and not only said to be")
	s.enroll(t, "nothing is to be written")
	require.NoError(t, cluster.Patch(ctx, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, manifests.ClusterLabel, s.flavor.Name)))
	s.approve(t)
	began := time.Now()
	require.NoError(t, s.bed.Eventually(ctx, "the replicas to be adopted", 4*time.Minute, func(ctx context.Context) error {
		for _, pod := range cluster.Pods.All() {
			agent := testbed.HasAgent(pod)
			if agent == (pod.Name == primary) || !testbed.Ready(pod) {
				plan, err := s.plan(ctx)
				return errors.Join(err, fmt.Errorf("%s: agent: %t\n%s", pod.Name, agent, plan))
			}
		}
		return nil
	}))
	t.Logf("the replicas were adopted in %s", time.Since(began).Round(time.Second))
	at, err := cluster.Primary(ctx)
	require.NoError(t, err)
	require.Equal(t, primary, at, "a replica's adoption moves nothing")

	var said string
	require.NoError(t, s.bed.Eventually(ctx, "what a person can do to be said", 2*time.Minute, func(ctx context.Context) error {
		if said, err = s.bed.Rollcall(ctx, "explain", primary, "-n", sqlcluster.Namespace); err == nil && !strings.Contains(said, "which has no agent") {
			err = errors.New(said)
		}
		return err
	}))
	t.Log(said)
	require.NotContains(t, said, string(model.RuleNoLeader))
	uid := cluster.Pod(primary).UID
	require.NoError(t, testbed.Pause(ctx, 10*time.Second))
	require.Equal(t, uid, cluster.Pod(primary).UID, "it is left alone")

	// The way out that was named.
	_, err = s.bed.Kubectl(ctx, "", "label", "pod", primary, "-n", sqlcluster.Namespace, "rollcall.dev/guard=open", "--overwrite")
	require.NoError(t, err)
	_, err = s.bed.Kubectl(ctx, "", "delete", "pod", primary, "-n", sqlcluster.Namespace)
	require.NoError(t, err)
	require.NoError(t, cluster.RolledOut(ctx, rolloutLimit))
	_, err = s.bed.Rollcall(ctx, "status", s.flavor.Name, "-n", sqlcluster.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
}

// enroll puts the database under Rollcall as a person does, and finds all of that in what it says.
func (s *sqlTest) enroll(t *testing.T, says ...string) {
	t.Helper()
	pods := slices.Clone(s.cluster.Pods.All())
	out, err := s.bed.Rollcall(t.Context(), "enroll", s.flavor.Name, "-n", sqlcluster.Namespace)
	require.NoError(t, err)
	t.Log(out)
	for _, text := range says {
		require.Contains(t, out, text)
	}
	for _, pod := range pods {
		require.Equal(t, pod.UID, s.cluster.Pod(pod.Name).UID, "it restarts nothing")
	}
}

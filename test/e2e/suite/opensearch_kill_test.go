package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

const chartsSearchBudget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: charts, namespace: demo}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: opensearch}}}
`

// dataKilled: a node with data that has not been restarted yet dies while
// another one is on its way.
func (s *search) dataKilled(t *testing.T) {
	s.killed(t, "data-killed", func(ctx context.Context, w *witness.Witness) (witness.Pod, error) {
		counts := w.Report().RestartCounts()
		for _, pod := range s.cluster.Pods.Witnessed() {
			if searchcluster.Kind(pod.Name) == searchcluster.Kind(searchcluster.Data+"-0") && counts[pod.Name] == 0 && pod.Ready {
				return pod, nil
			}
		}
		return witness.Pod{}, errors.New("no pod with data is left untouched")
	})
}

// managerKilled: the elected manager dies while nodes with data are restarted.
func (s *search) managerKilled(t *testing.T) {
	s.killed(t, "manager-killed", func(ctx context.Context, w *witness.Witness) (witness.Pod, error) {
		elected := w.State().Elected
		for _, pod := range s.cluster.Pods.Witnessed() {
			if pod.Name == elected {
				return pod, nil
			}
		}
		return witness.Pod{}, fmt.Errorf("there is no pod %q", elected)
	})
}

// killed: after the first restart a node is killed. Requests may fail because
// of that; the rollout waits, says why, and goes on when the node is back.
func (s *search) killed(t *testing.T, change string, choose func(context.Context, *witness.Witness) (witness.Pod, error)) {
	out := measure(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, change) },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			victim, err := choose(ctx, w)
			if err != nil {
				return err
			}
			if _, err := s.bed.Kill(victim.UID, "java"); err != nil {
				return err
			}
			s.bed.Logf("killed OpenSearch in %s", victim.Name)
			return s.bed.Eventually(ctx, "a hold with a named reason", time.Minute, func(ctx context.Context) error {
				plan, err := s.plan(ctx)
				if err != nil {
					return err
				}
				for _, rule := range []string{"pod-budget", "shard-budget", "quorum", "health"} {
					if strings.Contains(plan, "hold") && strings.Contains(plan, rule) {
						t.Log(plan)
						return nil
					}
				}
				return fmt.Errorf("no hold yet:\n%s", plan)
			})
		},
	})
	require.Len(t, out.Witness.RestartCounts(), searchPods(), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
	s.leftAsBefore(t)
}

// killedWhileThrottled: the agent of the pod that is about to go and the
// coordinator that leads die while replicas may not be placed because of that
// pod. In the end they may be again, whether or not somebody had said so before.
func (s *search) killedWhileThrottled(t *testing.T) {
	for i, before := range []any{nil, "all"} {
		s.throttledThenKilled(t, fmt.Sprintf("throttled-%d", i), before)
	}
	require.NoError(t, s.cluster.SetPersistent(t.Context(), searchcluster.Allocation, nil))
	delete(s.settings, searchcluster.Allocation)
}

func (s *search) throttledThenKilled(t *testing.T, change string, before any) {
	ctx := t.Context()
	require.NoError(t, s.cluster.SetPersistent(ctx, searchcluster.Allocation, before))
	var err error
	s.settings, err = s.cluster.Settings(ctx)
	require.NoError(t, err)
	out := roll(t, rehearsal.Rehearsal{
		On: s.cluster,
		Change: func(ctx context.Context) error {
			// A chart's own budget keeps the pod from going once it is drained.
			if err := s.bed.Apply(ctx, chartsSearchBudget); err != nil {
				return err
			}
			return s.cluster.Touch(ctx, change, searchcluster.Data)
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			err := s.killPreparing(ctx, w)
			_, gone := s.bed.Kubectl(context.WithoutCancel(ctx), "", "delete", "pdb", "charts", "-n", searchcluster.Namespace)
			return errors.Join(err, gone)
		},
	})
	s.careful(t, out)
	require.Len(t, out.Witness.RestartCounts(), 4, "every pod with data restarts")
	require.Empty(t, out.Witness.Again(), "once")
	s.leftAsBefore(t)
}

// killPreparing waits for the throttle, and kills who could lift it.
func (s *search) killPreparing(ctx context.Context, w *witness.Witness) error {
	var claimed string
	err := s.bed.Eventually(ctx, "a pod for which replicas are held back", 3*time.Minute, func(ctx context.Context) error {
		settings, err := s.cluster.Settings(ctx)
		if err != nil {
			return err
		}
		if now := settings[searchcluster.Allocation]; now.Persistent != "primaries" {
			return fmt.Errorf("%s is %+v", searchcluster.Allocation, now)
		}
		out, err := s.bed.Kubectl(ctx, "", "get", "dbc", searchcluster.Name, "-n", searchcluster.Namespace, "-o", "jsonpath={.status.claims[*].pod}")
		if claimed = strings.TrimSpace(out); err == nil && claimed == "" {
			return errors.New("nobody is claimed")
		}
		return err
	})
	if err != nil {
		return err
	}
	if n := len(w.Report().Restarts); n > 0 {
		return fmt.Errorf("%d pods have gone already", n)
	}
	for _, pod := range s.cluster.Pods.Witnessed() {
		if pod.Name == claimed {
			w.Hurt(pod.UID) // not Ready while its agent starts again
			if _, err := s.bed.Kill(pod.UID, "rollcall-agent"); err != nil {
				return err
			}
		}
	}
	s.bed.Logf("killed the agent of %s", claimed)
	return killLeader(ctx, s.bed)
}

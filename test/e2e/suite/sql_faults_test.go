package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// killedInSwitchover: once writes are stopped, who drives the switchover is
// killed: the agent of the primary, then in another rollout that of the
// candidates, each time with the coordinator that leads.
func (s *sqlTest) killedInSwitchover(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	for _, whose := range []string{"primary", "replicas"} {
		session, err := s.cluster.Session()
		require.NoError(t, err)
		r := s.touch("killed-" + whose)
		r.During = func(ctx context.Context, w *witness.Witness) error {
			primary, err := s.cluster.Primary(ctx)
			if err != nil {
				return err
			}
			if err := writesStop(ctx, session.Primary, rolloutLimit); err != nil {
				return err
			}
			for _, pod := range s.cluster.Pods.All() {
				if (pod.Name == primary) != (whose == "primary") {
					continue
				}
				w.Hurt(string(pod.UID))
				if _, err := s.bed.Kill(string(pod.UID), "rollcall-agent"); err != nil {
					return err
				}
				s.bed.Logf("killed the agent of %s", pod.Name)
			}
			return killLeader(ctx, s.bed)
		}
		out := s.measureSession(t, session, "Rollcall, coordinator and agent of "+whose+" killed in the switchover", 1, r)
		require.Zero(t, out.Load.Failed, "failed requests: a write is repeated for half a minute")
		s.eachOnce(t, out)
	}
}

// candidatesKilled: both that could take over die after the writes were
// stopped. The primary is opened again, and hands over when they are back.
func (s *sqlTest) candidatesKilled(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	session, err := s.cluster.Session()
	require.NoError(t, err)
	r := s.touch("candidates-killed")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		primary, err := s.cluster.Primary(ctx)
		if err != nil {
			return err
		}
		if err := writesStop(ctx, session.Primary, rolloutLimit); err != nil {
			return err
		}
		for _, pod := range s.cluster.Pods.All() {
			if pod.Name == primary {
				continue
			}
			w.Hurt(string(pod.UID))
			if err := s.cluster.Kill(pod.Name); err != nil {
				return err
			}
		}
		return nil
	}
	s.eachOnce(t, s.measureSession(t, session, "Rollcall, candidates killed after the write stop", 1, r))
}

// longTransaction: an application's transaction is open on the primary for
// longer than a switchover may take. It is waited for, and it commits.
func (s *sqlTest) longTransaction(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	id := time.Now().Unix() // below the ids of the load
	r := s.touch("long-transaction")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		hold, err := s.cluster.Hold(ctx, id)
		if err != nil {
			return err
		}
		if err := restarted(ctx, s.bed, w, 2); err != nil {
			return errors.Join(err, hold.Commit(ctx))
		}
		// Long enough for somebody who would end it to end it.
		if err := testbed.Pause(ctx, 50*time.Second); err != nil {
			return errors.Join(err, hold.Commit(ctx))
		}
		plan, err := s.plan(ctx)
		t.Log(plan, err)
		text, err := s.bed.Rollcall(ctx, "status", s.flavor.Name, "-n", sqlcluster.Namespace)
		t.Log(text, err)
		if n := len(w.Report().Restarts); n != 2 {
			err = errors.Join(err, fmt.Errorf("%d pods have gone, want the replicas", n))
		}
		return errors.Join(err, hold.Commit(ctx))
	}
	out := s.measure(t, "Rollcall, a transaction of a minute open", 1, r)
	s.wellBehaved(t, out)
	for _, pod := range s.cluster.Pods.All() {
		n, err := s.cluster.Ask(t.Context(), pod.Name, fmt.Sprintf("SELECT COUNT(*) FROM app.acked WHERE id = %d", id))
		require.NoError(t, err)
		require.Equal(t, "1", n, "the transaction was acknowledged, and %s has it", pod.Name)
	}
}

// replicas are the pods that do not have the primary.
func (s *sqlTest) replicas(ctx context.Context) (primary string, replicas []string, err error) {
	primary, err = s.cluster.Primary(ctx)
	for _, pod := range s.cluster.Pods.All() {
		if pod.Name != primary {
			replicas = append(replicas, pod.Name)
		}
	}
	return primary, replicas, err
}

// replicaStopped: somebody has stopped a replica's applying thread. No other pod
// goes while it is so, and the plan says why.
func (s *sqlTest) replicaStopped(t *testing.T) {
	s.heldBy(t, "a replica stopped", "replica-stopped",
		func(ctx context.Context, pod string) error {
			return s.cluster.Exec(ctx, pod, "STOP REPLICA SQL_THREAD")
		},
		func(ctx context.Context, pod string) error { return s.cluster.Exec(ctx, pod, "START REPLICA") })
}

// replicaLags: a replica is a minute behind.
func (s *sqlTest) replicaLags(t *testing.T) {
	s.heldBy(t, "a replica lags", "replica-lags",
		func(ctx context.Context, pod string) error { return s.cluster.Delay(ctx, pod, time.Minute) },
		func(ctx context.Context, pod string) error { return s.cluster.Delay(ctx, pod, 0) })
}

// heldBy: something is wrong with one replica. At most that one goes before it is
// put right, and it never becomes the primary meanwhile.
func (s *sqlTest) heldBy(t *testing.T, way, change string, wrong, right func(ctx context.Context, pod string) error) {
	t.Helper()
	s.strategy(t, "null", sqlcluster.OnDelete)
	primary, replicas, err := s.replicas(t.Context())
	require.NoError(t, err)
	victim := replicas[0]
	session, err := s.cluster.Session()
	require.NoError(t, err)
	out := s.measureSession(t, session, "Rollcall, "+way, 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error {
			if err := wrong(ctx, victim); err != nil {
				return err
			}
			// It falls behind by more than is allowed, and its report gets around, before
			// the change does.
			if err := testbed.Pause(ctx, 20*time.Second); err != nil {
				return err
			}
			return s.cluster.Touch(ctx, change)
		},
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := testbed.Pause(ctx, 50*time.Second); err != nil {
				return errors.Join(err, right(context.WithoutCancel(ctx), victim))
			}
			plan, err := s.plan(ctx)
			t.Log(plan, err)
			for _, x := range w.Report().Restarts {
				if x.Pod != victim {
					err = errors.Join(err, fmt.Errorf("%s went while %s was behind", x.Pod, victim))
				}
			}
			if now, e := s.cluster.Primary(ctx); now != primary {
				err = errors.Join(err, e, fmt.Errorf("%s is the primary", now))
			}
			// A pod that came back is as its server's configuration says; a delay stays.
			return errors.Join(err, right(ctx, victim))
		},
	})
	require.Zero(t, out.Load.Failed, "failed requests")
	s.eachOnce(t, out)
}

// errant: a replica has a transaction that nobody else has. It is never made the
// primary, before its restart or after it.
func (s *sqlTest) errant(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	_, replicas, err := s.replicas(t.Context())
	require.NoError(t, err)
	victim := replicas[len(replicas)-1]
	// Before the witness looks: the server is open for the moment.
	require.NoError(t, s.cluster.Errs(t.Context(), victim))
	require.NoError(t, testbed.Pause(t.Context(), 10*time.Second))
	out := s.measure(t, "Rollcall, an errant transaction", 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "errant") },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := testbed.Pause(ctx, 90*time.Second); err != nil {
				return err
			}
			plan, err := s.plan(ctx)
			t.Log(plan, err)
			if now, e := s.cluster.Primary(ctx); e != nil || now == victim {
				err = errors.Join(err, e, fmt.Errorf("%s is the primary", now))
			}
			return errors.Join(err, s.cluster.Heal(ctx, victim))
		},
	})
	s.eachOnce(t, out)
}

// primaryHangs: the primary's process stands still for half a minute in
// mid-rollout. Nobody takes over from who may wake up any time, and the rollout
// goes on when it does.
func (s *sqlTest) primaryHangs(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	r := s.touch("primary-hangs")
	r.During = func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, s.bed, w, 1); err != nil {
			return err
		}
		primary, err := s.cluster.Primary(ctx)
		if err != nil {
			return err
		}
		uid := string(s.cluster.Pod(primary).UID)
		w.Hurt(uid)
		if _, err := s.bed.Signal(uid, s.flavor.Process, syscall.SIGSTOP); err != nil {
			return err
		}
		s.bed.Logf("%s of %s stands still", s.flavor.Process, primary)
		err = testbed.Pause(ctx, 30*time.Second)
		plan, perr := s.plan(ctx)
		t.Log(plan, perr)
		if x := slices.ContainsFunc(w.Report().Restarts, func(x witness.Restart) bool { return x.Pod == primary }); x {
			err = errors.Join(err, fmt.Errorf("%s was taken while it hung", primary))
		}
		_, awake := s.bed.Signal(uid, s.flavor.Process, syscall.SIGCONT)
		return errors.Join(err, awake)
	}
	s.eachOnce(t, s.measure(t, theHang, 1, r))
}

// primaryDeleted: somebody deletes the primary's pod, and no guard keeps him
// from it: its stop hook hands over.
func (s *sqlTest) primaryDeleted(t *testing.T) {
	s.goneOutside(t, "kubectl delete pod of the primary", func(ctx context.Context, pod string) error {
		_, err := s.bed.Kubectl(ctx, "", "delete", "pod", pod, "-n", sqlcluster.Namespace, "--wait=false")
		return err
	})
}

// primaryEvicted is the same by an eviction, as a drain of its node does it.
func (s *sqlTest) primaryEvicted(t *testing.T) {
	s.goneOutside(t, "eviction of the primary", func(ctx context.Context, pod string) error {
		return s.bed.Kube.PolicyV1().Evictions(sqlcluster.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: sqlcluster.Namespace}})
	})
}

func (s *sqlTest) goneOutside(t *testing.T, way string, goes func(ctx context.Context, pod string) error) {
	t.Helper()
	s.strategy(t, "null", sqlcluster.OnDelete)
	ctx := t.Context()
	require.NoError(t, s.unguarded(ctx))
	defer func() { require.NoError(t, s.spec(context.WithoutCancel(ctx), `{"guard":"Enforce"}`)) }()
	primary, err := s.cluster.Primary(ctx)
	require.NoError(t, err)
	before := s.cluster.Pod(primary).UID
	out := s.measure(t, way, 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return goes(ctx, primary) },
		Done: func(ctx context.Context) error {
			if err := s.bed.Eventually(ctx, primary+" to be another", 4*time.Minute, func(context.Context) error {
				if pod := s.cluster.Pod(primary); pod == nil || pod.UID == before {
					return errors.New("it is still there, or not yet")
				}
				return nil
			}); err != nil {
				return err
			}
			return s.cluster.RolledOut(ctx, rolloutLimit)
		},
	})
	require.Equal(t, 1, out.Primaries.Switchovers(), "it was handed over, and not waited for")
	require.Zero(t, out.Load.Failed, "failed requests")
}

func (s *sqlTest) unguarded(ctx context.Context) error {
	if err := s.spec(ctx, `{"guard":"Off"}`); err != nil {
		return err
	}
	return s.bed.Eventually(ctx, "guards to be off", time.Minute, func(ctx context.Context) error {
		out, err := s.bed.Kubectl(ctx, "", "get", "pods,pdb", "-n", sqlcluster.Namespace, "-l", "rollcall.dev/guard", "-o", "name")
		if err == nil && out != "" {
			return fmt.Errorf("guarded: %s", out)
		}
		return err
	})
}

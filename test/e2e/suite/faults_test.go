package suite

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// failover is how long a crashed leader may be missing before the first
// decision of its successor.
const failover = 26 * time.Second

// leaderKilledTenTimes: as soon as somebody leads, he is killed, ten times in
// one rollout. Nothing goes twice, and each kill costs no more than a failover
// beside what an undisturbed rollout takes, which is rolled first.
func (s *solr) leaderKilledTenTimes(t *testing.T) {
	undisturbed := roll(t, rehearsal.Rehearsal{On: s.cloud, Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "undisturbed") }})
	const kills = 10
	killed := 0
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "killed-ten-times") },
		During: func(ctx context.Context, w *witness.Witness) error {
			last := ""
			for killed < kills && len(w.Report().Restarts) < 6 {
				container, err := s.leaderContainer(ctx)
				if err != nil || container == last {
					if err := testbed.Pause(ctx, time.Second); err != nil {
						return err
					}
					continue
				}
				// It has led for some seconds, so it may be in the middle of anything.
				if err := testbed.Pause(ctx, time.Duration(1+killed)*time.Second); err != nil {
					return err
				}
				leader, err := s.bed.Leader(ctx)
				if err != nil {
					continue
				}
				if _, err := s.bed.Kill(string(leader.UID), "rollcall-coordinator"); err != nil {
					return err
				}
				// Its pod goes as well: a kubelet lets a container that was killed a few
				// times wait for minutes, and nobody would be there to kill.
				now := int64(0)
				if err := s.bed.Kube.CoreV1().Pods(leader.Namespace).Delete(ctx, leader.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
					return err
				}
				last = container
				killed++
				s.bed.Logf("kill %d of %d: %s", killed, kills, leader.Name)
			}
			return nil
		},
	})
	s.wellBehaved(t, out)
	t.Logf("%d leaders killed: %s, undisturbed %s", killed, out.Took.Round(time.Second), undisturbed.Took.Round(time.Second))
	require.Equal(t, kills, killed)
	require.LessOrEqual(t, out.Took, undisturbed.Took+kills*failover)
}

// leaderContainer is the container that leads: after a kill the same pod may
// lead again in another one.
func (s *solr) leaderContainer(ctx context.Context) (string, error) {
	leader, err := s.bed.Leader(ctx)
	if err != nil {
		return "", err
	}
	if c := leader.Status.ContainerStatuses; len(c) > 0 && c[0].State.Running != nil {
		return c[0].ContainerID, nil
	}
	return "", errors.New("the leader's container does not run")
}

// leaderFrozen: the leader stands still until another has taken over, and then
// goes on in the belief that it still leads, three times in one rollout.
func (s *solr) leaderFrozen(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "leader-frozen") },
		During: func(ctx context.Context, w *witness.Witness) error {
			for n := range 3 {
				if err := restarted(ctx, s.bed, w, 1+n); err != nil {
					return err
				}
				if err := s.freezeLeader(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	})
	s.wellBehaved(t, out)
}

func (s *solr) freezeLeader(ctx context.Context) error {
	frozen, err := s.bed.Leader(ctx)
	if err != nil {
		return err
	}
	if _, err := s.bed.Signal(string(frozen.UID), "rollcall-coordinator", syscall.SIGSTOP); err != nil {
		return err
	}
	err = s.bed.Eventually(ctx, "another leader", 2*time.Minute, func(ctx context.Context) error {
		if now, err := s.bed.Leader(ctx); err != nil || now.Name == frozen.Name {
			return errors.Join(fmt.Errorf("%s still holds the Lease", frozen.Name), err)
		}
		return nil
	})
	// Its successor is in the middle of something when it wakes up.
	err = errors.Join(err, testbed.Pause(ctx, 5*time.Second))
	_, awake := s.bed.Signal(string(frozen.UID), "rollcall-coordinator", syscall.SIGCONT)
	return errors.Join(err, awake)
}

// apiServerDown: nobody can ask the API server anything for half a minute in
// the middle of a rollout.
func (s *solr) apiServerDown(t *testing.T) {
	out := roll(t, rehearsal.Rehearsal{
		On:     s.cloud,
		Change: func(ctx context.Context) error { return s.cloud.Touch(ctx, "api-server-down") },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			if err := s.bed.StopAPIServer(); err != nil {
				return err
			}
			s.bed.Logf("the API server is down")
			err := testbed.Pause(ctx, 30*time.Second)
			// A scheduler may end itself for what it sees then, and nobody else here
			// starts it again.
			for range 8 {
				err = errors.Join(err, s.bed.Repair(context.WithoutCancel(ctx)), testbed.Pause(ctx, 15*time.Second))
			}
			return err
		},
	})
	s.wellBehaved(t, out)
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/observer"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/searchcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// managerPaused: the elected manager stands still in the middle of a rollout, until
// another has been elected, and for some seconds more. Until then no node is told
// anything, and when it goes on it believes that it is elected.
func (s *search) managerPaused(t *testing.T) {
	startsWithin(t, s.bed, searchcluster.Name, startSeconds)
	o := observe(t, s.bed, s.cluster.Pods, observer.OpenSearch{Pods: s.cluster.Pods.Addresses, Managers: searchcluster.Managers + "-"}.Read)
	defer o.judged(t)
	out := measure(t, rehearsal.Rehearsal{
		On:     s.cluster,
		Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, "manager-paused") },
		During: func(ctx context.Context, w *witness.Witness) error {
			if err := restarted(ctx, s.bed, w, 1); err != nil {
				return err
			}
			elected := w.State().Elected
			for _, pod := range s.cluster.Pods.Witnessed() {
				if pod.Name == elected {
					return s.pauseManager(ctx, w, pod)
				}
			}
			return fmt.Errorf("there is no pod %q", elected)
		},
	})
	require.Len(t, out.Witness.RestartCounts(), searchPods(), "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
	s.leftAsBefore(t)
}

func (s *search) pauseManager(ctx context.Context, w *witness.Witness, pod witness.Pod) error {
	began := time.Now()
	w.Hurt(pod.UID) // it may be found not Ready
	if _, err := s.bed.Signal(pod.UID, "java", syscall.SIGSTOP); err != nil {
		return err
	}
	s.bed.Logf("%s, which is elected, stands still", pod.Name)
	err := s.bed.Eventually(ctx, "another manager", 3*time.Minute, func(ctx context.Context) error {
		for _, other := range s.cluster.Pods.Witnessed() {
			if other.Name == pod.Name || !other.Ready {
				continue
			}
			asking, done := context.WithTimeout(ctx, 2*time.Second)
			state, err := witness.ReadOpenSearch(asking, other.BaseURL)
			done()
			if err == nil && state.Elected != "" && state.Elected != pod.Name {
				s.bed.Logf("%s is elected after %s", state.Elected, time.Since(began).Round(time.Second))
				return nil
			}
		}
		return errors.New("nobody else is elected")
	})
	err = errors.Join(err, testbed.Pause(ctx, 5*time.Second))
	_, awake := s.bed.Signal(pod.UID, "java", syscall.SIGCONT)
	s.bed.Logf("%s goes on after %s", pod.Name, time.Since(began).Round(time.Second))
	return errors.Join(err, awake)
}

package stophook

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// lead has the database lead again, whatever was handed over.
func (s *stopping) lead() {
	s.becomes(engines.MembershipNotLive)
	time.Sleep(3 * time.Second)
	s.becomes(engines.MembershipLive)
	time.Sleep(3 * time.Second)
}

// applied counts how often something was handed over.
func (s *stopping) applied() (n int) {
	for _, what := range s.noted() {
		if what == "apply stop-uid Handoff" {
			n++
		}
	}
	return n
}

// TestHookIsCarriedOutOncePerCoolDown checks that a caller with a stolen token makes the pod hand
// over once, however often and from wherever it calls, for as long as the container lives on.
func TestHookIsCarriedOutOncePerCoolDown(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		began := time.Now()
		require.Equal(t, CallTaken, s.Call(t.Context(), FromElsewhere).Result)
		for time.Since(began) < s.coolDown()-time.Second {
			said := s.Call(t.Context(), FromElsewhere)
			require.Equal(t, CallHeld, said.Result)
			require.Contains(t, said.Line, "nothing done again: a stop was carried out")
			time.Sleep(20 * time.Second)
		}
		require.Equal(t, 1, s.applied())
		require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase(), "held calls say of no pod that it stops")
		time.Sleep(21 * time.Second)
		require.Equal(t, CallTaken, s.Call(t.Context(), FromElsewhere).Result)
		require.Equal(t, 2, s.applied())
	})
}

// TestStrangersUseUpNoCallOfTheKubelet checks that calls from elsewhere do not hold a call from
// where the kubelet is known to call; the reverse holds them.
func TestStrangersUseUpNoCallOfTheKubelet(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Call(t.Context(), FromElsewhere)
		require.Equal(t, CallTaken, s.Call(t.Context(), fromGateway).Result)
		require.Equal(t, 2, s.applied())
		for _, from := range []string{FromNode, fromGateway, fromPod, fromNamed, FromElsewhere} {
			require.Equal(t, CallHeld, s.Call(t.Context(), from).Result, from)
		}
		require.Equal(t, 2, s.applied())
	})
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Call(t.Context(), FromNode)
		require.Equal(t, CallHeld, s.Call(t.Context(), FromElsewhere).Result)
		require.Equal(t, 1, s.applied())
	})
}

// TestUnavailableDuringTheHandoff checks that a database that is unavailable for a moment because
// it hands over does not count as stopped.
func TestUnavailableDuringTheHandoff(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			time.Sleep(10 * time.Second)
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		time.AfterFunc(3*time.Second, func() { s.becomes(engines.MembershipNotLive) })
		time.AfterFunc(7*time.Second, func() { s.becomes(engines.MembershipLive) })
		require.Equal(t, CallTaken, s.Call(t.Context(), FromElsewhere).Result)
		time.Sleep(5 * time.Second)
		require.Equal(t, CallHeld, s.Call(t.Context(), FromElsewhere).Result)
	})
}

// TestEachStopOfTheContainerIsCarriedOut checks that a kubelet whose probe fails again and again
// stops the container each time, and each time it was unavailable in between.
func TestEachStopOfTheContainerIsCarriedOut(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		for n := range 3 {
			for _, from := range []string{FromElsewhere, FromNode} {
				require.Equal(t, CallTaken, s.Call(t.Context(), from).Result)
				time.Sleep(2 * time.Second)
				s.lead()
			}
			require.Equal(t, 2*n+2, s.applied())
		}
	})
}

// TestWhatWasNotCarriedOutHoldsNoStop checks that a hook that did nothing, or whose drain was
// refused, is no reason to refuse the next one.
func TestWhatWasNotCarriedOutHoldsNoStop(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.becomes(engines.MembershipNotLive)
		time.Sleep(10 * time.Second)
		require.Contains(t, s.Stop(t.Context()), "nothing done: ")
		s.becomes(engines.MembershipLive)
		time.Sleep(3 * time.Second)

		_, err := s.Drainer.Drain(handOff("claim-1"))
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, s.Stop(t.Context()), "drained")
		_, err = s.Drainer.Restore(t.Context(), "claim-1", 1, nil)
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.Contains(t, s.Stop(t.Context()), "Handoff done")
	})
}

// TestRefusedDrainHoldsNoStop checks that the next stop asks again for a drain that the database
// refused.
func TestRefusedDrainHoldsNoStop(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		done := s.engine.OnDrain
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRefused, Detail: "no other copy"}, nil
		}
		require.Contains(t, s.Call(t.Context(), FromElsewhere).Line, "no other copy")
		s.engine.OnDrain = done
		time.Sleep(drain.RetryRefused)
		require.Equal(t, CallTaken, s.Call(t.Context(), FromElsewhere).Result)
		require.Equal(t, 1, s.applied())
	})
}

// TestCoolDownOutlivesTheAgent checks that the cool-down counts by the time since boot, which
// nobody sets, and ends with a reboot. The next agent continues a stop whose agent ended.
func TestCoolDownOutlivesTheAgent(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Call(t.Context(), FromElsewhere)
		for range 3 {
			s.end()
			s.start()
			time.Sleep(time.Minute)
			require.Equal(t, CallHeld, s.Call(t.Context(), FromElsewhere).Result)
		}
		require.Equal(t, 1, s.applied())
		s.end()
		s.machine, s.booted = "second", time.Now()
		s.start()
		time.Sleep(2 * time.Second)
		require.Equal(t, CallTaken, s.Call(t.Context(), FromElsewhere).Result)
	})
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Call(t.Context(), FromNode)
		s.end()
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "calls.json"), []byte(`{"podUID":"uid","known":{"beg`), 0o600))
		s.start()
		time.Sleep(2 * time.Second)
		require.Equal(t, CallTaken, s.Call(t.Context(), FromNode).Result, "what is not to be read holds nobody")
		s.end()
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, "calls.json"), []byte(`{"podUID":"another","known":{"began":{"boot":"first","since":3600000000000},"ended":true}}`), 0o600))
		s.start()
		time.Sleep(2 * time.Second)
		require.Equal(t, CallTaken, s.Call(t.Context(), FromNode).Result, "nor does another pod")
	})
}

// TestStopIsGoneOnWithAfterARestart checks that the next agent continues a real stop if the agent
// ends in the middle of it and the kubelet, which has restarted too, calls again.
func TestStopIsGoneOnWithAfterARestart(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		began := time.Now()
		s.engine.OnDrain = func(ctx context.Context, _ engines.Order, _ []byte) (engines.Progress, error) {
			s.note("apply stop-uid Handoff")
			return engines.Progress{State: engines.ProgressRunning}, nil
		}
		caller, goes := context.WithCancel(t.Context())
		said := make(chan Answer, 1)
		go func() { said <- s.Call(caller, FromNode) }()
		time.Sleep(5 * time.Second)
		goes()
		require.Equal(t, Answer{CallTaken, "still working"}, <-said)
		s.end()
		s.start()
		time.Sleep(2 * time.Second)
		before := s.applied()
		require.Equal(t, CallTaken, s.Call(t.Context(), FromNode).Result)
		require.Greater(t, s.applied(), before)
		// That was all of its time.
		require.Equal(t, CallHeld, s.Call(t.Context(), FromNode).Result)
		require.Less(t, time.Since(began), 2*s.Grace)
	})
}

// TestCallerThatGoesAwayUsesUpTheStop checks that the work continues to its end if the caller goes
// away, and that a further call joins it or begins nothing.
func TestCallerThatGoesAwayUsesUpTheStop(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			s.note("apply stop-uid Handoff")
			time.Sleep(20 * time.Second)
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		for range 5 {
			caller, goes := context.WithTimeout(t.Context(), time.Second)
			require.Equal(t, "still working", s.Call(caller, FromElsewhere).Line)
			goes()
		}
		joined := s.Call(t.Context(), FromNode)
		require.Equal(t, CallJoined, joined.Result)
		require.Contains(t, joined.Line, "Handoff done")
		for range 5 {
			caller, goes := context.WithTimeout(t.Context(), time.Second)
			require.Equal(t, CallHeld, s.Call(caller, FromElsewhere).Result)
			goes()
		}
		require.Equal(t, 1, s.applied())
	})
}

func TestCoolDownIsLongerThanAnyStop(t *testing.T) {
	for _, grace := range []time.Duration{config.DefaultGrace, 2 * time.Minute, time.Hour} {
		s := &Hook{Options: Options{Grace: grace}}
		require.GreaterOrEqual(t, s.coolDown(), leastCoolDown)
		require.GreaterOrEqual(t, s.coolDown(), 2*grace)
	}
}

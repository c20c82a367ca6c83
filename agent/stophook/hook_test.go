package stophook

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestHookHandsOff(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		require.Contains(t, s.Stop(t.Context()), "Handoff done in 0.0 s")
		require.Equal(t, []string{"apply stop-uid Handoff"}, s.noted())
		require.Equal(t, rollcallv1.Phase_PHASE_STOPPING, s.phase())
	})
}

// TestHookLetsServicesFollow checks that a server which has handed over the role of primary goes on
// for a moment, because Services still lead to it, and one that restarts in place does not.
func TestHookLetsServicesFollow(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []string
		least, most   time.Duration
	}{
		"it has handed over":     {[]string{"primary"}, []string{"replica"}, servicesFollow, servicesFollow},
		"it restarts in place":   {[]string{"primary"}, []string{"primary"}, 0, time.Second + servicesFollow/20},
		"it was a replica":       {[]string{"replica"}, []string{"replica"}, 0, 0},
		"its grace is over soon": {[]string{"primary"}, []string{"replica"}, time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			stopTest(t, func(t *testing.T, s *stopping) {
				if c.most == time.Second && c.least == c.most {
					s.file.TimeoutSeconds = 1
				}
				s.mu.Lock()
				s.look = func(context.Context) (engines.Observation, error) {
					roles := c.before
					s.mu.Lock()
					defer s.mu.Unlock()
					if len(s.log) > 0 {
						roles = c.after
					}
					return engines.Observation{Node: "n", Member: engines.MembershipLive, Roles: roles}, nil
				}
				s.mu.Unlock()
				time.Sleep(2500 * time.Millisecond)
				start := time.Now()
				require.Contains(t, s.Stop(t.Context()), "Handoff done in 0.0 s")
				require.GreaterOrEqual(t, time.Since(start), c.least)
				require.LessOrEqual(t, time.Since(start), c.most)
			})
		})
	}
}

func TestHookEvacuatesWhereDataWouldBeLost(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.file.Evacuate = true
		require.Contains(t, s.Stop(t.Context()), "Evacuate done")
		require.Equal(t, []string{"apply stop-uid Handoff", "apply stop-uid Evacuate"}, s.noted())

		// Both are undone, the last first, once the database is back.
		s.becomes(engines.MembershipNotLive)
		time.Sleep(5 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"restore undo stop-uid Evacuate", "restore undo stop-uid Handoff"}, s.noted()[2:])
	})
}

func TestHookOfADrainedPodDoesNothing(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		_, err := s.Drainer.Drain(handOff("claim-1"))
		require.NoError(t, err)
		synctest.Wait()
		start := time.Now()
		require.Equal(t, "drained under claim claim-1", s.Stop(t.Context()))
		require.Zero(t, time.Since(start))
		require.Equal(t, []string{"apply claim-1 Handoff"}, s.noted())

		// What a claim did is not the agent's to undo.
		s.becomes(engines.MembershipNotLive)
		time.Sleep(5 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(10 * time.Minute)
		require.Equal(t, []string{"apply claim-1 Handoff"}, s.noted())
	})
}

func TestHookIsShortWhenTheDatabaseDoesNotAnswer(t *testing.T) {
	for name, observe := range map[string]func(context.Context) (engines.Observation, error){
		"hangs": func(ctx context.Context) (engines.Observation, error) {
			<-ctx.Done()
			return engines.Observation{}, ctx.Err()
		},
		"is held up by a look that hangs": func(context.Context) (engines.Observation, error) {
			time.Sleep(time.Minute)
			return engines.Observation{}, nil
		},
		"is unavailable": func(context.Context) (engines.Observation, error) {
			return engines.Observation{Member: engines.MembershipNotLive}, nil
		},
		"is unknown": func(context.Context) (engines.Observation, error) { return engines.Observation{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			stopTest(t, func(t *testing.T, s *stopping) {
				s.mu.Lock()
				s.look = observe
				s.mu.Unlock()
				time.Sleep(2 * recentLook)
				start := time.Now()
				require.Contains(t, s.Stop(t.Context()), "nothing done")
				require.LessOrEqual(t, time.Since(start), answerTimeout)
				require.Empty(t, s.noted())
			})
		})
	}
}

func TestHookEndsWithinTheGracePeriod(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRunning, Detail: "3 of 5 moved"}, nil
		}
		start := time.Now()
		line := s.Stop(t.Context())
		require.Contains(t, line, "3 of 5 moved")
		require.Equal(t, 45*time.Second, time.Since(start))

		s.file.TimeoutSeconds = 10
		time.Sleep(s.coolDown())
		start = time.Now()
		s.Stop(t.Context())
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

// TestHookEndsWithoutOtherMembers checks that the hook ends if all pods are deleted at once, since
// the last one cannot hand over.
func TestHookEndsWithoutOtherMembers(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRunning, Detail: "waiting for another leader"}, nil
		}
		time.AfterFunc(5*time.Second, func() { s.becomes(engines.MembershipNotLive) })
		start := time.Now()
		require.Contains(t, s.Stop(t.Context()), "nobody to hand over to")
		require.WithinDuration(t, start.Add(5*time.Second+notMemberFor), time.Now(), 2*time.Second)

		s.becomes(engines.MembershipLive)
		s.file.Evacuate = true
		time.Sleep(2 * time.Second)
		time.AfterFunc(5*time.Second, func() { s.becomes(engines.MembershipNotLive) })
		start = time.Now()
		s.Stop(t.Context())
		require.Equal(t, 45*time.Second, time.Since(start), "data would be lost: others may come back")

		s.becomes(engines.MembershipLive)
		s.file.Evacuate = false
		time.Sleep(s.coolDown())
		time.AfterFunc(5*time.Second, func() { s.becomes(engines.MembershipNotLive) })
		time.AfterFunc(10*time.Second, func() { s.becomes(engines.MembershipLive) })
		require.Contains(t, s.Stop(t.Context()), "waiting for another leader", "an election is waited for")
	})
}

func TestHookEndsWhenAllAreStopped(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			return engines.Progress{State: engines.ProgressRunning, Detail: "waiting for another leader"}, nil
		}
		var left, back, unknown atomic.Bool
		s.Peers = func() []engines.Peer {
			if unknown.Load() {
				return nil
			}
			return []engines.Peer{
				{Pod: "b", Alive: !left.Load() || back.Load(), Leaving: left.Load() && !back.Load()},
				{Pod: "c", Alive: true, Leaving: true},
			}
		}
		time.AfterFunc(2*time.Second, func() { left.Store(true) })
		start := time.Now()
		require.Contains(t, s.Stop(t.Context()), "all other pods are being stopped or gone")
		require.WithinDuration(t, start.Add(2*time.Second+othersLeavingFor), time.Now(), 3*time.Second)

		time.AfterFunc(20*time.Second, func() { back.Store(true) })
		require.Contains(t, s.Stop(t.Context()), "waiting for another leader", "one that comes back is waited for")

		back.Store(false)
		s.file.Evacuate = true
		time.Sleep(s.coolDown())
		start = time.Now()
		s.Stop(t.Context())
		require.Equal(t, 45*time.Second, time.Since(start), "data would be lost")

		s.file.Evacuate = false
		unknown.Store(true)
		time.Sleep(s.coolDown())
		require.Contains(t, s.Stop(t.Context()), "waiting for another leader", "nothing is known of others")
	})
}

func TestTwoCallsShareOneRun(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.engine.OnDrain = func(context.Context, engines.Order, []byte) (engines.Progress, error) {
			s.note("apply")
			time.Sleep(5 * time.Second)
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		var tasks sync.WaitGroup
		for range 3 {
			tasks.Go(func() { require.Contains(t, s.Stop(t.Context()), "done") })
		}
		tasks.Wait()
		require.Equal(t, []string{"apply"}, s.noted())
	})
}

func TestComesBackInTheSamePod(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Stop(t.Context())
		time.Sleep(time.Minute) // still live: it takes its time to stop
		require.Len(t, s.noted(), 1)
		s.becomes(engines.MembershipNotLive)
		time.Sleep(time.Minute)
		require.Len(t, s.noted(), 1, "not before it is live again")
		s.becomes(engines.MembershipLive)
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"apply stop-uid Handoff", "restore undo stop-uid Handoff"}, s.noted())
		require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase())
		require.Equal(t, rollcallv1.Drain_DRAIN_NONE, s.drainState())
		_, mine, err := s.Store.LoadStop()
		require.NoError(t, err)
		require.False(t, mine)
	})
}

func TestNeverStoppedAfterAll(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Stop(t.Context())
		time.Sleep(s.Grace)
		require.Len(t, s.noted(), 1)
		time.Sleep(stillHere + 5*time.Second)
		require.Len(t, s.noted(), 2)
		require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase())
	})
}

// A claim that comes after the hook decides when anything is undone.
func TestClaimTakesOver(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Stop(t.Context())
		words, err := s.Drainer.Drain(handOff("c"))
		require.NoError(t, err)
		require.Empty(t, words)
		s.becomes(engines.MembershipNotLive)
		time.Sleep(5 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(5 * time.Minute)
		require.Len(t, s.noted(), 2, "nothing is undone while the claim is open")
		_, err = s.Drainer.Restore(t.Context(), "c", 1, nil)
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"restore undo", "restore undo stop-uid Handoff"}, s.noted()[2:])
	})
}

// The agent is killed while the database is unavailable; the next one of the pod knows.
func TestRestartedAgentUndoesTheHook(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		s.Stop(t.Context())
		s.end()
		s.becomes(engines.MembershipNotLive)
		s.start()
		require.Equal(t, rollcallv1.Phase_PHASE_STOPPING, s.phase())
		time.Sleep(5 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"restore undo stop-uid Handoff"}, s.noted()[1:])
		require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase())
	})
}

// TestHookIsUndoneWhateverTheClockDid checks that the hook's work is undone as soon as usual if the
// node's clock is set before the agent restarts.
func TestHookIsUndoneWhateverTheClockDid(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		stopTest(t, func(t *testing.T, s *stopping) {
			s.Stop(t.Context())
			s.end()
			r, mine, err := s.Hook.Store.LoadStop()
			require.NoError(t, err)
			require.True(t, mine)
			r.Started = r.Started.Add(-step) // as the clock of now would have had it
			require.NoError(t, s.Hook.Store.SaveStop(r))
			s.start()
			time.Sleep(5 * time.Second)
			require.Len(t, s.noted(), 1, "it may be stopped yet")
			require.Equal(t, rollcallv1.Phase_PHASE_STOPPING, s.phase())
			s.becomes(engines.MembershipNotLive)
			time.Sleep(5 * time.Second)
			s.becomes(engines.MembershipLive)
			time.Sleep(5 * time.Minute)
			require.Equal(t, []string{"restore undo stop-uid Handoff"}, s.noted()[1:])
			require.Equal(t, rollcallv1.Phase_PHASE_WATCHING, s.phase())
		})
	}
}

func TestOnlyTheFirstAgentOfAPodSweeps(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStopping(t, dir)
		s.becomes(engines.MembershipNotLive)
		s.start()
		time.Sleep(5 * time.Second)
		require.Empty(t, s.noted(), "not before the database is live")
		s.becomes(engines.MembershipLive)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"sweep"}, s.noted())
		s.end()
		s.start()
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"sweep"}, s.noted())
		s.end()
	})
	synctest.Test(t, func(t *testing.T) {
		s := newStopping(t, "") // nothing is known: nothing is swept
		s.start()
		time.Sleep(5 * time.Second)
		require.Empty(t, s.noted())
		s.end()
	})
}

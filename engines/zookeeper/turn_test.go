package zookeeper

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// slowServer answers after a while.
type slowServer struct {
	*fakeServer
	delay func() time.Duration
}

// threeAgents are those of an ensemble of three, whose servers answer after a while.
func threeAgents(delay func() time.Duration) *enginetest.Wired[*Engine] {
	c := &cluster{members: healthy(3, 0), faults: make([]enginetest.Fault, 3)}
	return enginetest.NewWired([]string{"server.1", "server.2", "server.3"}, func(i int, peers engines.Peers) *Engine {
		return newEngine(&slowServer{&fakeServer{cluster: c, member: i}, delay}, Options{Access: web.Access{Timeout: time.Second}, Peers: peers})
	})
}

// drains drains a member once.
func drains(t *testing.T, e *Engine, claim string) (engines.Progress, []byte) {
	order := engines.Order{Kind: engines.Handoff, Claim: claim}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	p, err := e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	return p, undo
}

// TestOneAfterTheOther: who was told that it may leave is not counted on until that is undone, whatever its
// number is, and before anything was gossiped.
func TestOneAfterTheOther(t *testing.T) {
	w := threeAgents(func() time.Duration { return 0 })
	defer w.Close()
	p, undo := drains(t, w.First[2], "c3")
	require.Equal(t, engines.ProgressDone, p.State, p.Detail)
	p, _ = drains(t, w.First[0], "c1")
	require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
	require.Contains(t, p.Detail, "without server.1 1 of 3 voters would be left")
	p, _ = drains(t, w.First[2], "c3")
	require.Equal(t, engines.ProgressDone, p.State, "it may still leave: %s", p.Detail)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.First[2].decided(true, departure{granted: true}, gone.Err())
	require.ErrorIs(t, err, context.Canceled)
	p, _ = drains(t, w.First[0], "c1")
	require.Equal(t, engines.ProgressRunning, p.State, "a call that has ended takes nothing back: %s", p.Detail)
	_, err = w.First[2].Restore(t.Context(), undo)
	require.NoError(t, err)
	p, _ = drains(t, w.First[0], "c1")
	require.Equal(t, engines.ProgressDone, p.State, p.Detail)
}

// TestTwoLeaveAtOnce drains two members at the same moment, again and again: at most one is told that it may
// leave, and one of them is soon.
func TestTwoLeaveAtOnce(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			random := func(below time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(r.Int64N(int64(below)))
			}
			w := threeAgents(func() time.Duration { return random(50 * time.Millisecond) })
			defer w.Close()
			first, second := r.IntN(3), r.IntN(2)
			if second >= first {
				second++
			}
			done := map[int]bool{}
			var all sync.WaitGroup
			for _, i := range []int{first, second} {
				all.Go(func() {
					time.Sleep(random(200 * time.Millisecond))
					for range 20 {
						p, _ := drains(t, w.First[i], w.Names[i])
						mu.Lock()
						done[i] = p.State == engines.ProgressDone
						enough := done[i]
						require.False(t, done[first] && done[second], "seed %d: both leave", seed)
						mu.Unlock()
						if enough {
							return
						}
						time.Sleep(100*time.Millisecond + random(100*time.Millisecond))
					}
				})
			}
			all.Wait()
			require.True(t, done[first] || done[second], "seed %d: nobody leaves", seed)
		})
	}
}

func (s *slowServer) Look(ctx context.Context) (State, error) {
	time.Sleep(s.delay())
	state, err := s.fakeServer.Look(ctx)
	time.Sleep(s.delay())
	return state, err
}

package foundationdb

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// withFiveSeats is a database with five coordinators in its four zones.
func withFiveSeats(t *testing.T) (s *simulated, seated []string) {
	s = simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	seated = []string{s.pods[0], s.pods[1], s.pods[3], s.pods[6], s.pods[9]} // two in the first zone
	m := s.Model()
	var addresses []string
	for _, pod := range seated {
		addresses = append(addresses, m.Process(pod).Address)
	}
	a, err := s.engine(seated[4]).client.run(t.Context(), "coordinators "+strings.Join(addresses, " "))
	require.NoError(t, err)
	require.NoError(t, readSeatChange(a))
	s.Settle()
	return s, seated
}

// TestSeatsOfTwoDeadPods checks that the seats of two pods that are both gone, and both replaced, move
// in one change, as neither could move alone.
func TestSeatsOfTwoDeadPods(t *testing.T) {
	s, seated := withFiveSeats(t)
	dead := seated[:2]
	e := s.engine(seated[4])
	virtual := time.Now()
	e.now = func() time.Time { return virtual }
	_, err := e.Observe(t.Context())
	require.NoError(t, err)
	for _, pod := range dead {
		s.Kill(pod)
	}
	s.Advance(3 * time.Minute)
	virtual = virtual.Add(3 * time.Minute)
	s.Settle()
	orders := []engines.Order{{Kind: engines.Evacuate, Claim: "one", Node: dead[0]}, {Kind: engines.Evacuate, Claim: "two", Node: dead[1]}}
	undo := [][]byte{plan(t, e, orders[0]), plan(t, e, orders[1])}

	// One alone waits, and names the other.
	for range 5 {
		p := apply(t, e, orders[0], undo[0])
		require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
	}
	p := apply(t, e, orders[0], undo[0])
	require.Contains(t, p.Detail, "of "+dead[1]+" does not answer")
	require.Equal(t, []string{"locality_rollcall:one/" + dead[0] + "/announced"}, s.Model().Excluded, "an announcement only")

	done := map[int]bool{}
	for range 200 {
		for i := range orders {
			p, err := e.Drain(t.Context(), orders[i], undo[i])
			if err == nil {
				require.NotEqual(t, engines.ProgressRefused, p.State, p.Detail)
				done[i] = done[i] || p.State == engines.ProgressDone
			}
		}
		if len(done) == 2 && done[0] && done[1] {
			break
		}
		s.Advance(5 * time.Second)
		virtual = virtual.Add(5 * time.Second)
	}
	require.True(t, done[0] && done[1], "%v", done)
	m := s.Model()
	require.Len(t, m.Seats, 5)
	for _, seat := range m.Seats {
		p := m.At(seat.Address)
		require.NotNil(t, p, "a seat where nobody is: %s", seat.Address)
		require.NotContains(t, dead, p.Instance)
	}
	changes := 0
	for _, call := range s.Calls() {
		if strings.HasPrefix(call, "coordinators 127") {
			changes++
		}
	}
	require.Equal(t, 2, changes, "the test's own, and one for both")
	for i := range undo {
		for range 20 {
			if p, err := e.Restore(t.Context(), undo[i]); err == nil && p.State == engines.ProgressDone {
				break
			}
			s.Advance(5 * time.Second)
		}
	}
	require.Empty(t, s.leftovers())
	requireCareful(t, s)
}

// TestASeatWaitsForADeadOne checks that a pod that is there waits, in words, while another
// coordinator is dead, and goes on when that one is back; what was announced is taken back.
func TestASeatWaitsForADeadOne(t *testing.T) {
	s, seated := withFiveSeats(t)
	e := s.engine(seated[0])
	_, err := e.Observe(t.Context())
	require.NoError(t, err)
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	undo := plan(t, e, order)
	s.Change(func(m *model.Cluster) { m.Kill(seated[1]) })
	s.Advance(3 * time.Minute)
	s.Settle()
	e.now = func() time.Time { return time.Now().Add(3 * time.Minute) }
	for range 3 {
		p := apply(t, e, order, undo)
		require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
		require.Contains(t, p.Detail, "of "+seated[1]+" does not answer, and FoundationDB moves no seat")
	}
	require.Empty(t, s.Model().Excluded)
	s.Change(func(m *model.Cluster) { m.Start(seated[1]) })
	s.Settle()
	finish(t, s, e, order, undo)
	require.Len(t, s.Model().Seats, 5)
	require.Zero(t, s.hosts(seated[0]))
}

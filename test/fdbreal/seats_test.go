package fdbreal

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// requireNames fails unless each seat is a host name, or none is.
func requireNames(t *testing.T, seats []string) {
	t.Helper()
	for _, seat := range seats {
		host, _, err := net.SplitHostPort(seat)
		require.NoError(t, err)
		require.Nil(t, net.ParseIP(host), "%s is an address, where all were names: %v", seat, seats)
	}
}

// TestSeatsKeepTheirNames moves a seat of a database whose coordinators have host names: the others keep theirs, and the new one
// has one, too.
func TestSeatsKeepTheirNames(t *testing.T) {
	c := Start(t, Options{Hosts: true})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	had := c.seats(t)
	requireNames(t, had)
	p := c.Pod("fdb-3")
	e := r.agents[p.Name].engine
	undo, _, last := prepare(t, e, engines.Order{Kind: engines.Evacuate, Claim: "names"}, 5*time.Minute)
	have := c.seats(t)
	t.Logf("%v became %v", had, have)
	require.Equal(t, engines.ProgressDone, last.State, last.Detail)
	require.Len(t, have, len(had))
	requireNames(t, have)
	require.NotContains(t, have, p.Seat)
	for _, seat := range had {
		if seat != p.Seat {
			require.Contains(t, have, seat, "another's seat is as it was")
		}
	}
	restored(t, c, e, undo)
}

// TestSeatsWithADeadCoordinator moves a seat while another coordinator is dead: both are moved, or it waits in words. There are never
// fewer seats.
func TestSeatsWithADeadCoordinator(t *testing.T) {
	c := Start(t, Options{})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	had := c.seats(t)
	dead, p := c.Pod("fdb-4"), c.Pod("fdb-3")
	r.Notices = time.Second
	c.Kill(dead)
	e := r.agents[p.Name].engine
	_, said, last := prepare(t, e, engines.Order{Kind: engines.Evacuate, Claim: "dead"}, 3*time.Minute)
	have := c.seats(t)
	t.Logf("%v became %v; %s", had, have, last.State)
	require.Len(t, have, len(had))
	if slices.Contains(have, p.Seat) {
		require.NotEqual(t, engines.ProgressDone, last.State, "it is done, and the seat is where it was")
		all := strings.Join(said, "\n")
		require.True(t, strings.Contains(all, dead.Address) || strings.Contains(all, dead.Name), "it does not say which coordinator is in the way:\n%s", all)
		return
	}
	require.NotContains(t, have, dead.Seat, "both are moved")
	c.Run(dead)
	c.AwaitWhole(3 * time.Minute)
}

// TestSeatThatDoesNotResolve has a name among the coordinators that nobody knows any more: no seat is lost over that.
func TestSeatThatDoesNotResolve(t *testing.T) {
	c := Start(t, Options{Hosts: true})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	had := c.seats(t)
	unknown, p := c.Pod("fdb-5"), c.Pod("fdb-3")
	dropHosts(t, hostOf(unknown.Name))
	defer addHosts(t, hostOf(unknown.Name))
	e := r.agents[p.Name].engine
	_, said, last := prepare(t, e, engines.Order{Kind: engines.Evacuate, Claim: "unknown"}, 2*time.Minute)
	have := c.seats(t)
	t.Logf("%v became %v; %s", had, have, last.State)
	require.Len(t, have, len(had), "never fewer seats")
	requireNames(t, have)
	if last.State != engines.ProgressDone {
		all := strings.Join(said, "\n")
		require.Contains(t, all, hostOf(unknown.Name), "it does not say which name is in the way:\n%s", all)
		require.ElementsMatch(t, had, have, "nothing has changed")
	}
}

func restored(t *testing.T, c *Cluster, e engines.Engine, undo []byte) {
	t.Helper()
	require.Eventually(t, func() bool {
		p, err := e.Restore(t.Context(), undo)
		return err == nil && p.State == engines.ProgressDone
	}, 3*time.Minute, time.Second)
	require.Empty(t, c.excluded(t))
}

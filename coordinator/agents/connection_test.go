package agents

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/test/bufconn"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// open lists the agents to which there is a connection.
func (h *harness) open(key Key) (pods int) {
	h.Agents.mu.Lock()
	defer h.Agents.mu.Unlock()
	for _, g := range h.clusters[key].agents {
		if g.conn.client != nil {
			pods++
		}
	}
	return pods
}

func (h *harness) many(n int) (targets []Target) {
	for i := range n {
		target := Target{Pod: fmt.Sprintf("search-%d", i), UID: fmt.Sprintf("u%d", i), IP: fmt.Sprintf("10.0.0.%d", i), Zone: "z"}
		h.serve(target.IP, search, newFakeAgent(target.Pod, target.UID))
		targets = append(targets, target)
	}
	return targets
}

// A connection is there for as long as somebody uses it, and for no longer.
func TestOnlyWhoIsTalkedToHasAConnection(t *testing.T) {
	h := start(t, nil)
	targets := h.many(6)
	busy, idle := following(targets...), following(targets...)
	idle.Reports = false
	h.Follow(search, idle)
	eventually(t, func() bool { return len(h.State(search).Rosters) == 2 && h.open(search) == 2 })
	h.Follow(search, busy)
	eventually(t, func() bool { return len(h.State(search).Reports) == 6 && h.open(search) == 6 })
	h.Follow(search, idle)
	eventually(t, func() bool { return h.open(search) == 2 })
	_, err := h.Fresh(t.Context(), search, "u5")
	require.NoError(t, err, "and an order opens one")
	eventually(t, func() bool { return h.open(search) == 2 })
}

// Nor is it made again when the agents are to tell of all groups, or no longer.
func TestConnectionsStayWhenMoreIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		h := start(t, func(o *Options) {
			dial := o.Dial
			o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
				dials.Add(1)
				return dial(ctx, address)
			}
		})
		targets := following(h.many(6)...)
		for range 10 {
			h.Follow(search, targets)
			time.Sleep(time.Second)
			require.Len(t, h.State(search).Reports, 6)
			targets.AllGroups = !targets.AllGroups
		}
		require.EqualValues(t, 6, dials.Load())
	})
}

// Thousands of agents may have to be reached at once.
func TestHandshakesAreBounded(t *testing.T) {
	var under, most atomic.Int64
	h := start(t, func(o *Options) {
		dial := o.Dial
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			conn, err := dial(ctx, address)
			return &counted{Conn: conn, under: &under, most: &most}, err
		}
	})
	h.Follow(search, following(h.many(4*handshakes)...))
	eventually(t, func() bool { return len(h.State(search).Reports) == 4*handshakes })
	require.LessOrEqual(t, most.Load(), int64(handshakes))
	require.Positive(t, most.Load())
}

// One whose agents accept and say nothing holds up no other cluster.
func TestHandshakesOfOneClusterHoldUpNoOther(t *testing.T) {
	h := start(t, nil)
	var mute []Target
	begun := make(chan struct{}, 2*handshakes)
	for i := range 2 * handshakes {
		ip := fmt.Sprintf("10.0.1.%d", i)
		listener := bufconn.Listen(1 << 10)
		t.Cleanup(func() { _ = listener.Close() })
		h.network.mu.Lock()
		h.listeners[net.JoinHostPort(ip, "7947")] = listener
		h.network.mu.Unlock()
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				if _, err := c.Read(make([]byte, 1)); err == nil {
					begun <- struct{}{}
				}
			}
		}()
		mute = append(mute, Target{Pod: fmt.Sprintf("mute-%d", i), UID: fmt.Sprintf("m%d", i), IP: ip})
	}
	h.Follow(Key{Namespace: "prod", Name: "mute"}, following(mute...))
	for range handshakes { // no more begin while these last
		<-begun
	}
	h.Follow(search, following(h.many(2)...))
	eventually(t, func() bool { return len(h.State(search).Reports) == 2 })
}

// counted counts connections from their first byte, with which the handshake begins, to the first that is not part of it.
type counted struct {
	net.Conn
	under, most *atomic.Int64
	writes      int
}

func (c *counted) Write(b []byte) (int, error) {
	switch c.writes++; c.writes {
	case 1:
		now := c.under.Add(1)
		for {
			most := c.most.Load()
			if now <= most || c.most.CompareAndSwap(most, now) {
				break
			}
		}
	case 2: // the client's last message of the handshake
		c.under.Add(-1)
	}
	return c.Conn.Write(b)
}

// Reports that show the same membership hold one list of it.
func TestReportsShareTheirMembership(t *testing.T) {
	list := func(second rollcallv1.Membership) *rollcallv1.Report {
		return &rollcallv1.Report{Nodes: []*rollcallv1.MemberNode{
			{Name: "a", Address: "a:1", Member: rollcallv1.Membership_MEMBERSHIP_LIVE}, {Name: "b", Address: "b:1", Member: second},
		}}
	}
	c := &cluster{shared: newShared()}
	one, same := list(rollcallv1.Membership_MEMBERSHIP_LIVE), list(rollcallv1.Membership_MEMBERSHIP_LIVE)
	other := list(rollcallv1.Membership_MEMBERSHIP_NOT_LIVE)
	for _, r := range []*rollcallv1.Report{one, same, other} {
		c.shareNodes(r)
	}
	require.Same(t, one.Nodes[0], same.Nodes[0])
	require.Same(t, one.Nodes[0], other.Nodes[0], "those that are the same in a list that is not")
	require.Equal(t, rollcallv1.Membership_MEMBERSHIP_NOT_LIVE, other.Nodes[1].Member, "another membership stays another")
	again := list(rollcallv1.Membership_MEMBERSHIP_NOT_LIVE)
	c.shareNodes(again)
	require.Same(t, other.Nodes[1], again.Nodes[1])
	require.Equal(t, 3, again.Nodes[1].ProtoReflect().Descriptor().Fields().Len(), "sameNode compares every field")
}

func TestRostersShareTheirEntries(t *testing.T) {
	full := func() *rollcallv1.Headline {
		return &rollcallv1.Headline{Pod: "a", PodUid: "u", Incarnation: 1, Sequence: 2, Phase: 3, Member: 1, Verdict: 2, Drain: 1, Roles: []string{"r"},
			Alive: 4, Digest: 5, Address: "a:1", Node: "n", Epoch: 6, Zone: "z"}
	}
	roster := func(h *rollcallv1.Headline) *rollcallv1.Roster {
		return &rollcallv1.Roster{Entries: []*rollcallv1.RosterEntry{{Headline: h}}}
	}
	c := &cluster{}
	one, same := roster(full()), roster(full())
	c.shareEntries(one)
	c.shareEntries(same)
	require.Same(t, one.Entries[0], same.Entries[0])
	dead := roster(full())
	dead.Entries[0].Liveness = rollcallv1.Liveness_LIVENESS_DEAD
	c.shareEntries(dead)
	require.Equal(t, rollcallv1.Liveness_LIVENESS_DEAD, dead.Entries[0].Liveness)

	// What differs in any field stays as it came.
	fields := full().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		other := full()
		require.True(t, other.ProtoReflect().Has(fields.Get(i)), "every field is tried: %s", fields.Get(i).Name())
		other.ProtoReflect().Clear(fields.Get(i))
		require.False(t, sameHeadline(full(), other), "%s", fields.Get(i).Name())
		c.shareEntries(roster(full()))
		differs := roster(other)
		c.shareEntries(differs)
		require.Same(t, other, differs.Entries[0].Headline)
	}
	c.shareEntries(roster(nil))
	c.shareEntries(&rollcallv1.Roster{})
	require.Empty(t, c.entries, "who is in no roster any more is not kept")
}

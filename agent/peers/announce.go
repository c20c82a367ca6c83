package peers

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/probe"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// countEvery is how often a change of only the number of live peers is announced:
// while hundreds of agents start, each of them changes it.
const countEvery = 5 * time.Second

// Announcer turns snapshots into headlines. Each headline with news has a higher
// sequence.
type Announcer struct {
	Board   *probe.Board
	Mesh    *Keeper
	Fence   *fence.Fence
	Peers   *Peers
	Address string

	last *rollcallv1.Headline
}

func (a *Announcer) Run(ctx context.Context) {
	ticker := time.NewTicker(countEvery)
	defer ticker.Stop()
	counted := true
	for {
		v, told := a.Board.Latest()
		roster, heard := a.Mesh.Roster()
		a.Fence.Heard(roster.Epoch())
		a.Peers.follow(roster)
		a.announce(v, roster.Alive(), counted)
		counted = false
		select {
		case <-ctx.Done():
			return
		case <-told:
		case <-heard:
			// A burst of changes is read once. This agent's own news goes out at
			// once.
			select {
			case <-ctx.Done():
				return
			case <-told:
			case <-time.After(20 * time.Millisecond):
			}
		case <-ticker.C:
			counted = true
		}
	}
}

// announce publishes news; a new count alone only if counted.
func (a *Announcer) announce(v *probe.Snapshot, alive int, counted bool) {
	h := v.Headline()
	h.Address = a.Address
	h.Alive = uint32(min(alive, math.MaxUint32))
	if a.last != nil {
		if !counted {
			h.Alive = a.last.Alive
		}
		h.Sequence = a.last.Sequence
		if sameHeadline(h, a.last) {
			return
		}
	}
	h.Sequence++
	a.last = h
	a.Mesh.publish(h)
}

// sameHeadline compares every field; see its test. It runs with every probe of the
// database and every change of the roster.
func sameHeadline(a, b *rollcallv1.Headline) bool {
	return a.Digest == b.Digest && a.Sequence == b.Sequence && a.Incarnation == b.Incarnation && a.Epoch == b.Epoch && a.Alive == b.Alive &&
		a.Phase == b.Phase && a.Member == b.Member && a.Verdict == b.Verdict && a.Drain == b.Drain && slices.Equal(a.Roles, b.Roles) &&
		a.Node == b.Node && a.Address == b.Address && a.Pod == b.Pod && a.PodUid == b.PodUid && a.Zone == b.Zone
}

package coordinator

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// between has somebody change what pods report. It returns nil if nobody does any more.
func (db *database) between(said func(pod string, r *rollcallv1.Report) *rollcallv1.Report) {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	db.said = said
}

// heldBy reports whether the plan, as people see it, holds a pod by that rule.
func (db *database) heldBy(pod string, rules ...model.Rule) bool {
	return slices.ContainsFunc(db.status().Holds, func(h model.Hold) bool {
		return h.Pod == pod && slices.Contains(rules, h.Rule)
	})
}

// An earlier report, byte for byte, is played again in place of all later ones: the
// pod does not go, the plan says why, and it goes once its own agent is heard again.
func TestReplayedReportHoldsTheRollout(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		var recorded *rollcallv1.Report
		db.between(func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
			if pod != "search-2" {
				return r
			}
			if recorded == nil {
				recorded = proto.CloneOf(r)
			}
			return recorded
		})
		time.Sleep(2 * time.Minute)
		db.roll("v2")
		time.Sleep(5 * time.Minute)
		require.Empty(t, w.gone(), "a report of before permitted it")
		require.True(t, db.heldBy("search-2", model.RuleStaleReport, model.RuleNoReport), "%+v", db.status().Holds)

		db.between(nil)
		db.requireDone(5*time.Minute, "v2")
	})
}

// What one agent sends is more than there can be: its pod does not go, explain says why, and another database rolls on.
func TestRefusedReportHoldsItsPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db, other := w.add("search", 3), w.add("orders", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.between(func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
			if pod == "search-2" {
				r = proto.CloneOf(r)
				r.Roles = make([]string, 1000)
			}
			return r
		})
		time.Sleep(2 * time.Minute)
		db.roll("v2")
		other.roll("v2")
		other.requireDone(10*time.Minute, "v2")
		require.True(t, db.heldBy("search-2", model.RuleNoReport), "%+v", db.status().Holds)
		newest, ok := p.board.Newest(Key{Namespace: namespace, Name: "search"})
		require.True(t, ok)
		e, err := status.Explain(newest, "search-2")
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(e.Facts, func(f status.Fact) bool {
			return f.Name == "agent" && strings.Contains(f.Value, "more than 256 of rollcall.v1.Report.roles")
		}), "%+v", e.Facts)

		db.between(nil)
		db.requireDone(15*time.Minute, "v2")
	})
}

// What the pod before said is played at its successor's address: the successor is
// not taken for it, no other pod goes meanwhile, and the plan says why.
func TestReportOfThePreviousPodIsIgnored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		var first *rollcallv1.Report
		db.between(func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
			if pod != "search-2" {
				return r
			}
			if first == nil || first.Identity.PodUid == r.Identity.PodUid {
				first = proto.CloneOf(r)
				return r
			}
			played := proto.CloneOf(first)
			played.Age, played.ObservedAt, played.Sequence = r.Age, r.ObservedAt, r.Sequence // as if it were of now
			return played
		})
		db.roll("v2")
		time.Sleep(5 * time.Minute)
		require.Equal(t, []string{"search-2 v1"}, w.gone())
		d, _ := p.board.Newest(Key{Namespace: namespace, Name: "search"})
		require.Nil(t, d.Snapshot.Pods[2].Report, "nothing of it is taken for the successor's")
		require.True(t, db.heldBy("search-1", model.RulePodBudget), "%+v", db.status().Holds)

		db.between(nil)
		db.requireDone(5*time.Minute, "v2")
		require.Len(t, w.gone(), 3)
	})
}

// A thief of the gossip key made the agents believe in an epoch that nobody has, and
// they refuse orders for it: the coordinator goes above it, once, and the rollout ends.
// What it cannot go above is not followed.
func TestForgedEpochIsExceededOnce(t *testing.T) {
	for name, c := range map[string]struct{ heard, rumour, ends int64 }{
		"believed":      {config.MaxHeardEpoch, config.MaxHeardEpoch, config.MaxHeardEpoch + 1},
		"beyond belief": {0, math.MaxInt64, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				w.mu.Lock()
				db.heard, db.rumour = c.heard, c.rumour
				w.mu.Unlock()
				db.roll("v2")
				db.requireDone(5*time.Minute, "v2")
				require.Equal(t, c.ends, db.status().Epoch)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.LessOrEqual(t, db.refused, 1, "refused once at most, then gone above")
				require.Len(t, w.removals, 3)
			})
		})
	}
}

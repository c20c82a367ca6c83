package coordinator

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Whatever the clocks of nodes say, orders are carried out in time, reports count as
// they come, and the rollout takes as long as with clocks that agree; the snapshot says
// whose clock differs.
func TestClocksOfNodesDecideNothing(t *testing.T) {
	took := map[string]time.Duration{}
	for _, c := range []struct {
		name string
		// ahead is by how much the clock of search-1's node is; stepped since the rollout began.
		ahead, stepped time.Duration
		told           int
	}{
		{"agree", 0, 0, 0},
		{"a node 30 s ahead", 30 * time.Second, 0, 30},
		{"a node 5 min behind", -5 * time.Minute, 0, -300},
		{"a node whose clock goes back an hour", 0, -time.Hour, -3600},
		{"a node whose clock goes ahead an hour", 0, time.Hour, 3600},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				p := w.start()
				defer p.end()
				time.Sleep(20 * time.Second)
				ahead := c.ahead
				db.between(func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
					if pod == "search-1" {
						r = proto.CloneOf(r)
						r.ObservedAt = timestamppb.New(r.GetObservedAt().AsTime().Add(ahead))
					}
					return r
				})
				began := time.Now()
				db.roll("v2")
				time.Sleep(5 * time.Second)
				w.mu.Lock()
				ahead += c.stepped
				w.mu.Unlock()
				db.requireDone(5*time.Minute, "v2")
				took[c.name] = time.Since(began)
				require.Equal(t, took["agree"], took[c.name])
				require.Zero(t, db.late, "orders came too late")
				d, _ := p.board.Newest(Key{Namespace: namespace, Name: "search"})
				require.Equal(t, c.told, d.Snapshot.Pods[1].Report.ClockSkewSeconds)
			})
		})
	}
}

// What this process remembers is as old in a snapshot as it is, though its own clock is set meanwhile:
// a database that may not have noticed a departure yet is not given less time for it.
func TestSettingTheClockAgesNothing(t *testing.T) {
	began := time.Now()
	for _, step := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute} {
		now := stepped(began.Add(3*time.Second), step)
		_, d := rollout.Step(rollout.NewState(1, rollout.Before{LastProgress: began}),
			rollout.Facts{Record: rollout.Record{Epoch: 1}, LastDeparture: began}, nil, now)
		s := d.Snapshot.Cluster.Status
		require.Equal(t, 3*time.Second, model.At(now).Sub(s.LastDeparture.Time))
		require.Equal(t, 3*time.Second, model.At(now).Sub(s.LastProgress.Time))
	}
	_, d := rollout.Step(rollout.NewState(1, rollout.Before{LastProgress: began}), rollout.Facts{Record: rollout.Record{Epoch: 1}}, nil, began)
	require.Nil(t, d.Snapshot.Cluster.Status.LastDeparture)
}

// stepped is t as a process reads it whose wall clock was set ahead by d; its monotonic clock is as it was.
func stepped(t time.Time, d time.Duration) time.Time {
	if t.String() == t.Round(0).String() {
		panic("no monotonic reading")
	}
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(d/time.Second) << 30
	return t
}

// An agent restarts, and gets a lower number than before: its node's clock was set
// back by an hour and its state is lost. It is heard, and takes orders, at once.
func TestAgentThatRestartsAfterItsClockWentBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		time.Sleep(20 * time.Second)
		db.roll("v2")
		time.Sleep(2 * time.Second)
		w.mu.Lock()
		m := db.members["search-0"]
		w.mu.Unlock()
		m.restart()
		db.requireDone(5*time.Minute, "v2")
		require.Len(t, w.gone(), 3)
		require.LessOrEqual(t, db.late, 1, "the order that was under way, at most")
	})
}

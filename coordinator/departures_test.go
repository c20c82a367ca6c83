package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestDepartures(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	pod := func(name, uid string, phase kube.Phase, restarts int) kube.Pod {
		return kube.Pod{Name: name, UID: types.UID(uid), Phase: phase, Restarts: restarts}
	}
	live, gone := rollcallv1.Membership_MEMBERSHIP_LIVE, rollcallv1.Membership_MEMBERSHIP_NOT_LIVE
	report := func(when time.Time, node string, own, other rollcallv1.Membership) agents.Received {
		return agents.Received{At: when, Report: &rollcallv1.Report{Node: node, Member: own, Nodes: []*rollcallv1.MemberNode{
			{Name: "n0", Member: rollcallv1.Membership_MEMBERSHIP_LIVE}, {Name: "n1", Member: other}}}}
	}
	state := func(zero, one agents.Received) agents.State {
		return agents.State{Reports: map[string]agents.Received{"u0": zero, "u1": one}}
	}
	both := []kube.Pod{pod("s-0", "u0", kube.Ready, 0), pod("s-1", "u1", kube.Ready, 0)}
	well := state(report(at(0), "n0", live, live), report(at(0), "n1", live, live))

	t.Run("nobody left", func(t *testing.T) {
		d := newDepartures(at(0), act.Taken{Cluster: &v1alpha1.DatabaseCluster{}})
		require.False(t, d.look(at(1), both, well))
		require.False(t, d.look(at(2), both, well))
		require.Equal(t, at(0), d.barrier, "what was seen before the start is not fresh")
		require.Zero(t, d.last())
	})
	before := func(last int, claims ...model.Claim) *v1alpha1.DatabaseCluster {
		return &v1alpha1.DatabaseCluster{Status: v1alpha1.Status{LastDeparture: model.At(at(last)), Claims: claims}}
	}
	t.Run("a predecessor's departure counts from now, whatever its clock was", func(t *testing.T) {
		for _, last := range []int{4, -300, 310} {
			d := newDepartures(at(10), act.Taken{Cluster: before(last)})
			d.look(at(11), both, well)
			require.Equal(t, at(10), d.last())
		}
	})
	t.Run("one of long ago is", func(t *testing.T) {
		d := newDepartures(at(10), act.Taken{Cluster: before(-700)})
		d.look(at(11), both, well)
		require.Equal(t, at(-700), d.last())
	})
	t.Run("until nobody counts on anybody who is not there", func(t *testing.T) {
		after := func(zero, one int, other rollcallv1.Membership) agents.State {
			return state(report(at(zero), "n0", live, other), report(at(one), "n1", live, other))
		}
		for name, c := range map[string]struct {
			pods    []kube.Pod
			state   agents.State
			settled bool
		}{
			"all are there":                    {both, after(11, 12, live), true},
			"one has not spoken since":         {both, after(11, 9, live), false},
			"one counts on a pod that is gone": {both[:1], after(11, 12, live), false},
			"it is gone and known to be":       {both[:1], after(11, 12, gone), true},
			"one is up and has no agent":       {both, state(report(at(11), "n0", live, live), agents.Received{}), false},
			"nobody is up":                     {nil, after(11, 12, gone), false},
		} {
			t.Run(name, func(t *testing.T) {
				d := newDepartures(at(10), act.Taken{Cluster: before(4)})
				d.look(at(13), c.pods, c.state)
				require.Equal(t, c.settled, d.last().IsZero())
			})
		}
	})
	t.Run("a predecessor's claims", func(t *testing.T) {
		claim := func(phase model.ClaimPhase) model.Claim {
			return model.Claim{Pod: "s-1", UID: "u1", Phase: phase, StartedAt: model.At(at(5))}
		}
		standing, went := map[string]bool{"u1": true}, map[string]bool{}
		const longAgo = -700
		old := claim(model.PhaseGone)
		old.StartedAt = model.At(at(longAgo - 50))
		for name, c := range map[string]struct {
			taken act.Taken
			last  int
		}{
			"it stands":                              {act.Taken{Cluster: before(longAgo, claim(model.PhaseDrained)), Standing: standing}, longAgo},
			"it went while nobody looked":            {act.Taken{Cluster: before(longAgo, claim(model.PhaseDrained)), Standing: went}, 10},
			"its departure was noted, a moment ago":  {act.Taken{Cluster: before(6, claim(model.PhaseGone)), Standing: went}, 10},
			"its departure was noted, long ago":      {act.Taken{Cluster: before(longAgo, old), Standing: went}, longAgo},
			"the claim knows more than that":         {act.Taken{Cluster: before(longAgo, claim(model.PhaseGone)), Standing: went}, 10},
			"one stands, and another went meanwhile": {act.Taken{Cluster: before(longAgo, model.Claim{Pod: "s-0", UID: "u0", Phase: model.PhaseOpened}, claim(model.PhaseDrained)), Standing: standing}, 10},
		} {
			t.Run(name, func(t *testing.T) {
				d := newDepartures(at(10), c.taken)
				d.look(at(11), both, well)
				require.Equal(t, at(c.last), d.last())
			})
		}
		t.Run("it goes between the touch and the first look", func(t *testing.T) {
			d := newDepartures(at(10), act.Taken{Cluster: before(0, claim(model.PhaseOpened)), Standing: standing})
			require.True(t, d.look(at(11), both[:1], well))
			require.Equal(t, at(11), d.last())
			require.Equal(t, at(11), d.barrier)
		})
		t.Run("it had restarted before", func(t *testing.T) {
			d := newDepartures(at(10), act.Taken{Cluster: before(0, claim(model.PhaseClaimed)), Standing: standing})
			require.False(t, d.look(at(11), []kube.Pod{both[0], pod("s-1", "u1", kube.Ready, 3)}, well))
		})
	})
	for name, after := range map[string][]kube.Pod{
		"terminating":         {both[0], pod("s-1", "u1", kube.Terminating, 0)},
		"gone":                {both[0]},
		"another of its name": {both[0], pod("s-1", "u2", kube.Started, 0)},
		"restarted in place":  {both[0], pod("s-1", "u1", kube.Ready, 1)},
		"failed":              {both[0], pod("s-1", "u1", kube.Failed, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDepartures(at(0), act.Taken{Cluster: &v1alpha1.DatabaseCluster{}})
			d.look(at(1), both, well)
			require.True(t, d.look(at(5), after, well))
			require.Equal(t, at(5), d.barrier)
			require.Equal(t, at(5), d.last())
			require.False(t, d.look(at(6), after, well), "it left once")

			// The other has looked since, and still counts on it.
			d.look(at(7), after, state(report(at(6), "n0", live, live), report(at(0), "n1", live, live)))
			require.Equal(t, at(5), d.last())
			// Now it has noticed.
			d.look(at(9), after, state(report(at(8), "n0", live, gone), report(at(0), "n1", live, live)))
			require.Zero(t, d.last())
			require.Equal(t, at(5), d.barrier)
		})
	}
	t.Run("back before anybody noticed", func(t *testing.T) {
		d := newDepartures(at(0), act.Taken{Cluster: &v1alpha1.DatabaseCluster{}})
		d.look(at(1), both, well)
		d.look(at(5), []kube.Pod{both[0]}, well)
		successor := []kube.Pod{both[0], pod("s-1", "u2", kube.Ready, 0)}
		d.look(at(20), successor, agents.State{Reports: map[string]agents.Received{"u2": report(at(19), "n1", live, live)}})
		require.Zero(t, d.last())
	})
	t.Run("a node that never told its name", func(t *testing.T) {
		d := newDepartures(at(0), act.Taken{Cluster: &v1alpha1.DatabaseCluster{}})
		d.look(at(1), both, agents.State{})
		d.look(at(5), both[:1], state(report(at(6), "n0", live, live), agents.Received{}))
		require.Equal(t, at(5), d.last(), "somebody is counted on who is not there")
		d.look(at(7), both[:1], state(report(at(7), "n0", live, gone), agents.Received{}))
		require.Zero(t, d.last())
	})
	t.Run("whoever has looked since is heard once", func(t *testing.T) {
		d := newDepartures(at(0), act.Taken{Cluster: &v1alpha1.DatabaseCluster{}})
		d.look(at(1), both, well)
		again := state(report(at(6), "n0", live, live), report(at(0), "n1", live, live))
		require.False(t, d.heard(well, again), "nobody has gone")
		d.look(at(5), []kube.Pod{both[0]}, well)
		require.False(t, d.heard(well, well))
		require.True(t, d.heard(well, again))
		require.False(t, d.heard(again, state(report(at(8), "n0", live, live), report(at(0), "n1", live, live))))
		d = newDepartures(at(10), act.Taken{Cluster: before(4)})
		early := state(report(at(9), "n0", live, live), report(at(9), "n1", live, live))
		require.False(t, d.heard(well, early), "a predecessor's departure: who has looked since the take-over counts")
		require.True(t, d.heard(early, state(report(at(11), "n0", live, live), report(at(9), "n1", live, live))))
	})
}

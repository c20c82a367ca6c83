package act

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

func adopting() (Situation, policy.Claim) {
	live := func() *policy.Report { return &policy.Report{Member: policy.Live, Fresh: true, Settled: true} }
	at := Situation{Names: map[string]string{"s-0": "n0"}}
	at.Snapshot.Pods = []policy.Pod{
		{Name: "s-0", UID: "0", Phase: policy.Ready, Revision: "v1"},
		{Name: "s-1", UID: "1", Phase: policy.Ready, Revision: "v1", Agent: true, Report: live()},
		{Name: "s-2", UID: "2", Phase: policy.Ready, Revision: "v2", Agent: true, Report: live()},
	}
	return at, policy.Claim{Pod: "s-0", UID: "0", Action: policy.Restart, Prepare: policy.PrepareNone, Reason: policy.ReasonOutdated, To: "v2"}
}

func TestANeighbourHandsOverUpdatedOnesFirst(t *testing.T) {
	at, claim := adopting()
	require.True(t, alone(at, claim))
	require.Equal(t, []Target{{Pod: "s-2", UID: "2"}, {Pod: "s-1", UID: "1"}}, relievers(at, claim))

	at.Snapshot.Pods[2].Report.Member = policy.NotLive
	at.Snapshot.Pods[1].Phase = policy.Started
	require.Empty(t, relievers(at, claim))
	require.False(t, alone(at, claim), "there are agents, but none that can")
}

func TestWhoIsNotAlone(t *testing.T) {
	for name, change := range map[string]func(*Situation, *policy.Claim){
		"has an agent":          func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[0].Agent = true },
		"serves nothing":        func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods[0].Phase = policy.Started },
		"never started":         func(_ *Situation, c *policy.Claim) { c.Reason = policy.ReasonNeverStarted },
		"failed":                func(_ *Situation, c *policy.Claim) { c.Reason = policy.ReasonFailed },
		"is not known by name":  func(at *Situation, _ *policy.Claim) { at.Names = nil },
		"is not there any more": func(at *Situation, _ *policy.Claim) { at.Snapshot.Pods = at.Snapshot.Pods[1:] },
	} {
		at, claim := adopting()
		change(&at, &claim)
		require.False(t, alone(at, claim), name)
	}
}

// unrelieved are agents of which none can hand over for another.
type unrelieved struct{ Agents }

func (unrelieved) Relieve(context.Context, Target, Order, string) (Progress, error) {
	return Progress{}, &OwnAgentOnlyError{Why: "s-2 follows s-0, which has no agent"}
}

// A primary that nobody can hand over for is left where it is, however long that
// takes, and the reason is what a person reads.
func TestAPodThatOnlyItsOwnAgentCouldHandOverStays(t *testing.T) {
	at, claim := adopting()
	at.Cluster = &v1alpha1.DatabaseCluster{}
	a := &Actor{options: Options{Agents: unrelieved{&agents{}}}}
	for _, began := range []time.Time{{}, time.Now(), time.Now().Add(-time.Hour)} {
		r := run{prepareBegan: began}
		a.relieve(t.Context(), at, claim)(&r)
		require.False(t, r.heard.Relieved)
		require.Equal(t, "s-2 follows s-0, which has no agent", r.giveUp)
		require.Equal(t, policy.Vetoed, r.rest)
		moves := Case{Claim: claim, Pod: Here, Alone: true, GiveUp: r.giveUp != ""}
		require.Equal(t, Shut, next(moves))
		moves.Heard.Closed = true
		require.Equal(t, Release, next(moves))
	}
}

func TestTheFirstIsHandedOverByTheCoordinator(t *testing.T) {
	at, claim := adopting()
	at.Names = nil
	for i := range at.Snapshot.Pods {
		at.Snapshot.Pods[i].Agent = false
	}
	require.True(t, alone(at, claim))
	require.Empty(t, relievers(at, claim))
}

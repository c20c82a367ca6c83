package act

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

func adopting() (Situation, model.Claim) {
	live := func() *model.Report { return &model.Report{Member: model.Live, Fresh: true, Settled: true} }
	at := Situation{Names: map[string]string{"s-0": "n0"}}
	at.Snapshot.Pods = []model.Pod{
		{Name: "s-0", UID: "0", Phase: model.Ready, Revision: "v1"},
		{Name: "s-1", UID: "1", Phase: model.Ready, Revision: "v1", Agent: true, Report: live()},
		{Name: "s-2", UID: "2", Phase: model.Ready, Revision: "v2", Agent: true, Report: live()},
	}
	return at, model.Claim{Pod: "s-0", UID: "0", Action: model.Restart, Prepare: model.PrepareNone, Reason: model.ReasonOutdated, To: "v2"}
}

func TestANeighbourHandsOverUpdatedOnesFirst(t *testing.T) {
	at, claim := adopting()
	require.True(t, new(Actor).alone(at, claim))
	require.Equal(t, []Target{{Pod: "s-2", UID: "2"}, {Pod: "s-1", UID: "1"}}, relievers(at, claim))

	at.Snapshot.Pods[2].Report.Member = model.NotLive
	at.Snapshot.Pods[1].Phase = model.Started
	require.Empty(t, relievers(at, claim))
	require.False(t, new(Actor).alone(at, claim), "there are agents, but none that can")
}

func TestWhoIsNotAlone(t *testing.T) {
	for name, change := range map[string]func(*Situation, *model.Claim){
		"has an agent":          func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[0].Agent = true },
		"serves nothing":        func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[0].Phase = model.Started },
		"never started":         func(_ *Situation, c *model.Claim) { c.Reason = model.ReasonNeverStarted },
		"failed":                func(_ *Situation, c *model.Claim) { c.Reason = model.ReasonFailed },
		"is not known by name":  func(at *Situation, _ *model.Claim) { at.Names = nil },
		"is not there any more": func(at *Situation, _ *model.Claim) { at.Snapshot.Pods = at.Snapshot.Pods[1:] },
	} {
		at, claim := adopting()
		change(&at, &claim)
		require.False(t, new(Actor).alone(at, claim), name)
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
		a.relieve(t.Context(), at, claim, r)(&r)
		require.False(t, r.heard.Relieved)
		require.Equal(t, "s-2 follows s-0, which has no agent", r.giveUp)
		require.Equal(t, model.Vetoed, r.rest)
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
	require.True(t, new(Actor).alone(at, claim))
	require.Empty(t, relievers(at, claim))
}

// adopt makes s-2 a pod that ran before agents did.
func (w *world) adopt() {
	object, _ := w.server.Pod(namespace, "s-2")
	w.bare = map[types.UID]bool{object.UID: true}
	w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Adopt = model.AdoptAllow })
}

// relieve is what a neighbour does for a pod without an agent. The world is locked.
func (w *world) relieve(member string) Progress {
	object, ok := w.server.Pod(namespace, strings.TrimPrefix(member, "n-"))
	if !ok {
		return Progress{State: model.DrainPrepared}
	}
	w.prepared[string(object.UID)] = true
	return w.handOver(Target{UID: string(object.UID)}, 2)
}

// Somebody makes a pod that was relieved the leader again at any moment before it is
// removed: it is relieved again, and never goes as the leader.
func TestAPodThatLeadsAgainIsRelievedAgain(t *testing.T) {
	for at := 1; at < 25; at++ {
		inWorld(t, func(t *testing.T, w *world) {
			w.adopt()
			w.onPrepare = func(to Target, _ Order) (Progress, error) { return w.handOver(to, 2), nil }
			p, given := w.handingBack(at)
			p.run(5 * time.Minute)
			w.requireRolled(1)
			require.True(t, given.Load())
			require.NotEmpty(t, w.relieved)
		})
	}
}

// neighbours are agents of which some do not answer.
type neighbours struct {
	Agents
	silent  []string
	answers model.DrainState
	asked   []string
}

func (n *neighbours) Relieve(ctx context.Context, to Target, _ Order, _ string) (Progress, error) {
	n.asked = append(n.asked, to.Pod)
	if slices.Contains(n.silent, to.Pod) {
		<-ctx.Done()
		return Progress{}, ctx.Err()
	}
	return Progress{State: n.answers, Detail: "1 left"}, nil
}

func (n *neighbours) Unaided(context.Context, Target, Order) (Progress, error) {
	return Progress{}, errors.New("the database asks for credentials")
}

// One silent neighbour decides nothing: the next one is asked. Where none answers, a pod goes
// as it is that others would follow in a moment; one for which only its own agent could
// hand over stays, and says so.
func TestWhoFreesAPodWithoutAnAgent(t *testing.T) {
	both, prepared := []string{"s-1", "s-2"}, model.DrainPrepared
	nobody := func(at *Situation) {
		at.Snapshot.Pods[1].Report.Member, at.Snapshot.Pods[2].Phase = model.NotLive, model.Started
	}
	first := func(at *Situation) { at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[2].Agent = false, false }
	for name, c := range map[string]struct {
		own     bool
		silent  []string
		answers model.DrainState
		change  func(*Situation)
		alone   bool
		asked   []string
		by      string // who has answered
		stays   string // why
	}{
		"one is silent":                      {false, both[1:], prepared, nil, true, []string{"s-2", "s-1"}, "s-1", ""},
		"one is silent, and it may lead":     {true, both[1:], prepared, nil, true, []string{"s-2", "s-1"}, "s-1", ""},
		"all are silent":                     {false, both, prepared, nil, true, []string{"s-2", "s-1", "s-2"}, "", ""},
		"all are silent, and it may lead":    {true, both, prepared, nil, true, []string{"s-2", "s-1", "s-2"}, "", "through s-2: context deadline exceeded"},
		"it takes for ever":                  {false, nil, model.DrainPreparing, nil, true, nil, "", ""},
		"it takes for ever, and it may lead": {true, nil, model.DrainPreparing, nil, true, nil, "", "has said that it may go: 1 left"},
		"nobody is well":                     {false, nil, prepared, nobody, false, nil, "", ""},
		"nobody is well, and it may lead":    {true, nil, prepared, nobody, true, nil, "", nobodyKnows},
		"its name is not known":              {false, nil, prepared, func(at *Situation) { at.Names = nil }, false, nil, "", ""},
		"its name is not known, may lead":    {true, nil, prepared, func(at *Situation) { at.Names = nil }, true, nil, "", nameUnknown},
		"it is the first":                    {false, nil, prepared, first, true, nil, "", ""},
		"it is the first, and it may lead":   {true, nil, prepared, first, true, nil, "", ""},
		"who has an agent is away for a moment": {true, nil, prepared, func(at *Situation) {
			first(at)
			at.Snapshot.Pods[2].Phase = model.Missing
		}, true, nil, "", nobodyKnows},
		"it serves no more for a moment": {true, nil, prepared, func(at *Situation) { at.Snapshot.Pods[0].Phase = model.Started }, true, []string{"s-2"}, "s-2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, claim := adopting()
				at.Cluster = &v1alpha1.DatabaseCluster{}
				if c.change != nil {
					c.change(&at)
				}
				agents := &neighbours{silent: c.silent, answers: c.answers}
				a := &Actor{log: slog.New(slog.DiscardHandler), options: Options{Agents: agents, OwnAgentOnly: c.own}}
				require.Equal(t, c.alone, a.alone(at, claim))
				if !c.alone {
					return
				}
				var r run
				for began := time.Now(); !r.heard.Relieved && r.giveUp == ""; time.Sleep(time.Until(r.retryAt)) {
					require.Less(t, time.Since(began), 2*relieveFor)
					a.relieve(t.Context(), at, claim, r)(&r)
				}
				require.Equal(t, c.by, r.relievedBy)
				require.Equal(t, c.stays != "", r.giveUp != "", r.giveUp)
				require.Equal(t, c.stays != "", r.rest == model.Vetoed)
				require.Contains(t, r.giveUp, c.stays)
				if c.asked != nil {
					require.Equal(t, c.asked, agents.asked[:min(len(c.asked), len(agents.asked))])
				}
			})
		})
	}
}

// A pod that was broken when it was claimed, and serves again, may be the primary.
func TestABrokenPodThatServesAgainMustBeAnswered(t *testing.T) {
	at, claim := adopting()
	claim.Reason = model.ReasonFailed
	a := &Actor{options: Options{OwnAgentOnly: true}}
	require.True(t, a.alone(at, claim))
	at.Snapshot.Pods[0].Phase = model.Started
	require.False(t, a.alone(at, claim), "a correction must get through")
}

// Where an engine lets a pod go though it leads, because others are elected, it is asked
// twice and no more.
func TestAPodThatMayGoAsTheLeaderIsRelievedTwice(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.adopt()
		object, _ := w.server.Pod(namespace, "s-2")
		w.onLook = func(s *model.Snapshot) {
			for i := range s.Groups[0].Members {
				m := &s.Groups[0].Members[i]
				m.Leader = m.Leader && !w.bare[object.UID] || m.Pod == "s-2" && w.live[object.UID]
			}
		}
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
		require.Len(t, w.relieved, 2)
	})
}

// Somebody makes it the leader again and again: where only an answer frees it, it stays.
func TestAReliefThatNeverLasts(t *testing.T) {
	for _, own := range []bool{false, true} {
		at, claim := adopting()
		at.Snapshot.Groups = []model.Group{{ID: "primary", Members: []model.Member{
			{Pod: "s-0", State: model.Active}, {Pod: "s-1", State: model.Active, Eligible: true}}}}
		led := &at.Snapshot.Groups[0].Members[0].Leader
		a := &Actor{log: slog.New(slog.DiscardHandler), options: Options{OwnAgentOnly: own}}
		var r run
		for r.giveUp == "" {
			r.relieved("s-1")
			for _, *led = range []bool{false, true} {
				r.heard.Observed = true
				a.lookAtRelieved(at, claim, &r)
			}
			if r.heard.Relieved {
				break
			}
		}
		require.Equal(t, own, r.giveUp != "")
		require.Equal(t, maxLapses+1, r.lapses)
	}
}

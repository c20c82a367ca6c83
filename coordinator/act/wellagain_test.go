package act

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod is claimed without a prepare because it is broken, and serves again at any moment
// before it is removed: it is prepared like any other.
func TestAPodThatIsWellAgainIsPrepared(t *testing.T) {
	for at := 1; at < 16; at++ {
		inWorld(t, func(t *testing.T, w *world) {
			w.broken["v2"] = true
			newProcess(w, 0, false).run(2 * time.Minute)
			require.Equal(t, map[string]int{"s-2": 1}, w.gone())
			w.mu.Lock()
			w.update = "v3"
			w.mu.Unlock()
			calls, well := 0, false
			var p *process
			before := func(what string) (func() error, error) {
				unprepared := len(w.claims()) == 1 && w.claims()[0].Prepare == model.PrepareNone
				if unprepared && !strings.HasPrefix(what, "evict") {
					if calls++; calls == at {
						well = true
						w.heal("s-2")
					}
				}
				return p.count(what)
			}
			p = newProcess(w, 0, false)
			p.agents.before = before
			p.client = w.server.Client(func(c kubetest.Call) (func() error, error) { return before(c.Verb + " " + c.Resource) })
			p.run(5 * time.Minute)
			w.mu.Lock()
			w.broken["v2"] = true // only who was removed unprepared while it served is accused
			w.mu.Unlock()
			w.requireClean()
			require.True(t, w.done(), w.describe())
			require.True(t, well || at > 4, "at %d", at)
		})
	}
}

// heal makes a broken pod serve.
func (w *world) heal(pod string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.broken, "v2")
	if object, ok := w.server.Pod(namespace, pod); ok && object.DeletionTimestamp == nil {
		w.live[object.UID] = true
	}
}

// A prepare does not hold up a pod that breaks meanwhile, and is asked for again when
// it serves once more.
func TestAPodThatBreaksMeanwhileGoesUnprepared(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.onPrepare = func(to Target, _ Order) (Progress, error) {
			return Progress{State: model.DrainPreparing, Detail: "its database does not answer"}, nil
		}
		w.onLook = func(s *model.Snapshot) {
			if p := &s.Pods[2]; p.Revision == "v1" && len(s.Cluster.Status.Claims) > 0 && time.Since(s.Cluster.Status.Claims[0].StartedAt.Time) > 5*time.Second {
				p.Phase, p.Problem, p.Report = model.Failed, model.CrashLoop, nil
				s.Groups[0].Members[2].State, s.Groups[0].Members[2].Leader = model.Down, false
			}
		}
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		for range 200 {
			p.pass()
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, 1, w.gone()["s-2"])
		p.kill()
		p.actor.Wait()
	})
	r := &run{spared: true}
	r.heard.Prepared, r.heard.Observed = true, true
	r.unprepare("it is well again")
	require.Equal(t, Heard{}, r.heard)
}

func TestAsksForMore(t *testing.T) {
	for _, c := range []struct {
		claimed, step model.Action
		was, is       model.Prepare
		more          string
	}{
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.Restart, model.Restart, model.PrepareEvacuate, model.PrepareHandoff, ""},
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareNone, ""},
		{model.Restart, model.Restart, model.PrepareNone, model.PrepareHandoff, "it was claimed with the prepare None, and needs Handoff by now"},
		{model.Restart, model.Restart, model.PrepareHandoff, model.PrepareEvacuate, "it was claimed with the prepare Handoff, and needs Evacuate by now"},
		{model.Restart, model.Evacuate, model.PrepareEvacuate, model.PrepareEvacuate, ""},
		{model.Handoff, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.LowerPartition, model.Restart, model.PrepareHandoff, model.PrepareHandoff, ""},
		{model.Restart, model.LowerPartition, model.PrepareHandoff, model.PrepareHandoff, "it was claimed for Restart, and is to go for LowerPartition by now"},
		{model.Remove, model.Restart, model.PrepareEvacuate, model.PrepareHandoff, "it was claimed for Remove, and is to go for Restart by now"},
		{model.Restart, model.Replace, model.PrepareEvacuate, model.PrepareEvacuate, "it was claimed for Restart, and is to go for Replace by now"},
	} {
		require.Equal(t, c.more, asksForMore(model.Claim{Action: c.claimed, Prepare: c.was}, model.Step{Action: c.step, Prepare: c.is}))
	}
}

// Whoever runs is asked itself, however broken it was when it was claimed.
func TestABrokenPodThatRunsIsAsked(t *testing.T) {
	notLive := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.NotLive}
	claim := model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.Restart, Reason: model.ReasonFailed, Prepare: model.PrepareNone}
	for _, c := range []struct {
		phase   model.PodPhase
		problem model.Problem
		report  *model.Report
		asked   bool
	}{
		{model.Ready, model.NoProblem, notLive, true},
		{model.Ready, model.NoProblem, nil, true},
		{model.Started, model.NoProblem, nil, true},
		{model.Started, model.CrashLoop, notLive, true},
		{model.Started, model.CrashLoop, nil, false},
		{model.Failed, model.CrashLoop, notLive, false},
		{model.NotStarted, model.ImagePull, nil, false},
		{model.Pending, model.Unschedulable, nil, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Problem: c.problem, Report: c.report}}}
		b := barrierOf(s, claim)
		require.Equal(t, c.asked, b.own != nil, "%+v", c)
		_, missing := b.missing(map[string]bool{})
		require.Equal(t, c.asked, missing)
	}
}

// Kubernetes may show late that a pod has started. Its agent is asked as soon as it speaks, and nobody waits
// for one that is silent.
func TestWhoHasNotBeenShownAsStartedIsAskedIfItsAgentSpeaks(t *testing.T) {
	says := func(change func(r *model.Report)) *model.Report {
		r := &model.Report{UID: "0", Self: true, Fresh: true, Member: model.NotLive}
		change(r)
		return r
	}
	fresh := says(func(*model.Report) {})
	for _, c := range []struct {
		phase  model.PodPhase
		report *model.Report
		reason model.Reason
		asked  bool
	}{
		{model.NotStarted, fresh, model.ReasonOutdated, true},
		{model.NotStarted, fresh, model.ReasonNeverStarted, true},
		{model.Pending, fresh, model.ReasonOutdated, true},
		{model.NotStarted, says(func(r *model.Report) { r.Member = model.Live }), model.ReasonOutdated, true},
		{model.NotStarted, nil, model.ReasonOutdated, false},
		{model.NotStarted, says(func(r *model.Report) { r.Member = model.UnknownMember }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.Fresh = false }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.Self = false }), model.ReasonNeverStarted, false},
		{model.NotStarted, says(func(r *model.Report) { r.UID = "former" }), model.ReasonNeverStarted, false},
	} {
		s := model.Snapshot{Pods: []model.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Report: c.report}}}
		b := barrierOf(s, model.Claim{ID: "c", Pod: "s-0", UID: "0", Action: model.Restart, Reason: c.reason, Prepare: model.PrepareNone})
		require.Equal(t, c.asked, b.own != nil, "%+v", c)
	}
}

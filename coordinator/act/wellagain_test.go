package act

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
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
				unprepared := len(w.claims()) == 1 && w.claims()[0].Prepare == policy.PrepareNone
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
			return Progress{State: policy.DrainPreparing, Detail: "its database does not answer"}, nil
		}
		w.onLook = func(s *policy.Snapshot) {
			if p := &s.Pods[2]; p.Revision == "v1" && len(s.Cluster.Status.Claims) > 0 && time.Since(s.Cluster.Status.Claims[0].StartedAt.Time) > 5*time.Second {
				p.Phase, p.Problem, p.Report = policy.Failed, policy.CrashLoop, nil
				s.Groups[0].Members[2].State, s.Groups[0].Members[2].Leader = policy.Down, false
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
		claimed, step policy.Action
		was, is       policy.Prepare
		more          string
	}{
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.Restart, policy.Restart, policy.PrepareEvacuate, policy.PrepareHandoff, ""},
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareNone, ""},
		{policy.Restart, policy.Restart, policy.PrepareNone, policy.PrepareHandoff, "it was claimed with the prepare None, and needs Handoff by now"},
		{policy.Restart, policy.Restart, policy.PrepareHandoff, policy.PrepareEvacuate, "it was claimed with the prepare Handoff, and needs Evacuate by now"},
		{policy.Restart, policy.Evacuate, policy.PrepareEvacuate, policy.PrepareEvacuate, ""},
		{policy.Handoff, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.LowerPartition, policy.Restart, policy.PrepareHandoff, policy.PrepareHandoff, ""},
		{policy.Restart, policy.LowerPartition, policy.PrepareHandoff, policy.PrepareHandoff, "it was claimed for Restart, and is to go for LowerPartition by now"},
		{policy.Remove, policy.Restart, policy.PrepareEvacuate, policy.PrepareHandoff, "it was claimed for Remove, and is to go for Restart by now"},
		{policy.Restart, policy.Replace, policy.PrepareEvacuate, policy.PrepareEvacuate, "it was claimed for Restart, and is to go for Replace by now"},
	} {
		require.Equal(t, c.more, asksForMore(policy.Claim{Action: c.claimed, Prepare: c.was}, policy.Step{Action: c.step, Prepare: c.is}))
	}
}

// Whoever runs is asked itself, however broken it was when it was claimed.
func TestABrokenPodThatRunsIsAsked(t *testing.T) {
	notLive := &policy.Report{UID: "0", Self: true, Fresh: true, Member: policy.NotLive}
	claim := policy.Claim{ID: "c", Pod: "s-0", UID: "0", Action: policy.Restart, Reason: policy.ReasonFailed, Prepare: policy.PrepareNone}
	for _, c := range []struct {
		phase   policy.PodPhase
		problem policy.Problem
		report  *policy.Report
		asked   bool
	}{
		{policy.Ready, policy.NoProblem, notLive, true},
		{policy.Ready, policy.NoProblem, nil, true},
		{policy.Started, policy.NoProblem, nil, true},
		{policy.Started, policy.CrashLoop, notLive, true},
		{policy.Started, policy.CrashLoop, nil, false},
		{policy.Failed, policy.CrashLoop, notLive, false},
		{policy.NotStarted, policy.ImagePull, nil, false},
		{policy.Pending, policy.Unschedulable, nil, false},
	} {
		s := policy.Snapshot{Pods: []policy.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Problem: c.problem, Report: c.report}}}
		b := barrierOf(s, claim)
		require.Equal(t, c.asked, b.own != nil, "%+v", c)
		_, missing := b.missing(map[string]bool{})
		require.Equal(t, c.asked, missing)
	}
}

// Kubernetes may show late that a pod has started. Its agent is asked as soon as it speaks, and nobody waits
// for one that is silent.
func TestWhoHasNotBeenShownAsStartedIsAskedIfItsAgentSpeaks(t *testing.T) {
	says := func(change func(r *policy.Report)) *policy.Report {
		r := &policy.Report{UID: "0", Self: true, Fresh: true, Member: policy.NotLive}
		change(r)
		return r
	}
	fresh := says(func(*policy.Report) {})
	for _, c := range []struct {
		phase  policy.PodPhase
		report *policy.Report
		reason policy.Reason
		asked  bool
	}{
		{policy.NotStarted, fresh, policy.ReasonOutdated, true},
		{policy.NotStarted, fresh, policy.ReasonNeverStarted, true},
		{policy.Pending, fresh, policy.ReasonOutdated, true},
		{policy.NotStarted, says(func(r *policy.Report) { r.Member = policy.Live }), policy.ReasonOutdated, true},
		{policy.NotStarted, nil, policy.ReasonOutdated, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Member = policy.UnknownMember }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Fresh = false }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.Self = false }), policy.ReasonNeverStarted, false},
		{policy.NotStarted, says(func(r *policy.Report) { r.UID = "former" }), policy.ReasonNeverStarted, false},
	} {
		s := policy.Snapshot{Pods: []policy.Pod{{Name: "s-0", UID: "0", Agent: true, Phase: c.phase, Report: c.report}}}
		b := barrierOf(s, policy.Claim{ID: "c", Pod: "s-0", UID: "0", Action: policy.Restart, Reason: c.reason, Prepare: policy.PrepareNone})
		require.Equal(t, c.asked, b.own != nil, "%+v", c)
	}
}

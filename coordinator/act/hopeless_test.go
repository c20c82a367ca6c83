package act

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// replacing is a database of two pods of which one is claimed to be replaced. It has come
// up on its old volume, from a template that finds no node; by now there is another.
func replacing() (Situation, model.Claim) {
	now := time.Unix(10_000, 0)
	claim := model.Claim{ID: "c", Pod: "s-1", UID: "1", Action: model.Replace, Prepare: model.PrepareEvacuate, Reason: model.ReasonReplacement, Undo: []byte("u")}
	at := Situation{Now: now, Cluster: &v1alpha1.DatabaseCluster{}}
	s := &at.Snapshot
	s.Version, s.Now = model.Version, model.At(now)
	s.Cluster.Spec.Engine = model.Solr
	s.Cluster.Spec = s.Cluster.Spec.WithDefaults()
	s.Cluster.Window.Open, s.Cluster.Status.Initialized = true, true
	s.Cluster.Status.Claims = []model.Claim{claim}
	s.Health.Verdict = model.Green
	s.Pools = []model.Pool{{Name: "s", Replicas: 2, Revision: "v3", Observed: true, Strategy: model.OnDelete, Management: model.Parallel, Agents: true}}
	since := model.At(now.Add(-time.Hour))
	s.Pods = []model.Pod{
		{Name: "s-0", UID: "0", Pool: "s", Ordinal: 0, Revision: "v3", Agent: true, Phase: model.Ready, Since: since,
			Report: &model.Report{UID: "0", Self: true, Fresh: true, Member: model.Live, Settled: true}},
		{Name: "s-1", UID: "1", Pool: "s", Ordinal: 1, Revision: "v2", Agent: true, Phase: model.Pending, Problem: model.Unschedulable, Since: since},
	}
	return at, claim
}

// A replacement that nobody can carry out makes room for what can: for a correction at
// once, and else after the time for which a claim may be held.
func TestAReplacementThatNobodyCanCarryOutIsGivenUp(t *testing.T) {
	serves := func(pod *model.Pod) {
		pod.Phase, pod.Problem, pod.Revision = model.Ready, "", "v3"
		pod.Report = &model.Report{UID: "1", Self: true, Fresh: true, Member: model.Live, Settled: true}
	}
	emptied := model.At(time.Unix(9000, 0))
	for name, c := range map[string]struct {
		change func(at *Situation, claim *model.Claim)
		others bool // can empty it
		want   string
		later  bool
	}{
		"a template of meanwhile finds no node":       {func(*Situation, *model.Claim) {}, false, "a restart corrects it first", false},
		"that is so where others could empty it, too": {func(*Situation, *model.Claim) {}, true, "a restart corrects it first", false},
		"it never joins": {func(at *Situation, _ *model.Claim) {
			pod := &at.Snapshot.Pods[1]
			pod.Phase, pod.Problem = model.Started, model.CrashLoop
		}, false, "a restart corrects it first", false},
		"its template is the newest": {func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].Revision = "v3" }, false, "no agent runs in it that could empty it", true},
		"others can empty it":        {func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].Revision = "v3" }, true, "", false},
		"it has come without an agent": {func(at *Situation, _ *model.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[1].Report.Self = false, false
		}, false, "no agent runs in it that could empty it", true},
		"it has an agent": {func(at *Situation, _ *model.Claim) { serves(&at.Snapshot.Pods[1]) }, false, "", false},
		"no other pod has an agent": {func(at *Situation, _ *model.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[0].Agent, at.Snapshot.Pods[0].Report.Self = false, false
		}, false, "no other pod has an agent that could say that nothing is left on it", true},
		"it starts": {func(at *Situation, _ *model.Claim) {
			serves(&at.Snapshot.Pods[1])
			at.Snapshot.Pods[1].Phase = model.Started
		}, false, "", false},
		"a correction is held": {func(at *Situation, _ *model.Claim) { at.Snapshot.Cluster.Paused = true }, true, "", false},
		"it is written down as empty": {func(at *Situation, claim *model.Claim) {
			claim.EmptiedAt = &emptied
			at.Snapshot.Cluster.Status.Claims[0].EmptiedAt = &emptied
		}, false, "", false},
		"it is to be restarted": {func(_ *Situation, claim *model.Claim) { claim.Action = model.Restart }, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			at, claim := replacing()
			c.change(&at, &claim)
			a := &Actor{options: Options{EvacuatesOthers: c.others}}
			why, passes := a.hopeless(at.Snapshot, claim)
			require.Equal(t, c.want, why)
			require.Equal(t, c.later, passes)
			if c.want == "" {
				return
			}
			r := &run{}
			require.Equal(t, c.want, a.lookAhead(at, claim, r))
			require.Equal(t, c.later, r.giveUp == "", r.giveUp)
			at.Now = at.Now.Add(patience)
			a.lookAhead(at, claim, r)
			require.Equal(t, c.later, r.giveUp == "", "not before its time is up")
			at.Now = at.Now.Add(1)
			a.lookAhead(at, claim, r)
			require.Contains(t, r.giveUp, c.want)
		})
	}
}

// A pod whose agent has come after all has all the time of an evacuation.
func TestAReplacementThatCanGoOnIsNotHeldAgainst(t *testing.T) {
	at, claim := replacing()
	a, r := &Actor{}, &run{}
	at.Snapshot.Pods[1].Revision = "v3"
	a.lookAhead(at, claim, r)
	require.False(t, r.heldSince.IsZero())
	at.Snapshot.Pods[1].Phase, at.Snapshot.Pods[1].Problem = model.Started, ""
	a.lookAhead(at, claim, r)
	require.True(t, r.heldSince.IsZero())
}

// adopts: pods without an agent are restarted for one. They have been ready since one went.
func (w *world) adopts(went *time.Time) {
	w.bare = map[types.UID]bool{}
	w.onLook = func(s *model.Snapshot) {
		s.Pools[0].Agents = true
		for i := range s.Pods {
			if !s.Pods[i].Agent {
				s.Pods[i].Since = model.At(*went)
			}
		}
	}
	w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Adopt = model.AdoptAllow })
}

// The pod goes by itself while nothing gives new pods an agent. Its successor, on the volume that
// was called empty, can neither be emptied nor left as it is: it is restarted for an agent, not
// sooner than any other pod would be, and then replaced.
func TestASuccessorWithoutAnAgentIsRestartedForOne(t *testing.T) {
	restarted := 0
	for at := 1; at < 20; at++ {
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls, went := 0, time.Time{}
			w.adopts(&went)
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.mu.Lock()
					went, w.bareNext = time.Now(), true
					w.mu.Unlock()
					w.vanish("s-2")
				}
				return nil
			})
			p.run(4 * time.Minute)
			object, _ := w.server.Pod(namespace, "s-2")
			w.mu.Lock()
			bare := w.bare[object.UID]
			w.mu.Unlock()
			if !bare || !slices.ContainsFunc(w.claims(), func(c model.Claim) bool { return c.UID == string(object.UID) && c.EmptiedAt != nil }) {
				return // it went with its volume, or was not called empty: then a person sees to it
			}
			restarted++
			newProcess(w, 0, false).run(8 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "gone at call %d: %s %+v", at, w.describe(), w.disks)
			require.Empty(t, w.relieved)
		})
	}
	require.Positive(t, restarted)
}

// A pod that is written down as empty is restarted first where nobody in it can empty it and a restart
// puts that right. When it starts after all, what was decided for that counts no more.
func TestWhoIsRestartedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		change func(at *Situation, claim *model.Claim)
		want   bool
	}{
		"its template finds no node, and there is a newer one": {func(*Situation, *model.Claim) {}, true},
		"its template is the newest":                           {func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].Revision = "v3" }, false},
		"it can be given up":                                   {func(_ *Situation, claim *model.Claim) { claim.EmptiedAt = nil }, false},
		"another pod has its name":                             {func(at *Situation, _ *model.Claim) { at.Snapshot.Pods[1].UID = "2" }, false},
		"a correction is held":                                 {func(at *Situation, _ *model.Claim) { at.Snapshot.Cluster.Paused = true }, false},
		"it came without an agent": {func(at *Situation, _ *model.Claim) {
			at.Snapshot.Pods[1].Agent, at.Snapshot.Pods[1].Phase, at.Snapshot.Pods[1].Revision = false, model.Ready, "v3"
		}, true},
		"it is below the hold line": {func(at *Situation, _ *model.Claim) {
			at.Snapshot.Cluster.Spec.Update.RollingUpdate = model.ByPartition
			at.Snapshot.Pools[0].Strategy, at.Snapshot.Pools[0].Partition = model.RollingUpdateStrategy, 2
		}, false},
		"it is above the hold line": {func(at *Situation, _ *model.Claim) {
			at.Snapshot.Cluster.Spec.Update.RollingUpdate = model.ByPartition
			at.Snapshot.Pools[0].Strategy, at.Snapshot.Pools[0].Partition = model.RollingUpdateStrategy, 1
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			at, claim := replacing()
			emptied := model.At(time.Unix(9000, 0))
			claim.EmptiedAt = &emptied
			c.change(&at, &claim)
			at.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
			require.Equal(t, c.want, (&Actor{}).restartsFirst(at.Snapshot, claim))
		})
	}

	at, claim := replacing()
	emptied := model.At(time.Unix(9000, 0))
	claim.EmptiedAt = &emptied
	at.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
	a, r := &Actor{}, &run{}
	restarting, _ := a.look(at, claim, r)
	require.Equal(t, Observe, next(restarting))
	r.heard.Observed, r.heard.Opened, r.observedAt = true, true, at.Now
	restarting, _ = a.look(at, claim, r)
	require.True(t, restarting.Heard.Opened, "nothing has changed")
	pod := &at.Snapshot.Pods[1]
	pod.Phase, pod.Problem = model.Ready, ""
	pod.Report = &model.Report{UID: "1", Self: true, Fresh: true, Member: model.Live, Settled: true}
	started, _ := a.look(at, claim, r)
	require.Equal(t, Shut, next(started))
	r.heard.Ajar, r.heard.Found = false, true
	started, _ = a.look(at, claim, r)
	require.Equal(t, Apply, next(started))
}

// Whatever else its pod is to be restarted for: without an agent it came a moment ago, and might again.
func TestWhoCameWithoutAnAgentIsNotRestartedAtOnce(t *testing.T) {
	at, claim := replacing()
	emptied := model.At(time.Unix(9000, 0))
	claim.EmptiedAt = &emptied
	pod := &at.Snapshot.Pods[1]
	pod.Agent, pod.Phase, pod.Problem = false, model.Ready, ""
	pod.Report = &model.Report{UID: "1", Fresh: true, Member: model.Live, Settled: true} // as the other says
	at.Snapshot.Cluster.Spec.Update.Adopt = model.AdoptAllow
	at.Snapshot.Cluster.Status.Claims = []model.Claim{claim}
	require.Nil(t, holdOf(at.Snapshot, claim, true))
	pod.Since = model.At(at.Now.Add(1 - policy.AdoptAgain))
	require.Equal(t, model.NeedsApproval, holdOf(at.Snapshot, claim, true).Rule)
}

// All agents are gone when the pod goes by itself, as no webhook answers. Nobody else can have looked at its
// successor, nor is one of them adopted while that is claimed, so it goes without.
func TestASuccessorWithoutAnAgentIsRestartedThoughNobodyElseHasOne(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		went := time.Time{}
		w.adopts(&went)
		p := intercepted(w, func(kubetest.Call) error {
			if w.writtenEmpty() > 0 && went.IsZero() {
				w.mu.Lock()
				went, w.bareNext = time.Now(), true
				for _, other := range []string{"s-0", "s-1"} {
					object, _ := w.server.Pod(namespace, other)
					w.bare[object.UID] = true
				}
				w.mu.Unlock()
				w.vanish("s-2")
			}
			return nil
		})
		p.run(4 * time.Minute)
		require.Equal(t, 1, w.writtenEmpty())
		require.Empty(t, w.gone(), "not sooner than any other pod would be")
		newProcess(w, 0, false).run(8 * time.Minute)
		w.requireClean()
		require.Empty(t, w.claims(), w.describe())
		volume, _ := w.server.VolumeClaim(namespace, diskOf("s-2"))
		require.False(t, w.disks.first[volume.UID])
		require.Equal(t, map[string]int{"s-2": 2}, w.gone(), "once for an agent, once for a volume")
	})
}

// The pod goes by itself when its newest template finds no node. Its successor, on the volume that was
// called empty, is corrected by the next template like any other pod, keeps its volume, and is then replaced.
func TestAnEmptiedPodIsCorrectedFirst(t *testing.T) {
	corrected := 0
	for at := 1; at < 20; at++ {
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls := 0
			w.bare, w.broken["v2"] = map[types.UID]bool{}, true
			w.onLook = func(s *model.Snapshot) {
				for i := range s.Pods {
					if pod := &s.Pods[i]; w.bare[types.UID(pod.UID)] && pod.Phase != model.Terminating {
						pod.Agent, pod.Phase, pod.Problem, pod.Report, pod.MustReplace = true, model.Pending, model.Unschedulable, nil, nil
					}
				}
			}
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.mu.Lock()
					w.update, w.bareNext = "v2", true
					w.mu.Unlock()
					w.vanish("s-2")
				}
				return nil
			})
			p.run(time.Minute)
			object, _ := w.server.Pod(namespace, "s-2")
			emptied := slices.ContainsFunc(w.claims(), func(c model.Claim) bool { return c.UID == string(object.UID) && c.EmptiedAt != nil })
			before := w.gone()["s-2"]
			w.mu.Lock()
			w.update = "v3"
			w.mu.Unlock()
			newProcess(w, 0, false).run(8 * time.Minute)
			if !emptied {
				return
			}
			corrected++
			w.requireClean()
			require.True(t, w.done(), "gone at call %d: %s %+v", at, w.describe(), w.disks)
			require.Equal(t, before+2, w.gone()["s-2"], "once for its template, once for a volume")
		})
	}
	require.Positive(t, corrected)
}

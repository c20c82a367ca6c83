package act

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/test/race"
)

// Every pod comes back under its name with a volume of its own, one at a time, and
// with three writes more than a restart costs: the claim says that it is empty, the
// volume is deleted, and whether that is allowed was asked for before.
func TestReplacesEveryPod(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		p.run(5 * time.Minute)
		w.requireRolled(1)
		require.Equal(t, 3, p.writes["evict pods/eviction"])
		require.Equal(t, 6, p.writes["delete persistentvolumeclaims"])
		total := -1 // the epoch is raised once
		for _, n := range p.writes {
			total += n
		}
		require.LessOrEqual(t, total, 8*len(w.pods), "%v", p.writes)
		for _, call := range p.calls {
			require.NotContains(t, call, "list")
		}
	})
}

// Every request of a replacement is one after which, or before which, the process
// may die. A successor goes on: no volume with data is deleted, nothing comes back
// before the new volume is there, nothing goes twice.
func TestResumesReplacementsAfterACrashAtEveryCall(t *testing.T) {
	resumesAfterACrashAtEveryCall(t, newDiskWorld, false, true)
}

// Pods without volume claims are emptied and removed.
func TestReplacesPodsWithoutVolumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.update = "v1"
		all := model.Count(3)
		w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Policy.MaxShardUnavailable = &all })
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		first := map[string]string{}
		for _, pod := range w.pods {
			object, _ := w.server.Pod(namespace, pod)
			first[pod] = string(object.UID)
		}
		last, end := "", time.Now().Add(time.Minute)
		for time.Now().Before(end) {
			cluster, _ := w.server.Cluster(namespace, name)
			s := w.snapshot(cluster)
			for i := range s.Pods {
				if s.Pods[i].UID == first[s.Pods[i].Name] {
					s.Pods[i].MustReplace = []string{"volume"}
				}
			}
			for _, c := range cluster.Status.Claims {
				if w.isDrained(c.UID) { // and so there is no copy on it
					s.Groups[0].Members = without(s.Groups[0].Members, c.Pod)
				}
			}
			out, leads := p.passOn(cluster, s)
			require.True(t, leads)
			time.Sleep(100 * time.Millisecond)
			last = fmt.Sprint(out.Waiting, policy.Decide(s).Text())
		}
		require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone(), last)
		require.Empty(t, w.claims())
		w.requireClean()
	})
}

func (w *world) isDrained(uid string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.drained[uid]
}

func without(members []model.Member, pod string) []model.Member {
	var rest []model.Member
	for _, m := range members {
		if m.Pod != pod {
			m.Leader = len(rest) == 0
			rest = append(rest, m)
		}
	}
	return rest
}

// The agent says that all is moved, and the database has a copy on the pod: it is
// believed who says that there is one, and nothing is deleted.
func TestAPodThatIsNotEmptyKeepsItsVolume(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		waits := ""
		for range 200 {
			cluster, _ := w.server.Cluster(namespace, name)
			s := w.snapshot(cluster)
			s.Groups[0].Members = nil
			for _, pod := range w.pods {
				s.Groups[0].Members = append(s.Groups[0].Members, model.Member{ID: pod, Pod: pod, State: model.MemberActive, Eligible: true, Leader: pod == "s-0"})
			}
			out, _ := p.passOn(cluster, s)
			for _, why := range out.Waiting {
				waits = why
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, "not empty: books/1 has a member on it that is Active", waits)
		require.Empty(t, w.gone())
		require.Empty(t, w.disks.lost)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Empty(t, w.wrong)
	})
}

// The pod goes by itself at any moment. While its volume stays, its successor is
// emptied in its place; nothing is included before that has a new one.
func TestAPodThatGoesBeforeItsVolumeIsFollowed(t *testing.T) {
	for at := 1; at < 45; at += 3 {
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls := 0
			p := newProcess(w, 0, false)
			p.agents.before = func(what string) (func() error, error) {
				if calls++; calls == at {
					w.vanish("s-2")
				}
				return p.count(what)
			}
			p.run(5 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "gone at call %d: %s %+v", at, w.describe(), w.disks)
		})
	}
}

// vanish is a node that dies with a pod on it: no grace, no drain, nobody asked.
func (w *world) vanish(pod string) {
	object, ok := w.server.Pod(namespace, pod)
	if !ok {
		return
	}
	w.live[object.UID] = false
	w.server.EndPod(namespace, pod, object.UID)
	rev := w.update
	go func() {
		w.disks.detach(object)
		w.start(pod, rev)
	}()
}

// A pause that comes before the claim says that the pod is empty gives the
// replacement up; one that comes later holds it, and it goes on when the pause ends.
func TestPauseOfAReplacementAtEveryCall(t *testing.T) {
	for at := 1; at < 40; at++ {
		if !race.Part(at, 15) {
			continue
		}
		inDiskWorld(t, func(t *testing.T, w *world) {
			calls, gone := 0, 0
			p := intercepted(w, func(kubetest.Call) error {
				if calls++; calls == at {
					w.edit(pause)
					gone = w.total()
				}
				return nil
			})
			p.run(time.Minute)
			require.LessOrEqual(t, w.total(), gone+1)
			for _, pod := range w.pods {
				w.requireGuardClosed(pod)
			}
			for _, claim := range w.claims() {
				require.NotNil(t, claim.EmptiedAt, "kept without need, paused at call %d", at)
			}
			w.edit(func(c *v1alpha1.DatabaseCluster) { delete(c.Annotations, v1alpha1.AnnotationPaused) })
			newProcess(w, 0, false).run(5 * time.Minute)
			w.requireClean()
			require.True(t, w.done(), "paused at call %d: %s", at, w.describe())
		})
	}
}

// A right that is missing is found before anything is moved, and said.
func TestReplacementWithoutTheRight(t *testing.T) {
	for _, verb := range []string{"get", "delete"} {
		inDiskWorld(t, func(t *testing.T, w *world) {
			p := intercepted(w, func(c kubetest.Call) error {
				if c.Resource == "persistentvolumeclaims" && c.Verb == verb {
					return apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), c.Name, nil)
				}
				return nil
			})
			p.run(5 * time.Second)
			require.Empty(t, w.gone())
			require.Empty(t, w.disks.began, "something was moved")
			s := p.leader.annotated(w.snapshotNow())
			require.Contains(t, policy.Decide(s).Text(), "veto: the coordinator may not")
			require.Contains(t, policy.Decide(s).Text(), "its account needs get and delete of persistentvolumeclaims in namespace prod")
			w.requireClean()
		})
	}
}

// A former leader's deletion of a volume arrives when its successor has the claim
// and a person has asked for a pause: nothing has come back to that volume.
func TestLateDeletionOfAVolume(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		var late bool
		first := newProcess(w, 0, false)
		first.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
			if c.Verb == "delete" && len(w.claims()) > 0 && w.claims()[0].EmptiedAt != nil && !late {
				late = true
				w.edit(pause)
				newProcess(w, 0, false).run(10 * time.Second)
			}
			return nil, nil
		})
		first.run(30 * time.Second)
		require.True(t, late)
		w.edit(func(c *v1alpha1.DatabaseCluster) { delete(c.Annotations, v1alpha1.AnnotationPaused) })
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
	})
}

func TestTwoActorsReplace(t *testing.T) {
	inDiskWorld(t, func(t *testing.T, w *world) {
		rolledByTwo(t, w)
	})
}

// Who would be emptied while no other pod has an agent that could say so is not: the others could not be
// adopted beside its claim, and it would wait for them.
func TestPodWhoseEvacuationNobodyCanConfirmIsHeld(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		for _, alone := range []bool{false, true} {
			s := w.snapshotNow()
			podNamed(s, "s-2").MustReplace = []string{"volume"}
			for i := range s.Pods[:2] {
				s.Pods[i].Agent, s.Pods[i].Report.Self = !alone, !alone
			}
			s = p.leader.annotated(s)
			require.Equal(t, alone, podNamed(s, "s-2").Refused == model.RuleVeto)
			at := model.At(s.Now.Time)
			podNamed(s, "s-2").Refused = ""
			s.Cluster.Status.Claims = []model.Claim{{ID: "c1-1", Pod: "s-2", UID: podNamed(s, "s-2").UID, Action: model.ActionReplace, EmptiedAt: &at}}
			s = p.leader.annotated(s)
			require.Empty(t, podNamed(s, "s-2").Refused, "others have said so, and it is written down")
		}
	})
}

// Whom nobody could empty is held in words, is not restarted instead, and holds up
// nobody else.
func TestPodThatCannotBeEvacuatedIsHeld(t *testing.T) {
	for what, change := range map[string]func(*model.Pod){
		"has no agent": func(p *model.Pod) { p.Agent, p.Report = false, nil },
		"has no node":  func(p *model.Pod) { p.Phase, p.Report = model.PodPhasePending, nil },
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				p := newProcess(w, 0, false)
				require.NoError(t, p.start())
				s := w.snapshotNow()
				must := podNamed(s, "s-2")
				must.MustReplace = []string{"volume"}
				change(must)
				s = p.leader.annotated(s)
				said := ""
				for _, hold := range policy.Explain(s, "s-2") {
					said += hold.Text() + "\n"
				}
				require.Contains(t, said, "hold   s-2 veto: it is to be replaced (volume changed), and no agent of its own runs that could empty it")

				s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleVeto, Pods: []string{"*"}, Reason: "now", Expires: model.At(s.Now.Add(time.Hour))}}
				require.NotContains(t, policy.Decide(s).Text(), "go     s-2", "whoever asks for it by name cannot have it either")
			})
		})
	}
}

package act

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/test/race"
)

// ways are the ways in which a pool with the strategy RollingUpdate is driven.
var ways = map[string]struct {
	by      model.RollingUpdate
	guarded bool
	writes  int // per restart
}{
	"guard":                     {model.RollingUpdateByGuard, true, 6},
	"partition, and a guard":    {model.RollingUpdateByPartition, true, 7},
	"partition without a guard": {model.RollingUpdateByPartition, false, 6},
}

func TestRollsOutBothWays(t *testing.T) {
	for how, way := range ways {
		for _, ordered := range []bool{false, true} {
			t.Run(how+" "+strconv.FormatBool(ordered), func(t *testing.T) {
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					w.set.ordered.Store(ordered)
					before := w.set.get()
					if way.by == model.RollingUpdateByGuard {
						time.Sleep(5 * time.Second) // the controller looks before anybody has begun
					}
					p := newProcess(w, 0, false)
					p.run(5 * time.Minute)
					w.requireRolled(1)
					total := -1 // the epoch is raised once
					for _, n := range p.writes {
						total += n
					}
					after := w.set.get()
					if way.by == model.RollingUpdateByGuard {
						require.Equal(t, before.Generation, after.Generation, "the set is never written")
						require.Equal(t, before.Annotations, after.Annotations)
						require.Zero(t, p.writes["patch statefulsets"])
						_, denied, _ := w.set.seen()
						require.Positive(t, denied, "the controller tried, and was refused")
						require.LessOrEqual(t, total, way.writes*len(w.pods), "%v", p.writes)
						return
					}
					time.Sleep(time.Second) // the controller looks
					lines, _, _ := w.set.seen()
					require.Equal(t, []int32{model.FirstOrdinalNone, 2, 1, 0, model.FirstOrdinalNone}, lines)
					require.Equal(t, "1000000", after.Annotations["rollcall.dev/partition"])
					require.LessOrEqual(t, total, way.writes*len(w.pods)+1, "%v", p.writes)
				})
			})
		}
	}
}

func TestResumesRollingUpdatesAfterACrashAtEveryCall(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			resumesAfterACrashAtEveryCall(t, func(t *testing.T) *world {
				w := newWorld(t)
				line := 0
				note := ""
				if way.by == model.RollingUpdateByPartition {
					line, note = int(model.FirstOrdinalNone), strconv.Itoa(int(model.FirstOrdinalNone))
				}
				w.becomeRolling(way.by, way.guarded, int32(line), note)
				return w
			}, true) // what a process leaves behind before a call is what it left after the one before
		})
	}
}

func TestTwoActorsAtOnceInARollingPool(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
				rolledByTwo(t, w)
			})
		})
	}
}

// The former leader is about to lower the partition, or to open a guard, when the next one takes
// over.
func TestLateWriteInARollingPoolFails(t *testing.T) {
	for how, way := range ways {
		for _, verb := range []string{"patch pods", "patch statefulsets", "evict pods/eviction"} {
			if way.by == model.RollingUpdateByGuard && verb == "patch statefulsets" {
				continue
			}
			t.Run(how+" "+verb, func(t *testing.T) {
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					var second *process
					first := intercepted(w, func(c kubetest.Call) error {
						if c.Verb+" "+c.Resource == verb && second == nil {
							w.set.sleep(true) // or it would take what is open
							second = newProcess(w, 0, false)
							require.NoError(t, second.start())
						}
						return nil
					})
					first.run(10 * time.Second)
					require.NotNil(t, second)
					require.Empty(t, w.gone(), "the former leader removed a pod")
					_, leads := first.pass()
					require.False(t, leads)
					if verb == "patch statefulsets" {
						require.Equal(t, model.FirstOrdinalNone, partitionIn(w.set.get()))
					}
					w.set.sleep(false)
					second.run(5 * time.Minute)
					w.requireClean()
					require.True(t, w.done(), w.describe())
				})
			})
		}
	}
}

// Somebody else leads, or has changed the template, when the StatefulSet is read whose line is to be lowered: it
// stays where it is.
func TestPartitionIsLoweredOnlyAsDecided(t *testing.T) {
	for how, way := range ways {
		if way.by == model.RollingUpdateByGuard {
			continue
		}
		for what, happen := range map[string]func(w *world){
			"another leads":    func(w *world) { require.NoError(w.t, newProcess(w, 0, false).start()) },
			"another template": func(w *world) { w.retemplate("v3") },
		} {
			t.Run(how+", "+what, func(t *testing.T) {
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					happened := false
					p := intercepted(w, func(c kubetest.Call) error {
						if c.Verb+" "+c.Resource == "get statefulsets" && !happened {
							happened = true
							w.set.sleep(true)
							happen(w)
						}
						return nil
					})
					p.run(10 * time.Second)
					require.True(t, happened)
					require.Equal(t, model.FirstOrdinalNone, partitionIn(w.set.get()))
					require.Empty(t, w.gone())
				})
			})
		}
	}
}

// A controller that is first is no conflict: it is the same removal.
func TestControllerIsFirst(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
				p := intercepted(w, func(c kubetest.Call) error {
					if c.Verb == "evict" {
						time.Sleep(200 * time.Millisecond)
					}
					return nil
				})
				p.run(5 * time.Minute)
				w.requireRolled(1)
				_, _, took := w.set.seen()
				require.Positive(t, took)
			})
		})
	}
}

// Nothing is freed on a cache that is behind: neither opened nor freed by a partition.
func TestNothingIsFreedWhileTheCacheIsBehind(t *testing.T) {
	for how, way := range ways {
		for _, deleted := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, deleted %t", how, deleted), func(t *testing.T) {
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					p := newProcess(w, 0, false)
					require.NoError(t, p.start())
					behind, versions := w.snapshotNow(), w.versions()
					gone := map[string]int{}
					if deleted {
						admin := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace)
						require.NoError(t, admin.Delete(t.Context(), "s-0", metav1.DeleteOptions{}))
						gone["s-0"] = 1
					} else { // it has left the database, which no object of Kubernetes tells
						pod, _ := w.server.Pod(namespace, "s-0")
						w.mu.Lock()
						w.live[pod.UID] = false
						w.mu.Unlock()
					}
					w.wrong = nil
					for range 600 {
						cluster, _ := w.server.Cluster(namespace, name)
						s := behind
						s.Now = model.At(time.Now())
						s.Cluster.Status.Claims, s.Cluster.Status.Epoch = cluster.Status.Claims, cluster.Status.Epoch
						w.tellDrains(&s)
						p.advance(cluster, s, versions)
						time.Sleep(100 * time.Millisecond)
						for _, name := range w.pods {
							if pod, ok := w.server.Pod(namespace, name); ok {
								require.NotEqual(t, v1alpha1.GuardOpen, pod.Labels[v1alpha1.LabelGuard], name)
							}
						}
					}
					require.Positive(t, p.writes["patch pods"], "a claim was noted")
					require.Equal(t, gone, w.gone())
					lines, _, _ := w.set.seen()
					require.Len(t, lines, 1)
					p.kill()
					p.leader.Wait()
				})
			})
		}
	}
}

// tellDrains has a snapshot of before say what agents say of their drains now.
func (w *world) tellDrains(s *model.Snapshot) {
	drains := map[string]model.DrainState{}
	for _, pod := range w.snapshotNow().Pods {
		if pod.Report != nil {
			drains[pod.UID] = pod.Report.Drain
		}
	}
	s.Pods = slices.Clone(s.Pods)
	for i := range s.Pods {
		if r := s.Pods[i].Report; r != nil {
			report := *r
			report.Drain = drains[s.Pods[i].UID]
			s.Pods[i].Report = &report
		}
	}
}

// A pause at any request is obeyed: what has not gone stays, is not freed, and
// nothing is left behind.
func TestPauseAtEveryCallInARollingPool(t *testing.T) {
	for how, way := range ways {
		t.Run(how, func(t *testing.T) {
			for at := 1; at < 28; at++ {
				if !race.Part(at, 15) {
					continue
				}
				inRollingWorld(t, way.by, way.guarded, func(t *testing.T, w *world) {
					calls, gone := 0, 0
					p := intercepted(w, func(kubetest.Call) error {
						if calls++; calls == at {
							w.edit(pause)
							gone = w.total()
						}
						return nil
					})
					p.run(time.Minute)
					w.requireClean()
					require.Empty(t, w.claims(), "pause at call %d", at)
					for _, pod := range w.pods {
						w.requireKept(pod)
					}
					require.LessOrEqual(t, w.total(), gone+1)
				})
			}
		})
	}
}

// As long as the old revision is the current one, a pod that dies below the partition comes back on
// that: so the partition stays down until then.
func TestPartitionStaysLowUntilTheRevisionIsCurrent(t *testing.T) {
	inRollingWorld(t, model.RollingUpdateByPartition, false, func(t *testing.T, w *world) {
		w.set.slow = true
		newProcess(w, 0, false).run(time.Minute)
		require.Equal(t, map[string]int{"s-0": 1, "s-1": 1, "s-2": 1}, w.gone())
		require.NoError(t, w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Delete(t.Context(), "s-1", metav1.DeleteOptions{}))
		w.wrong = nil // that was somebody else
		newProcess(w, 0, false).run(30 * time.Second)
		object, ok := w.server.Pod(namespace, "s-1")
		require.True(t, ok)
		require.Equal(t, "v2", object.Labels[revision])
		require.Zero(t, partitionIn(w.set.get()))

		w.mu.Lock()
		w.set.slow = false
		w.mu.Unlock()
		newProcess(w, 0, false).run(time.Minute)
		require.True(t, w.done(), w.describe())
		w.requireClean()
	})
}

// requireKept: the controller does not take the pod.
func (w *world) requireKept(pod string) {
	w.t.Helper()
	object, ok := w.server.Pod(namespace, pod)
	require.True(w.t, ok)
	require.Empty(w.t, object.Annotations["rollcall.dev/claim"])
	require.NotEqual(w.t, "open", object.Labels["rollcall.dev/guard"])
	if w.guard == "" && object.Labels[revision] != w.update {
		ordinal, _ := strconv.Atoi(pod[2:])
		require.Greater(w.t, partitionIn(w.set.get()), int32(ordinal))
	}
}

// Without a guard that is enforced the way by the guard is refused, in words that
// say what to do.
func TestGuardThatIsNotEnforcedIsRefusedInWords(t *testing.T) {
	inRollingWorld(t, model.RollingUpdateByGuard, true, func(t *testing.T, w *world) {
		w.set.sleep(true)
		w.enforced = false
		newProcess(w, 0, false).run(30 * time.Second)
		require.Empty(t, w.gone())
		require.Empty(t, w.claims())
		s := w.snapshotNow()
		_, hold := policy.Recheck(s, "s-2")
		require.Equal(t, model.RuleBadInput, hold.Rule)
		require.Contains(t, hold.Reason, "Partition")
	})
}

func (c *controller) sleep(asleep bool) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.asleep = asleep
}

package act

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/test/race"
)

const (
	settingName = "allocation"
	before      = "all"       // what a person has set
	throttled   = "primaries" // what drains write
)

// setting belongs to the whole database. A drain takes three orders, so that two of them would
// overlap if they could.
type setting struct {
	value    string
	turning  string // the claim whose drain is under way
	orders   map[string]int
	turned   int
	together int // most claims that relied on it at once
}

// changeSetting is the drain of one agent. The world is locked.
func (w *world) changeSetting(order effect.Order) effect.Progress {
	k := w.setting
	cluster, _ := w.server.Cluster(namespace, name)
	record := recordWith(&cluster.Status, func(s model.ClusterSetting) bool { return slices.Contains(s.Claims, order.Claim) })
	switch {
	case record == nil || order.Setting.Name != settingName:
		w.accuse("%s writes %s, and that is not recorded", order.Claim, settingName)
		return effect.Progress{State: model.DrainRunning}
	case string(record.Undo) != before || string(order.Setting.Undo) != before:
		w.accuse("the value before is said to be %q, and %q in the order", record.Undo, order.Setting.Undo)
	case k.orders[order.Claim] >= 3: // done, and asked again by a successor
		return effect.Progress{State: model.DrainDone}
	case k.turning != "" && k.turning != order.Claim && slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool { return c.ID == k.turning }):
		w.accuse("%s writes while %s does", order.Claim, k.turning)
	}
	k.together = max(k.together, len(record.Claims))
	k.turning, k.value = order.Claim, throttled
	if k.orders[order.Claim]++; k.orders[order.Claim] < 3 {
		return effect.Progress{State: model.DrainRunning}
	}
	k.turning = ""
	return effect.Progress{State: model.DrainDone}
}

// turnBack puts the setting back, at the second asking.
func (w *world) turnBack(undo []byte) bool {
	k := w.setting
	cluster, _ := w.server.Cluster(namespace, name)
	record := recordWith(&cluster.Status, func(s model.ClusterSetting) bool { return s.Name == settingName })
	if record == nil {
		if k.value == throttled {
			w.accuse("%s is put back without a record of it", settingName)
		}
		return true
	}
	for _, claim := range cluster.Status.Claims {
		if !slices.Contains(record.Claims, claim.ID) {
			continue
		}
		pod, there := w.server.Pod(namespace, claim.Pod)
		if !there || string(pod.UID) == claim.UID || !w.live[pod.UID] && !w.anyBroken() {
			w.accuse("%s is put back while %s is not", settingName, claim.Pod)
		}
	}
	k.value = string(undo)
	k.turned++
	return k.turned%2 == 0
}

func recordWith(status *v1alpha1.Status, is func(model.ClusterSetting) bool) *model.ClusterSetting {
	if at := slices.IndexFunc(status.ClusterSettings, is); at >= 0 {
		return &status.ClusterSettings[at]
	}
	return nil
}

func newSettingWorld(t *testing.T) *world {
	w := newWorld(t)
	w.setting, w.maxUnavailable = &setting{value: before, orders: map[string]int{}}, 2
	w.edit(func(c *v1alpha1.DatabaseCluster) {
		two := model.Count(2)
		c.Spec.Policy.MaxUnavailable, c.Spec.Policy.MaxShardUnavailable = &two, &two
	})
	return w
}

func (w *world) requirePutBack() {
	w.t.Helper()
	require.Equal(w.t, before, w.setting.value)
	cluster, _ := w.server.Cluster(namespace, name)
	require.Empty(w.t, cluster.Status.ClusterSettings)
}

// Two pods rely on one setting at once; it is written by one after the other, and
// has its old value at the end.
func TestClusterSetting(t *testing.T) {
	inWorld(t, func(t *testing.T, _ *world) {
		w := newSettingWorld(t)
		newProcess(w, 0, false).run(5 * time.Minute)
		w.requireRolled(1)
		w.requirePutBack()
		require.Equal(t, 2, w.setting.together)
	})
}

// Whenever a process dies, the next one finds what to put back, and when.
func TestClusterSettingAfterACrashAtEveryCall(t *testing.T) {
	resumesAfterACrashAtEveryCall(t, func(t *testing.T) *world {
		w := newSettingWorld(t)
		t.Cleanup(func() { w.t = t; w.requirePutBack() })
		return w
	}, false, true)
}

func TestClusterSettingOfTwoActors(t *testing.T) {
	inWorld(t, func(t *testing.T, _ *world) {
		w := newSettingWorld(t)
		first := newProcess(w, 0, false)
		require.NoError(t, first.start())
		done := make(chan struct{})
		go func() {
			defer close(done)
			first.run(5 * time.Minute)
		}()
		time.Sleep(4 * time.Second)
		second := newProcess(w, 0, false)
		second.run(5 * time.Minute)
		<-done
		w.requireRolled(1)
		w.requirePutBack()
	})
}

// A pause in the middle: who stays is undone, who has gone comes back, and then
// the setting is put back, too.
func TestClusterSettingOfAClaimGivenUp(t *testing.T) {
	for after := time.Second; after < 12*time.Second; after += 1500 * time.Millisecond {
		inWorld(t, func(t *testing.T, _ *world) {
			w := newSettingWorld(t)
			p := newProcess(w, 0, false)
			go func() {
				time.Sleep(after)
				w.edit(pause)
			}()
			p.run(time.Minute)
			w.requireClean()
			require.Empty(t, w.claims(), "paused after %s", after)
			w.requirePutBack()
		})
	}
}

// A pod that does not come back keeps the setting for as long as a start may
// take, and no longer.
func TestClusterSettingOfAPodThatDoesNotReturn(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, _ *world) {
		w := newSettingWorld(t)
		w.broken["v2"] = true
		p := newProcess(w, 0, false)
		p.run(9 * time.Minute)
		require.Equal(t, throttled, w.setting.value, "within startSeconds")
		q := newProcess(w, 0, false)
		q.run(12 * time.Minute)
		w.requirePutBack()
	})
}

// A record without claims is a leftover, and is put back at once.
func TestClusterSettingLeftBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, _ *world) {
		w := newSettingWorld(t)
		w.update, w.setting.value = "v1", throttled
		clusters := w.server.Client(nil).Clusters.DatabaseClusters(namespace)
		cluster, err := clusters.Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		cluster.Status.ClusterSettings = []model.ClusterSetting{{Name: settingName, Undo: []byte(before), Claims: []string{"long-gone"}}}
		_, err = clusters.UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
		require.NoError(t, err)
		newProcess(w, 0, false).run(time.Minute)
		w.requirePutBack()
		require.Empty(t, w.removed)
	})
}

// All pods come back without agents, while the webhook is down, and a drain has left a setting. The
// coordinator puts it back itself where it can. Where it cannot, no claim waits for that, what is
// left is said, and the first agent puts it back.
func TestClusterSettingWithoutAnyAgent(t *testing.T) {
	for _, plain := range []bool{true, false} {
		inWorld(t, func(t *testing.T, _ *world) {
			w := newSettingWorld(t)
			one := model.Count(1)
			w.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Policy.MaxUnavailable = &one })
			w.plain = plain
			p := newProcess(w, 0, false)
			require.NoError(t, p.start())
			settings := map[string]string{}
			for range 600 {
				out, leads := p.pass()
				require.True(t, leads)
				settings = out.Settings
				if w.gone()["s-2"] == 1 && !w.agentless {
					w.mu.Lock()
					w.agentless, w.update = true, "v2"
					w.mu.Unlock()
					for _, pod := range w.pods {
						w.strip(pod)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
			require.Equal(t, 1, w.total())
			require.Empty(t, w.claims())
			if plain {
				w.requirePutBack()
				require.NotContains(t, settings, settingName)
			} else {
				require.Equal(t, throttled, w.setting.value)
				require.Contains(t, settings[settingName], "the database asks for credentials")
				w.mu.Lock()
				w.agentless = false
				w.mu.Unlock()
				p.run(5 * time.Minute)
				w.requireRolled(1)
				w.requirePutBack()
			}
			p.kill()
			p.leader.Wait()
		})
	}
}

// strip takes the agent out of a pod's object, as if it had come without.
func (w *world) strip(pod string) {
	object, ok := w.server.Pod(namespace, pod)
	if !ok {
		return
	}
	object.Spec.InitContainers = nil
	_, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Update(w.t.Context(), object, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

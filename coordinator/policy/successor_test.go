package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestSuccessors are those of a primary among five whose replicas differ.
func TestSuccessors(t *testing.T) {
	all := func(m *replicated, change func(p *model.Pod)) {
		for i := range m.s.Pods {
			change(&m.s.Pods[i])
		}
	}
	updated := func(m *replicated, ordinals ...int) {
		for _, i := range ordinals {
			m.s.Pods[i].Revision = "v2"
		}
	}
	for name, c := range map[string]struct {
		way    string
		from   int
		change func(m *replicated)
		want   []string
	}{
		"nobody is updated":                   {"OnDelete", 4, func(*replicated) {}, []string{"mysql-0", "mysql-1", "mysql-2", "mysql-3"}},
		"nobody is updated, by the partition": {"partition", 4, func(*replicated) {}, []string{"mysql-0"}},
		"the lowest is claimed, too": {"partition", 4, func(m *replicated) {
			m.s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: "mysql-0", UID: "u0"}}
		}, []string{"mysql-1"}},
		"the lowest is not ready": {"partition", 4, func(m *replicated) { m.s.Pods[0].Phase = model.PodPhaseStarted }, []string{"mysql-1"}},
		"the lowest lags": {"partition", 4, func(m *replicated) {
			m.s.Pods[0].Report.Settled = false
			m.s.Pods[0].Report.Member = model.MembershipUnknown
		}, []string{"mysql-1"}},
		"some are updated": {"partition", 2, func(m *replicated) { updated(m, 3, 4) }, []string{"mysql-3", "mysql-4"}},
		"some are too new": {"partition", 2, func(m *replicated) {
			updated(m, 3, 4)
			m.versions["v2"] = "9.4.0"
		}, []string{"mysql-0"}},
		"the oldest lead, if they can be told": {"OnDelete", 2, func(m *replicated) {
			updated(m, 3, 4)
			m.versions["v2"] = "9.4.0"
			m.primary = 0 // it waits for nobody
			m.s.Cluster.Engine.OldestLeads = true
		}, []string{"mysql-0", "mysql-1"}},
		"the oldest lead, and all are of one version": {"OnDelete", 2, func(m *replicated) {
			updated(m, 3, 4)
			m.s.Cluster.Engine.OldestLeads = true
		}, []string{"mysql-3", "mysql-4"}},
		"the oldest lead, and all others are new": {"OnDelete", 0, func(m *replicated) {
			updated(m, 1, 2, 3, 4)
			m.versions["v2"] = "9.4.0"
			m.s.Cluster.Engine.OldestLeads = true
		}, []string{"mysql-1", "mysql-2", "mysql-3", "mysql-4"}},
		"all others are new": {"partition", 0, func(m *replicated) {
			updated(m, 1, 2, 3, 4)
			m.versions["v2"] = "9.4.0"
		}, []string{"mysql-1", "mysql-2", "mysql-3", "mysql-4"}},
		"versions are unknown": {"partition", 2, func(m *replicated) {
			updated(m, 3, 4)
			m.versions = map[string]string{}
		}, []string{"mysql-0"}},
		"only the newest are there": {"partition", 2, func(m *replicated) {
			updated(m, 3, 4)
			m.versions["v2"] = "9.4.0"
			m.s.Pods[0].Phase, m.s.Pods[1].Phase = model.PodPhaseStarted, model.PodPhaseStarted
		}, []string{"mysql-2"}},
		"an updated one is about to go": {"OnDelete", 0, func(m *replicated) {
			updated(m, 1, 2, 3, 4)
			m.s.Pods[4].Restart = true
		}, []string{"mysql-1", "mysql-2", "mysql-3"}},
		"one is scaled away": {"OnDelete", 0, func(m *replicated) {
			m.s.Pods[4].Remove = true
		}, []string{"mysql-1", "mysql-2", "mysql-3"}},
		"all others are scaled away": {"OnDelete", 0, func(m *replicated) {
			all(m, func(p *model.Pod) { p.Remove = p.Ordinal > 0 })
		}, []string{"mysql-1", "mysql-2", "mysql-3", "mysql-4"}},
		"its node is left": {"OnDelete", 0, func(m *replicated) {
			updated(m, 1, 2)
			m.s.Cluster.Spec.Update.NodeDrains.Follow = true
			m.s.Nodes = []model.Node{{Name: "n", Cordoned: true}}
			m.s.Pods[1].Node = "n"
		}, []string{"mysql-2"}},
		"nobody else":                {"OnDelete", 0, func(m *replicated) { all(m, func(p *model.Pod) { p.Phase = model.PodPhaseMissing }) }, []string{}},
		"none could take over":       {"OnDelete", 0, func(m *replicated) { m.unfit = true }, []string{"mysql-1", "mysql-2", "mysql-3", "mysql-4"}},
		"it leads nothing":           {"OnDelete", 0, func(m *replicated) { m.primary = 3 }, []string{"mysql-1", "mysql-2", "mysql-3", "mysql-4"}},
		"a number is a number":       {"partition", 10, func(*replicated) {}, []string{"mysql-0"}},
		"of eleven, without 0":       {"partition", 10, func(m *replicated) { m.s.Pods[0].Phase = model.PodPhasePending }, []string{"mysql-1"}},
		"by the partition, restarts": {"partition", 1, func(m *replicated) { updated(m, 0, 1, 2, 3, 4); m.s.Pods[0].Restart = true }, []string{"mysql-2", "mysql-3", "mysql-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newReplicated(t, max(5, c.from+1), c.from, rolledWays[c.way])
			c.change(m)
			require.Equal(t, c.want, Successors(m.at(), m.s.Pods[c.from].Name))
		})
	}
}

// Whatever the snapshot, no successor is the pod itself, certainly unavailable, or in another
// claim.
func TestSuccessorsOfAnything(t *testing.T) {
	eachSnapshot(t, func(t *testing.T, _ generator, s model.Snapshot) {
		for _, p := range s.Pods {
			who := Successors(s, p.Name)
			if len(who) == 1 && who[0] == p.Name {
				require.NotEmpty(t, p.Report.After)
				continue
			}
			for _, name := range who {
				o := podOf(s, name)
				require.NotEqual(t, p.Name, name)
				require.Equal(t, model.PodPhaseReady, o.Phase)
				require.Equal(t, model.MembershipLive, o.Report.Member)
				for _, c := range s.Cluster.Status.Claims {
					require.NotEqual(t, name, c.Pod)
				}
			}
		}
	})
}

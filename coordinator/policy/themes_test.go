package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// calm is a healthy cluster in the middle of a rollout: everything is normal, so that what a theme
// changes decides.
func (g generator) calm() model.Snapshot {
	s := defaultSnapshot()
	s.Now = model.At(noon)
	s.Cluster.Namespace, s.Cluster.Name = "prod", "calm"
	spec := &s.Cluster.Spec
	spec.Policy.MaxUnavailable = g.quantity()
	spec.Policy.MaxShardUnavailable = g.quantity()
	spec.Policy.MaxFailed = 2
	spec.Update.Adopt = model.AdoptAllow
	for _, name := range []string{"a", "b"}[:pick(g, 1, 1, 1, 2)] {
		p := defaultPool()
		p.Name, p.Replicas, p.Start, p.Revision = name, int32(2+g.IntN(4)), pick(g, int32(0), 0, 8), "v2"
		if g.rarely(25) {
			p.Replicas = int32(11 + g.IntN(3))
		}
		s.Pools = append(s.Pools, p)
		for n := range p.Replicas {
			s.Pods = append(s.Pods, g.calmPod(&p, p.Start+n))
		}
	}
	for _, z := range []string{"1", "2", "3"} {
		s.Nodes = append(s.Nodes, model.Node{Name: "n" + z, Zone: "z" + z})
	}
	for i := range 1 + g.IntN(4) {
		gr := defaultGroup()
		gr.ID = fmt.Sprintf("g%d", i)
		gr.Kind = pick(g, model.GroupShard, model.GroupShard, model.GroupShard, model.GroupQuorum, model.GroupAcks, model.GroupRole)
		gr.NeedsLeader = gr.Kind == model.GroupShard
		g.spread(&s, &gr, 1+g.IntN(4))
		if least := int32(len(gr.Members)/2 + 1); gr.Kind != model.GroupShard {
			gr.MinAvailable = &least
		}
		g.domains(&gr)
		s.Groups = append(s.Groups, gr)
	}
	return s
}

func (g generator) calmPod(pool *model.Pool, ordinal int32) model.Pod {
	p := defaultPod()
	p.Name = fmt.Sprintf("%s-%d", pool.Name, ordinal)
	p.UID, p.Pool, p.Ordinal, p.Revision = "u-"+p.Name, pool.Name, ordinal, pick(g, "v1", "v1", "v1", "v1", "v2")
	p.Node = fmt.Sprintf("n%d", 1+ordinal%3)
	p.Since, p.EstimateSeconds = model.At(noon.Add(-time.Hour)), float64(10+g.IntN(100))
	r := defaultReport()
	r.UID, r.EngineVersion = p.UID, "9.9.0"
	p.Report = &r
	return p
}

// spread puts n members of a group, the first leading, on as many pods as there are.
func (g generator) spread(s *model.Snapshot, gr *model.Group, n int) {
	gr.Members = nil
	for i, at := range g.Perm(len(s.Pods))[:min(n, len(s.Pods))] {
		m := defaultMember()
		m.ID, m.Pod, m.Leader = fmt.Sprintf("m%d", i), s.Pods[at].Name, i == 0 && gr.NeedsLeader
		gr.Members = append(gr.Members, m)
	}
}

// themed is a calm snapshot in which a few things are out of the ordinary.
func (g *generator) themed() model.Snapshot {
	s := g.calm()
	for range pick(g, 0, 1, 1, 1, 1, 2, 2, 3) {
		themes[g.IntN(len(themes))](g, &s)
	}
	silentWithoutAgents(&s)
	if s.Cluster.Spec.Update.RollingUpdate != model.RollingUpdateByPartition { // a later theme may have said so
		s.Cluster.Spec.Guard, s.Cluster.GuardEnforcing = model.GuardEnforce, true
	}
	if g.rarely(25) {
		nonsense(g, &s)
	}
	return s
}

// silentWithoutAgents removes the reports, because without agents there are none.
func silentWithoutAgents(s *model.Snapshot) {
	if slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Agent && p.Phase != model.PodPhaseMissing }) {
		return
	}
	for i := range s.Pods {
		s.Pods[i].Report = nil
	}
}

// some returns a pod of the snapshot, if possible one that should go.
func (g *generator) some(s *model.Snapshot) *model.Pod {
	if len(s.Pods) == 0 {
		s.Pods = append(s.Pods, g.calmPod(&s.Pools[0], s.Pools[0].Start))
	}
	p := &s.Pods[g.IntN(len(s.Pods))]
	p.Revision = "v1"
	return p
}

// heard returns the report of some pod, and the pod.
func (g *generator) heard(s *model.Snapshot) (*model.Report, *model.Pod) {
	p := g.some(s)
	if p.Report == nil {
		r := defaultReport()
		r.UID = p.UID
		p.Report = &r
	}
	return p.Report, p
}

func (g *generator) somePool(s *model.Snapshot) *model.Pool { return &s.Pools[g.IntN(len(s.Pools))] }

func (g *generator) someGroup(s *model.Snapshot) *model.Group {
	if len(s.Groups) == 0 {
		s.Groups = append(s.Groups, defaultGroup())
		s.Groups[0].ID = "g0"
		g.spread(s, &s.Groups[0], 3)
	}
	return &s.Groups[g.IntN(len(s.Groups))]
}

// roomy leaves the decision to the groups.
func roomy(s *model.Snapshot) {
	all := model.Percent(100)
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxZonesUnavailable = &all, nil
	s.Cluster.Spec.Policy.Unit = ""
}

// torn adds a group with one member lost, so that it can spare no other.
func torn(kind model.GroupKind) theme {
	return func(g *generator, s *model.Snapshot) {
		roomy(s)
		s.Cluster.Spec.Policy.MaxShardUnavailable = nil
		gr := model.Group{ID: "torn", Kind: kind}
		g.spread(s, &gr, 3)
		if least := int32(min(2, len(gr.Members)-1)); kind != model.GroupShard {
			gr.MinAvailable = &least
		}
		last := &gr.Members[len(gr.Members)-1]
		last.State = pick(g, model.MemberDown, model.MemberRecovering, model.MemberUnknown)
		g.only(s, gr)
	}
}

// only removes other groups of the name.
func (g *generator) only(s *model.Snapshot, gr model.Group) {
	s.Groups = slices.DeleteFunc(s.Groups, func(o model.Group) bool { return o.ID == gr.ID || g.rarely(2) })
	s.Groups = append(s.Groups, gr)
}

type theme func(*generator, *model.Snapshot)

// themes provoke one rule each, or one of the ways to go.
var themes = slices.Concat(themesOfTheCluster, themesOfPods, themesOfGroups, []theme{forget, forget, forget})

var themesOfTheCluster = []theme{
	func(_ *generator, s *model.Snapshot) { s.Cluster.Spec.Update.Mode = model.ModeObserve },
	func(g *generator, s *model.Snapshot) { g.partitions(s) },
	func(g *generator, s *model.Snapshot) {
		s.Cluster.Spec.Update.Paused, s.Cluster.Paused = g.rarely(2), true
	},
	func(g *generator, s *model.Snapshot) {
		p := g.somePool(s)
		p.Strategy, p.Partition = model.StrategyRollingUpdate, p.Start+pick(g, int32(0), 0, 2, 9)
		if line := p.Start + 1; g.rarely(2) {
			p.Ordered = &line
		}
	},
	func(g *generator, s *model.Snapshot) { s.Cluster.Window.Open = false },
	func(g *generator, s *model.Snapshot) { s.Fleet = model.Fleet{Restarts: g.IntN(3), Max: 2} },
	func(g *generator, s *model.Snapshot) { s.Fleet = model.Fleet{Restarts: g.IntN(3), Max: 2} },
	func(g *generator, s *model.Snapshot) {
		s.Cluster.Spec.Update.Canary = model.Canary{Pods: int32(1 + g.IntN(2)), SoakSeconds: pick(g, int64(0), 4000), Approve: g.rarely(2)}
	},
	func(g *generator, s *model.Snapshot) { g.somePool(s).Observed = false },
	func(g *generator, s *model.Snapshot) {
		s.Cluster.Spec.Policy.MaxFailed = 1
		r, p := g.heard(s)
		p.Revision, p.Phase, r.Member = "v2", pick(g, model.PodPhaseStarted, model.PodPhaseFailed), model.MembershipNotLive
	},
	func(_ *generator, s *model.Snapshot) { s.Health.Disagree = "they see different leaders" },
	func(g *generator, s *model.Snapshot) {
		p := g.somePool(s)
		p.Version, p.RunningVersion = pick(g, "9.8.9", "9.10.0", "10.0.0", "11.0.0", ""), pick(g, "", "9.8.0", "9.9.0", "10.1.0")
		s.Cluster.Engine.MinSourceVersion = pick(g, "", "9.0.0", "9.9.1")
		s.Cluster.Engine.MaxMajorStep = pick(g, 0, 1, 2)
		s.Cluster.Engine.SameMinor = g.rarely(3)
		s.Cluster.Spec.Policy.Downgrade = pick(g, model.Permission(""), model.PermissionAllow, model.PermissionHold)
	},
	func(g *generator, s *model.Snapshot) {
		s.Health.Verdict, s.Cluster.Spec.Policy.Health = pick(g, model.VerdictRecoverable, model.VerdictYellow, model.VerdictRed, model.VerdictUnknown), pick(g, model.LeastGreen, model.LeastRecoverable, model.LeastAny, "")
	},
	func(g *generator, s *model.Snapshot) {
		at := g.ago(40)
		s.Cluster.Status.LastDeparture, s.Cluster.Engine.SettleSeconds = &at, 30
	},
	func(g *generator, s *model.Snapshot) {
		g.somePool(s).Operation = pick(g, model.OperationVolume, model.OperationScaleDown, model.OperationRemoval)
	},
	func(g *generator, s *model.Snapshot) {
		p := g.somePool(s)
		p.Replicas, p.AllowShutdown = 0, g.rarely(5)
	},
	func(g *generator, s *model.Snapshot) {
		roomy(s)
		g.somePool(s).Management = model.ManagementOrderedReady
	},
	func(g *generator, s *model.Snapshot) {
		one := model.Count(1)
		s.Cluster.Spec.Policy.MaxUnavailable = &one
	},
	func(g *generator, s *model.Snapshot) { // a zone is unavailable, the others wait
		roomy(s)
		q := pick(g, model.Count(1), model.Count(2), model.Percent(50))
		s.Cluster.Spec.Policy.MaxZonesUnavailable = &q
		_, p := g.heard(s)
		p.Report.Settled = false
	},
	func(g *generator, s *model.Snapshot) { s.Cluster.Spec.Policy.Unit = model.UnitZone },
	func(g *generator, s *model.Snapshot) { // an outage
		s.Cluster.Spec.Policy.Unit = model.UnitAll
		if g.rarely(2) {
			s.Cluster.Status.Approvals = append(s.Cluster.Status.Approvals, model.Approval{What: model.ApprovedOutage, Revision: pick(g, "", "v1", "v2")})
		}
	},
	func(g *generator, s *model.Snapshot) { // an outage for a version that does not talk to what runs
		s.Cluster.Spec.Policy.Unit, s.Cluster.Engine.SameMinor = model.UnitAll, true
		s.Cluster.Status.Claims = nil
		s.Cluster.Status.Approvals = append(s.Cluster.Status.Approvals, model.Approval{What: model.ApprovedOutage})
		for i := range s.Pools {
			s.Pools[i].Version, s.Pools[i].RunningVersion = pick(g, "7.3.1", "7.3.1", "7.3.2", "7.4.0", ""), ""
		}
		for i := range s.Pods {
			if r := s.Pods[i].Report; r != nil {
				r.EngineVersion = pick(g, "7.1.9", "7.1.9", "7.1.9", "7.1.8", "7.3.1")
			}
		}
	},
	func(g *generator, s *model.Snapshot) { // nobody has an agent yet
		s.Cluster.Spec.Update.Adopt = pick(g, model.AdoptAllow, model.AdoptAsk)
		for i := range s.Pods {
			s.Pods[i].Agent, s.Pods[i].Report = false, nil
		}
	},
	func(g *generator, s *model.Snapshot) { // nobody is live
		for i := range s.Pods {
			if r := s.Pods[i].Report; r != nil {
				s.Pods[i].Phase, r.Member = pick(g, model.PodPhaseStarted, model.PodPhaseReady, model.PodPhaseFailed), model.MembershipNotLive
			}
		}
		if g.rarely(2) { // and nothing is left to lose
			s.Groups = nil
		}
	},
	func(g *generator, s *model.Snapshot) { // no pod becomes Ready
		s.Cluster.Status.Claims = nil
		for i := range s.Pods {
			if p := &s.Pods[i]; p.Phase == model.PodPhaseReady {
				p.Phase, p.Since = model.PodPhaseStarted, pick(g, model.Time{}, model.Time{}, p.Since)
			}
		}
	},
	func(g *generator, s *model.Snapshot) { // a drained node
		s.Cluster.Spec.Update.NodeDrains = model.NodeDrains{Follow: !g.rarely(4), Taints: []string{"leave"}}
		s.Cluster.Spec.Drain.Data.NodeDrain = pick(g, model.DataFate(""), model.DataKeep, model.DataLose)
		n := &s.Nodes[g.IntN(len(s.Nodes))]
		n.Cordoned, n.Taints = g.rarely(2), []model.Taint{{Key: pick(g, "leave", "other")}}
	},
	func(g *generator, s *model.Snapshot) {
		s.Cluster.Spec.Overrides = append(s.Cluster.Spec.Overrides, g.override(s))
	},
	func(g *generator, s *model.Snapshot) { s.Cluster.Spec.Policy.SoakSeconds = int64(1 + g.IntN(5000)) },
}

// override returns an override, mostly one that is not needed.
func (g *generator) override(s *model.Snapshot) model.Override {
	rule := model.Rules()[g.IntN(len(model.Rules()))]
	for !overridable(rule) {
		rule = model.Rules()[g.IntN(len(model.Rules()))]
	}
	pods := []string{"*"}
	if needsNames(rule) || g.rarely(2) {
		pods = []string{g.some(s).Name, "nobody"}
	}
	return model.Override{Rule: rule, Pods: pods, Reason: "why not", Expires: model.At(noon.Add(time.Duration(g.IntN(3)-1) * time.Hour))}
}

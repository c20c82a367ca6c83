package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// themesOfPods make one pod different.
var themesOfPods = []theme{
	func(g *generator, s *model.Snapshot) { g.some(s).Report = nil },
	func(g *generator, s *model.Snapshot) {
		r, _ := g.heard(s)
		r.Member = pick(g, model.MembershipUnknown, model.MembershipNotLive)
	},
	func(g *generator, s *model.Snapshot) { r, _ := g.heard(s); r.Fresh = false },
	func(g *generator, s *model.Snapshot) { g.some(s).Phase = model.PodPhaseTerminating },
	claimed,
	func(g *generator, s *model.Snapshot) { r, _ := g.heard(s); r.Veto = "no" },
	func(g *generator, s *model.Snapshot) { r, _ := g.heard(s); r.Busy = "backup" },
	func(g *generator, s *model.Snapshot) {
		r, _ := g.heard(s)
		r.After = []string{g.some(s).Name, pick(g, g.some(s).Name, "nobody")}
	},
	func(g *generator, s *model.Snapshot) { r, _ := g.heard(s); r.Rank = 1 + g.IntN(2) },
	func(g *generator, s *model.Snapshot) {
		r, _ := g.heard(s)
		r.Last = true
		if g.rarely(2) {
			g.lastByPartition(s)
		}
	},
	func(g *generator, s *model.Snapshot) { // it holds the role that a person wants to approve
		r, _ := g.heard(s)
		r.Last, s.Cluster.Spec.Update.ApproveLeader = true, true
	},
	func(g *generator, s *model.Snapshot) { // born without an agent
		r, p := g.heard(s)
		p.Agent, r.Self = false, false
		s.Cluster.Spec.Update.Adopt = pick(g, model.AdoptAllow, model.AdoptAsk, "")
		if g.rarely(2) {
			s.Cluster.Status.Approvals = append(s.Cluster.Status.Approvals, model.Approval{What: model.ApprovedAdopt, At: pick(g, model.Time{}, g.ago(7200))})
		}
	},
	func(g *generator, s *model.Snapshot) { // its zone is unknown
		p := g.some(s)
		p.Node, p.Zone = "", ""
		one := model.Count(1)
		s.Cluster.Spec.Policy.MaxZonesUnavailable = &one
	},
	refuse(model.RuleForeignBudget), refuse(model.RuleConflict), refuse(model.RuleForeignBudget), refuse(model.RuleConflict),
	func(g *generator, s *model.Snapshot) { g.some(s).Restart = true },
	func(g *generator, s *model.Snapshot) { g.some(s).Remove = true },
	func(g *generator, s *model.Snapshot) { at := g.ago(100); g.some(s).Removal.Marked = &at },
	func(g *generator, s *model.Snapshot) {
		p := g.somePool(s)
		to := int32(g.IntN(int(p.Replicas) + 1))
		p.ScalingTo = &to
	},
	func(g *generator, s *model.Snapshot) { // a pod beyond what is desired
		if p := g.somePool(s); p.Replicas > 1 {
			p.Replicas--
		}
	},
	func(g *generator, s *model.Snapshot) { g.brake(s, true) },
	func(g *generator, s *model.Snapshot) { g.brake(s, false) },
	func(g *generator, s *model.Snapshot) {
		for range 2 {
			g.brake(s, true)
		}
		g.somePool(s).Management = model.ManagementOrderedReady
	},
	func(g *generator, s *model.Snapshot) { // missing, with an entry or without
		p := g.some(s)
		*p = model.Pod{Name: p.Name, Pool: p.Pool, Ordinal: p.Ordinal, Phase: model.PodPhaseMissing, Since: pick(g, model.Time{}, g.ago(2000))}
	},
	func(g *generator, s *model.Snapshot) {
		if len(s.Pods) > 1 {
			s.Pods = slices.Delete(s.Pods, 0, 1)
		}
	},
	func(g *generator, s *model.Snapshot) { g.some(s).Problem = model.ProblemNodeGone },
	func(g *generator, s *model.Snapshot) { g.endOnDeadNode(s) },
	func(g *generator, s *model.Snapshot) { g.endOnDeadNode(s) },
	func(g *generator, s *model.Snapshot) { s.Nodes[g.IntN(len(s.Nodes))].Gone = true },
	func(g *generator, s *model.Snapshot) {
		p := g.some(s)
		p.Unit, s.Cluster.Spec.Policy.Unit = "rack", model.UnitZone
		g.some(s).Unit = "rack"
	},
	func(g *generator, s *model.Snapshot) { // its guard is open
		p := g.some(s)
		p.Guard = pick(g, model.GuardOpen, model.GuardNone)
		for i := range s.Pools {
			s.Pools[i].Strategy = model.StrategyRollingUpdate
		}
	},
}

// endOnDeadNode makes an outdated pod terminate on a node that is gone.
func (g *generator) endOnDeadNode(s *model.Snapshot) {
	p := g.some(s)
	p.Phase, p.Problem, p.Revision = model.PodPhaseTerminating, pick(g, model.ProblemNodeGone, model.ProblemNodeGone, model.ProblemStuckTerminating), "v1"
}

// refuse makes one rule that is found while acting the only one left.
func refuse(rule model.Rule) theme {
	return func(g *generator, s *model.Snapshot) {
		roomy(s)
		s.Groups = nil
		for range 2 {
			g.some(s).Refused = rule
		}
	}
}

// brake makes a pod fail to start, or fail. A pod that hosts nothing goes first.
func (g *generator) brake(s *model.Snapshot, hostsNothing bool) {
	r, p := g.heard(s)
	p.Phase, p.Problem = pick(g, model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseFailed, model.PodPhaseStarted, model.PodPhaseReady), pick(g, model.ProblemNone, model.ProblemImagePull, model.ProblemCrashLoop)
	p.Since = g.ago(1200)
	r.Member, r.Fresh, r.Self = model.MembershipNotLive, !g.rarely(6), !g.rarely(6)
	for i := range s.Groups {
		for j := range s.Groups[i].Members {
			if m := &s.Groups[i].Members[j]; hostsNothing && m.Pod == p.Name {
				m.State, m.Leader = pick(g, model.MemberDown, model.MemberDown, model.MemberRecovering), false
			}
		}
	}
}

func claimed(g *generator, s *model.Snapshot) {
	p, claims := g.some(s), &s.Cluster.Status.Claims
	if slices.ContainsFunc(*claims, func(c model.Claim) bool { return c.Pod == p.Name }) {
		return
	}
	*claims = append(*claims, model.Claim{
		ID: "k-" + p.Name, Pod: p.Name, UID: pick(g, p.UID, p.UID, "before", ""), Action: pick(g, model.ActionRestart, model.ActionRestart, model.ActionRemove),
		To: pick(g, "v2", "v2", "v1"), Zone: pick(g, "", "z1"), Reason: model.ReasonOutdated,
		Phase: pick(g, model.PhaseClaimed, model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened, model.PhaseGone, model.PhaseSettling),
	})
}

// themesOfGroups make one group different.
var themesOfGroups = []theme{
	torn(model.GroupShard), torn(model.GroupQuorum), torn(model.GroupAcks), torn(model.GroupRole),
	torn(model.GroupQuorum), torn(model.GroupAcks), torn(model.GroupRole),
	func(g *generator, s *model.Snapshot) { g.someGroup(s).Moving = true },
	func(g *generator, s *model.Snapshot) { g.someGroup(s).Moving = true },
	func(g *generator, s *model.Snapshot) { g.someGroup(s).Moving = true },
	func(g *generator, s *model.Snapshot) { g.someGroup(s).Moving = true },
	func(g *generator, s *model.Snapshot) { // nobody leads
		gr := g.someGroup(s)
		gr.NeedsLeader = true
		for i := range gr.Members {
			gr.Members[i].Leader = false
		}
	},
	func(g *generator, s *model.Snapshot) { // two lead
		gr := g.someGroup(s)
		g.spread(s, gr, 3)
		gr.NeedsLeader = true
		for i := range gr.Members {
			gr.Members[i].Leader = i < 2
		}
	},
	noneElseLeads, noneElseLeads, noneElseLeads, noneElseLeads, noneElseLeads, noneElseLeads,
	noneElseServes, noneElseServes,
	noneElseServes,
	recovers, recovers, recovers,
	func(g *generator, s *model.Snapshot) { // it cannot be protected
		gr := g.someGroup(s)
		s.Cluster.Spec.Policy.Unprotected = pick(g, model.PermissionAllow, model.PermissionHold)
		for i := range gr.Members {
			if i < 2 || g.rarely(2) {
				gr.Members[i].Pod = gr.Members[0].Pod
			}
		}
	},
	func(g *generator, s *model.Snapshot) { // its data is lost
		s.Cluster.Spec.Drain.Data.Restart = model.DataLose
		gr := g.someGroup(s)
		gr.Members = gr.Members[:min(len(gr.Members), 1+g.IntN(2))]
		g.brake(s, true)
	},
	func(g *generator, s *model.Snapshot) { // some is elsewhere
		gr := g.someGroup(s)
		for i := range gr.Members {
			if g.rarely(2) {
				gr.Members[i].Pod = pick(g, "", "", "elsewhere-0")
			}
		}
	},
	func(g *generator, s *model.Snapshot) {
		gr := g.someGroup(s)
		for i := range gr.Members {
			if g.rarely(2) {
				gr.Members[i].State = pick(g, model.MemberRecovering, model.MemberMoving, model.MemberDown, model.MemberUnknown)
			}
		}
	},
}

func noneElseLeads(g *generator, s *model.Snapshot) {
	roomy(s)
	gr := defaultGroup()
	gr.ID = "one-leads"
	g.spread(s, &gr, 3)
	for i := range gr.Members {
		gr.Members[i].Eligible = i == 0
	}
	switch g.IntN(8) {
	case 0: // no other may ever lead
	case 1, 2, 3:
		s.Cluster.Spec.Policy.Unprotected = model.PermissionHold
	default: // another one may, but does not now
		if len(gr.Members) < 2 {
			break
		}
		gr.Members[1].Eligible, gr.Members[1].State = true, pick(g, model.MemberRecovering, model.MemberDown)
	}
	g.only(s, gr)
}

func noneElseServes(g *generator, s *model.Snapshot) {
	roomy(s)
	none := int32(0)
	gr := model.Group{ID: "one-serves", Kind: pick(g, model.GroupAcks, model.GroupRole), MinAvailable: &none}
	g.spread(s, &gr, 2+g.IntN(2))
	for i := range gr.Members {
		if i > 0 {
			gr.Members[i].State = pick(g, model.MemberDown, model.MemberRecovering)
		}
	}
	g.only(s, gr)
}

func recovers(g *generator, s *model.Snapshot) {
	roomy(s)
	two := model.Count(2)
	s.Cluster.Spec.Policy.MaxShardUnavailable = &two
	gr := defaultGroup()
	gr.ID = "recovers"
	g.spread(s, &gr, 4)
	for i := range gr.Members {
		gr.Members[i].State = []model.MemberState{model.MemberActive, model.MemberRecovering, pick(g, model.MemberDown, model.MemberRecovering), model.MemberActive}[i]
	}
	g.only(s, gr)
}

// forget makes one field unknown.
func forget(g *generator, s *model.Snapshot) {
	r, p := g.heard(s)
	gr := g.someGroup(s)
	m := &gr.Members[g.IntN(len(gr.Members))]
	pool := g.somePool(s)
	for range 2 {
		pick(g,
			func() { p.Report = nil },
			func() { p.Zone, p.Node = "", "" },
			func() { p.Node = "nowhere" },
			func() { p.Since = model.Time{} },
			func() { p.UID = "" },
			func() { p.Revision = "" },
			func() { p.Guard = "" },
			func() { p.EstimateSeconds = 0 },
			func() { p.Problem = "Mystery" },
			func() { r.UID = pick(g, "", "another") },
			func() { r.Member = "" },
			func() { r.EngineVersion = "" },
			func() { r.Drain = "" },
			func() { *r = model.Report{} },
			func() { m.State = "" },
			func() { m.Pod = "" },
			func() { m.ID = "" },
			func() { m.Leader, m.Eligible = false, false },
			func() { pool.Revision = "" },
			func() { pool.Management, pool.Strategy = "", "" },
			func() { pool.Version, pool.RunningVersion = "", "" },
			func() { s.Health.Verdict = "" },
			func() { s.Nodes = nil },
			func() { s.Groups = nil },
			func() { s.Cluster.Spec = model.Spec{} },
		)()
	}
	if len(s.Nodes) == 0 {
		s.Nodes = []model.Node{{Name: "n1"}}
	}
}

// nonsense breaks one field, and notes which.
func nonsense(g *generator, s *model.Snapshot) {
	p, pool, gr := g.some(s), g.somePool(s), g.someGroup(s)
	bad := pick(g, model.IntOrPercent{}, model.Count(-1), model.IntOrPercent{Text: "0%"}, model.IntOrPercent{Text: "most"}, model.IntOrPercent{Text: "1.5"})
	minus := int32(-1 - g.IntN(3))
	type flaw struct {
		field string
		apply func()
	}
	f := pick(g,
		flaw{"version", func() { s.Version = 2 }},
		flaw{"now", func() { s.Now = model.Time{} }},
		flaw{"cluster.spec.policy.maxUnavailable", func() { s.Cluster.Spec.Policy.MaxUnavailable = &bad }},
		flaw{"cluster.spec.policy.maxShardUnavailable", func() { s.Cluster.Spec.Policy.MaxShardUnavailable = &bad }},
		flaw{"cluster.spec.policy.maxZonesUnavailable", func() { s.Cluster.Spec.Policy.MaxZonesUnavailable = &bad }},
		flaw{"cluster.spec.policy.unit", func() { s.Cluster.Spec.Policy.Unit = "Rack" }},
		flaw{"cluster.spec.update.canary.pods", func() { s.Cluster.Spec.Update.Canary.Pods = minus }},
		flaw{"pools[" + pool.Name + "].replicas", func() { pool.Replicas = pick(g, minus, math.MaxInt32) }},
		flaw{"pools[" + pool.Name + "].start", func() { pool.Start = minus }},
		flaw{"pools[" + pool.Name + "].name", func() { s.Pools = append(s.Pools, *pool) }},
		flaw{"pools[" + pool.Name + "].management", func() { pool.Management = "Random" }},
		flaw{"pods[" + p.Name + "].phase", func() { p.Phase = pick(g, "", model.PodPhase("Running")) }},
		flaw{"pods[" + p.Name + "].pool", func() { p.Pool = "other" }},
		flaw{"pods[" + p.Name + "].estimateSeconds", func() { p.EstimateSeconds = math.Inf(1) }},
		flaw{"pods[" + p.Name + "].report.member", func() { p.Report = &model.Report{Member: "Alive"} }},
		flaw{"groups[" + gr.ID + "].kind", func() { gr.Kind = "Ring" }},
		flaw{"groups[" + gr.ID + "].minAvailable", func() { gr.Kind, gr.MinAvailable = model.GroupQuorum, pick(g, nil, &minus) }},
		flaw{"groups[" + gr.ID + "].id", func() { s.Groups = append(s.Groups, *gr) }},
		flaw{"fleet.max", func() { s.Fleet.Max = -1 }},
		flaw{fmt.Sprintf("cluster.status.claims[%s].pod", p.Name), func() {
			k := model.Claim{Pod: p.Name}
			s.Cluster.Status.Claims = []model.Claim{k, k}
		}},
		flaw{"cluster.spec.overrides[0].expires", func() {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleBusy, Pods: []string{"a-0"}, Reason: "why not"}}
		}},
		flaw{"cluster.spec.overrides[0].rule", func() {
			s.Cluster.Spec.Overrides = []model.Override{{Rule: model.RuleClaimed, Pods: []string{"a-0"}, Reason: "why not", Expires: model.At(noon.Add(time.Hour))}}
		}},
	)
	f.apply()
	g.broken = f.field
}

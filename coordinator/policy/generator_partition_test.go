package policy

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// partitions makes the snapshot one whose pools are driven by the partition.
func (g generator) partitions(s *model.Snapshot) {
	s.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition
	s.Cluster.Spec.Guard = pick(g, model.GuardEnforce, model.GuardEnforce, model.GuardOff)
	s.Cluster.GuardEnforcing = !g.rarely(5)
	s.Cluster.Status.Initialized = !g.rarely(10)
	for i := range s.Pools {
		p := &s.Pools[i]
		p.Strategy = pick(g, model.StrategyRollingUpdate, model.StrategyRollingUpdate, model.StrategyRollingUpdate, model.StrategyOnDelete)
		p.Partition = pick(g, model.FirstOrdinalNone, model.FirstOrdinalNone, p.Start, p.Start+int32(g.IntN(int(p.Replicas)+1)))
		p.Force = g.rarely(12)
		if g.rarely(8) {
			ordered := p.Start + int32(g.IntN(int(p.Replicas)+1))
			p.Ordered = &ordered
		}
	}
}

// lastByPartition adds a pod that goes last to each pool that is driven by the partition.
func (g generator) lastByPartition(s *model.Snapshot) {
	s.Cluster.Spec.Update.RollingUpdate = model.RollingUpdateByPartition
	for i := range s.Pools {
		s.Pools[i].Strategy, s.Pools[i].Partition = model.StrategyRollingUpdate, model.FirstOrdinalNone
	}
	seen := map[string]bool{}
	for _, i := range g.Perm(len(s.Pods)) {
		p := &s.Pods[i]
		if p.Report != nil && p.Revision != "v2" && !seen[p.Pool] {
			p.Report.Last, seen[p.Pool] = true, true
		} else if g.rarely(6) {
			p.Restart = true
		}
	}
}

// claimedByPartition makes the snapshot one whose pools are driven by the partition, with room for
// several pods at once and copies that recover, and returns the claims of the pods that go.
func (g generator) claimedByPartition(s *model.Snapshot) []model.Claim {
	g.partitions(s)
	three := model.Count(3)
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxShardUnavailable = &three, &three
	for i := range s.Groups {
		if m := s.Groups[i].Members; len(m) > 0 && g.rarely(3) {
			m[g.IntN(len(m))].State = pick(g, model.MemberRecovering, model.MemberUnknown)
		}
	}
	return claimsOf(Decide(*s))
}

// brokenBelow makes the snapshot one with pools that are driven by the partition, most of them
// OrderedReady and without guards, of which one or two outdated pods are broken, below others that
// serve.
func (g generator) brokenBelow(s *model.Snapshot) {
	g.partitions(s)
	s.Cluster.Spec.Guard = pick(g, model.GuardOff, model.GuardOff, model.GuardOff, model.GuardEnforce)
	s.Cluster.Window.Open, s.Cluster.Status.Initialized, s.Health.Verdict = true, true, model.VerdictGreen
	pods, shards := model.Count(int64(2+g.IntN(5))), model.Count(int64(1+g.IntN(4)))
	s.Cluster.Spec.Policy.MaxUnavailable, s.Cluster.Spec.Policy.MaxShardUnavailable = &pods, &shards
	for i := range s.Pools {
		p := &s.Pools[i]
		p.Strategy, p.Force, p.Observed, p.Revision = model.StrategyRollingUpdate, false, true, "v2"
		p.Management = pick(g, model.ManagementOrderedReady, model.ManagementOrderedReady, model.ManagementOrderedReady, model.ManagementParallel)
		p.Partition = pick(g, model.FirstOrdinalNone, model.FirstOrdinalNone, model.FirstOrdinalNone, p.Start+1+int32(g.IntN(int(p.Replicas)+1)))
		if g.rarely(2) {
			g.morePods(s, p)
		}
		for left := 1 + g.IntN(2); left > 0 && p.Replicas > 1; left-- {
			g.breakPod(s, p.Name, p.Start+int32(g.IntN(int(p.Replicas))))
		}
	}
}

// morePods adds pods at the top of a pool.
func (g generator) morePods(s *model.Snapshot, pool *model.Pool) {
	i := slices.IndexFunc(s.Pods, func(p model.Pod) bool { return p.Pool == pool.Name && p.Ordinal == pool.Start && p.Report != nil })
	for more := 1 + g.IntN(3); i >= 0 && more > 0; more-- {
		p, report := s.Pods[i], *s.Pods[i].Report
		p.Ordinal = pool.Start + pool.Replicas
		p.Name = fmt.Sprintf("%s-%d", pool.Name, p.Ordinal)
		if slices.ContainsFunc(s.Pods, func(q model.Pod) bool { return q.Name == p.Name }) {
			return
		}
		p.UID = "u-" + p.Name
		report.UID, p.Report = p.UID, &report
		s.Pods = append(s.Pods, p)
		pool.Replicas++
	}
}

// breakPod breaks a pod, and makes most others of its pool outdated pods that serve.
func (g generator) breakPod(s *model.Snapshot, pool string, ordinal int32) {
	for i := range s.Pods {
		switch p := &s.Pods[i]; {
		case p.Pool != pool || p.Phase == model.PodPhaseMissing:
		case p.Ordinal == ordinal:
			p.Phase, p.Problem, p.Revision = pick(g, model.PodPhaseFailed, model.PodPhaseNotStarted), pick(g, model.ProblemCrashLoop, model.ProblemImagePull), "v1"
			p.Report = &model.Report{UID: p.UID, Member: model.MembershipNotLive, Fresh: true, NotLiveSeconds: 86400}
			if g.rarely(5) && !slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == p.Name }) {
				s.Cluster.Status.Claims = append(s.Cluster.Status.Claims, model.Claim{
					ID: "of " + p.Name, Pod: p.Name, UID: pick(g, "before", p.UID), Action: model.ActionLowerPartition, Reason: model.ReasonOutdated, Phase: model.PhaseGone,
				})
			}
			for k := range s.Groups {
				for m := range s.Groups[k].Members {
					if s.Groups[k].Members[m].Pod == p.Name {
						s.Groups[k].Members[m].State = model.MemberDown
					}
				}
			}
		case p.Report != nil && (p.Phase != model.PodPhaseFailed && p.Phase != model.PodPhaseNotStarted) && !g.rarely(8):
			p.Phase, p.Problem, p.Revision = model.PodPhaseReady, "", "v1"
			p.Report.UID, p.Report.Member, p.Report.Fresh, p.Report.Settled, p.Report.Rank = p.UID, model.MembershipLive, true, true, 0
		}
	}
}

// claimedBelow returns claims on some of the pods that are to be freed by lowering the partition,
// as a coordinator may have made them a while ago, and on the pods that go by the plan.
func (g generator) claimedBelow(s *model.Snapshot) []model.Claim {
	plan := Decide(*s)
	if len(plan.Steps) > 0 && g.rarely(2) {
		return claimsOf(plan)
	}
	var steps []model.Step
	for _, p := range s.Pods {
		if p.Revision == "v1" && p.Phase != model.PodPhaseMissing && !g.rarely(4) {
			reason := pick(g, model.ReasonOutdated, model.ReasonFailed)
			steps = append(steps, model.Step{Pod: p.Name, UID: pick(g, p.UID, p.UID, p.UID, "before"), Action: model.ActionLowerPartition, Reason: reason})
		}
	}
	return claimsOf(model.Plan{Steps: steps})
}

// claimsOf returns the claims of a plan's steps, drained.
func claimsOf(p model.Plan) []model.Claim {
	var all []model.Claim
	for _, step := range p.Steps {
		all = append(all, model.Claim{
			ID: "of " + step.Pod, Pod: step.Pod, UID: step.UID, Action: step.Action, Reason: step.Reason,
			Prepare: step.Prepare, Phase: model.PhaseDrained, From: "v1", To: "v2",
		})
	}
	return all
}

func (g generator) replacements(s *model.Snapshot) {
	r := &s.Cluster.Spec.Replacement
	r.Enabled = !g.rarely(4)
	r.FailureDetectionSeconds = pick(g, int64(0), 500, 1000)
	r.TaintReplacementSeconds = pick(g, int64(0), 200)
	if !g.rarely(4) {
		n := pick(g, int32(0), 1, 1, 2, 3)
		r.MaxConcurrentFailed = &n
	}
	r.FaultDomainBased = g.rarely(3)
	s.Cluster.Engine.DataRoles = []string{"storage", "general"}
	r.UpdateStrategy = pick(g, model.UpdateStrategy(""), model.UpdateDelete, model.UpdateReplaceTransactionSystem, model.UpdateReplace)
	if g.rarely(3) {
		n := int32(1 + g.IntN(2))
		r.MaxConcurrentMisconfigured = &n
	}
	for _, key := range []string{"k", "*"} {
		if !g.rarely(3) {
			option := model.ReplacementTaint{Key: key}
			if !g.rarely(5) {
				n := pick(g, int64(0), 600, 1<<62)
				option.DurationSeconds = &n
			}
			r.Taints = append(r.Taints, option)
		}
	}
	for i := range s.Nodes {
		for _, key := range []string{"k", "other"} {
			if g.rarely(4) {
				s.Nodes[i].Taints = append(s.Nodes[i].Taints, model.Taint{Key: key, Since: pick(g, model.Time{}, g.ago(2000), g.ago(2000))})
			}
		}
	}
	for i := range s.Pods {
		g.replaced(&s.Pods[i])
	}
	for i := range s.Cluster.Status.Claims {
		c := &s.Cluster.Status.Claims[i]
		c.Action = pick(g, model.ActionRestart, model.ActionReplace, model.ActionRemove)
	}
}

func (g generator) taintKey() string { return pick(g, "k", "other") }

func (g generator) replaced(p *model.Pod) {
	if p.Report != nil {
		p.Report.Roles = pick(g, nil, []string{"storage"}, []string{"log"}, []string{"log", "storage"}, []string{"coordinator", "log"})
	}
	if g.rarely(4) {
		kind := pick(g, model.ConditionMissingProcesses, model.ConditionPodFailing, model.ConditionMissingPod, model.ConditionMissingPVC, model.ConditionMissingService, model.ConditionPodPending, model.ConditionProcessIsMarkedAsExcluded,
			model.ConditionNodeTaintDetected, model.ConditionNodeTaintReplacing, "SidecarUnreachable")
		c := model.PodCondition{Type: kind, Since: g.ago(2000)}
		if kind == model.ConditionNodeTaintDetected {
			c.Key = g.taintKey()
		}
		p.Conditions = append(p.Conditions, c)
	}
	if g.rarely(6) {
		p.Tolerates = []string{g.taintKey()}
	}
	if p.Phase == model.PodPhaseMissing {
		if g.rarely(2) {
			p.Conditions = append(p.Conditions, model.PodCondition{Type: model.ConditionMissingPod, Since: g.ago(2000)})
		}
		return
	}
	if g.rarely(8) {
		p.MustReplace = pick(g, []string{"volume"}, []string{"nodeSelector", "volume"})
	}
	if g.rarely(10) {
		p.Removal.Marked = g.agoOrNever(2000)
		p.Removal.Excluded = g.rarely(3)
	}
	p.Exempt = g.rarely(12)
	if g.rarely(40) {
		p.Refused = model.RuleVeto
	}
}

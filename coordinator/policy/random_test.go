package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// noon is when every random snapshot is taken.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// generator makes random snapshots of two kinds. In a wild one every fact is sometimes unusual. In
// a themed one most are normal, so that something can go, and one or two are not.
type generator struct {
	*rand.Rand
	broken string // the field of the snapshot that makes no sense, if there is one
	apart  *rand.Rand
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 17)), apart: rand.New(rand.NewPCG(seed, 18))}
}

type chooser interface{ IntN(int) int }

func pick[T any](g chooser, list ...T) T { return list[g.IntN(len(list))] }

// rarely returns true once in n times.
func (g generator) rarely(n int) bool { return g.IntN(n) == 0 }

func (g generator) ago(most int) model.Time {
	return model.At(noon.Add(-time.Duration(g.IntN(most+1)) * time.Second))
}

func (g generator) agoOrNever(most int) *model.Time {
	if g.rarely(2) {
		return nil
	}
	t := g.ago(most)
	return &t
}

func (g generator) quantity() *model.IntOrPercent {
	if g.rarely(3) {
		return nil
	}
	q := pick(g, model.Count(1), model.Count(2), model.Count(3), model.Percent(25), model.Percent(34), model.Percent(50), model.Percent(100))
	return &q
}

func (g *generator) snapshot() model.Snapshot {
	s := g.themed
	if g.rarely(3) {
		s = g.wild
	}
	drawn := s()
	g.spells(&drawn)
	g.topology(&drawn)
	return drawn
}

// topology draws how the role of primary is shared, for one snapshot in four, and has a pod lead.
func (g *generator) topology(s *model.Snapshot) {
	if g.apart.IntN(4) > 0 || len(s.Pods) == 0 {
		return
	}
	c := &s.Cluster
	c.Topology = pick(g.apart, append(model.Topologies(), model.TopologyUnknown, model.TopologyUnknown)...)
	c.Spec.Update.Primary = pick(g.apart, "", "", model.PrimarySwitchover, model.PrimaryRestartInPlace, model.PrimaryHold, model.PrimaryHold)
	g.adoptInPlace(s)
	for i := range s.Groups {
		if s.Groups[i].ID == "primary" {
			return
		}
	}
	one, all := int32(1), model.Group{ID: "primary", Kind: model.GroupRole, NeedsLeader: g.apart.IntN(8) > 0}
	all.MinAvailable = &one
	leader := g.apart.IntN(len(s.Pods))
	for i := range s.Pods {
		if i == leader || c.Topology != model.TopologyFixedPrimary {
			all.Members = append(all.Members, model.Member{ID: s.Pods[i].Name, Pod: s.Pods[i].Name, State: model.MemberActive, Leader: i == leader, Eligible: true})
		}
	}
	s.Groups = append(s.Groups, all)
}

// spells sets for how long pods that are not live have been so: unknown, a blip, or around and
// beyond what a start may take.
func (g *generator) spells(s *model.Snapshot) {
	for i := range s.Pods {
		if r := s.Pods[i].Report; r != nil && r.Member == model.MembershipNotLive {
			r.NotLiveSeconds = pick(g.apart, 0, 4, 300, 599.5, 600, 5_000, 5_000, 5_000, 5_000)
		}
	}
}

func (g generator) wild() model.Snapshot {
	s := defaultSnapshot()
	s.Now = model.At(noon)
	s.Cluster.Namespace, s.Cluster.Name = "prod", "random"
	s.Cluster.Spec = g.spec()
	s.Pools = g.pools()
	agents := !g.rarely(8)
	for i := range s.Pools {
		s.Pods = append(s.Pods, g.pods(&s.Pools[i], agents)...)
	}
	silentWithoutAgents(&s)
	names := []string{""}
	for i := range s.Pods {
		names = append(names, s.Pods[i].Name)
	}
	s.Groups = g.groups(names)
	for _, z := range []string{"1", "2", "3"} {
		s.Nodes = append(s.Nodes, model.Node{
			Name: "n" + z, Zone: pick(g, "z"+z, "z"+z, ""), Cordoned: g.rarely(8), Gone: g.rarely(12),
		})
	}
	g.status(&s)
	if g.rarely(4) {
		g.partitions(&s)
	}
	if g.rarely(3) {
		g.replacements(&s)
	}
	return s
}

func (g generator) spec() model.Spec {
	var spec model.Spec
	spec.Policy.MaxUnavailable = g.quantity()
	spec.Policy.MaxShardUnavailable = g.quantity()
	if g.rarely(4) {
		spec.Policy.MaxZonesUnavailable = g.quantity()
	}
	spec.Policy.Unit = pick(g, model.UnitPod, model.UnitPod, model.UnitPod, model.UnitPod, model.UnitPod, model.UnitZone, model.UnitZone)
	if g.rarely(20) {
		spec.Policy.Unit = model.UnitAll
	}
	spec.Policy.SoakSeconds = pick(g, int64(0), 0, 0, 60)
	spec.Policy.Health = pick(g, model.LeastHealth(""), model.LeastGreen, model.LeastRecoverable, model.LeastAny)
	spec.Policy.Unprotected = pick(g, model.PermissionAllow, model.PermissionAllow, model.PermissionHold)
	spec.Policy.MaxFailed = pick(g, int32(0), 2, 5)
	spec.Drain.Data.Restart = pick(g, model.DataKeep, model.DataKeep, model.DataKeep, model.DataLose)
	spec.Update.NodeDrains.Follow = g.rarely(3)
	spec.Update.Adopt = pick(g, model.AdoptAllow, model.AdoptAllow, model.AdoptAllow, model.AdoptAllow, model.AdoptAsk)
	spec.Update.ApproveLeader = g.rarely(10)
	spec.Update.Paused = g.rarely(80)
	if g.rarely(8) {
		spec.Update.Canary = model.Canary{Pods: 1, SoakSeconds: pick(g, int64(0), 100), Approve: g.rarely(2)}
	}
	if g.rarely(80) {
		spec.Update.Mode = model.ModeObserve
	}
	if g.rarely(5) {
		spec.Overrides = []model.Override{{
			Rule: pick(g, model.RuleNoReport, model.RuleNoReport, model.RuleStaleReport, model.RuleZoneUnknown, model.RulePodBudget, model.RuleShardBudget, model.RuleLeaderLast, model.RuleRankOrder, model.RuleNoLeader, model.RuleHealth, model.RuleRolloutHalted),
			Pods: pick(g, []string{"*"}, []string{"a-0"}, []string{"a-1", "a-2"}), Reason: "why not",
			Expires: model.At(noon.Add(time.Duration(g.IntN(3)-1) * time.Hour)),
		}}
	}
	return spec
}

func (g generator) pools() []model.Pool {
	pools := make([]model.Pool, 0, 2)
	for _, name := range []string{"a", "b"}[:pick(g, 1, 1, 1, 2)] {
		p := defaultPool()
		p.Agents = !g.rarely(20)
		p.Name, p.Replicas, p.Start, p.Revision = name, int32(1+g.IntN(6)), pick(g, int32(0), 0, 8), pick(g, "v2", "v2", "v2", "v2", "")
		p.Observed = !g.rarely(80)
		p.Management = pick(g, model.ManagementParallel, model.ManagementParallel, model.ManagementParallel, model.ManagementParallel, model.ManagementOrderedReady)
		p.Version = pick(g, "", "", "", "9.10.0", "9.10.0", "9.10.0", "9.9.0", "10.0.0")
		if g.rarely(5) {
			p.Strategy, p.Partition = model.StrategyRollingUpdate, pick(g, int32(0), 0, 0, 2)
		}
		if g.rarely(20) {
			p.Operation = model.OperationVolume
		}
		if g.rarely(15) {
			to := int32(g.IntN(int(p.Replicas) + 1))
			p.ScalingTo = &to
		}
		if g.rarely(25) {
			p.Replicas, p.AllowShutdown = 0, g.rarely(2)
		}
		pools = append(pools, p)
	}
	return pools
}

func (g generator) pods(pool *model.Pool, agents bool) []model.Pod {
	var pods []model.Pod
	beyond := pick(g, int32(0), 0, 0, 1)
	if pool.Replicas == 0 {
		beyond = 2
	}
	for n := range pool.Replicas + beyond {
		p := defaultPod()
		p.Ordinal = pool.Start + n
		p.Name = fmt.Sprintf("%s-%d", pool.Name, p.Ordinal)
		p.UID, p.Pool = "u-"+p.Name, pool.Name
		p.Node, p.Revision = pick(g, "n1", "n2", "n3", ""), pick(g, "v1", "v1", "v2")
		p.Zone = pick(g, "", "", "z1", "z2")
		p.Since = g.ago(2000)
		if g.rarely(40) {
			p.Since = model.Time{}
		}
		p.Unit = pick(g, "", "", "", "r1")
		p.Agent = agents && !g.rarely(25)
		p.Restart, p.Remove = g.rarely(20), g.rarely(40)
		p.EstimateSeconds = float64(10 + g.IntN(100))
		if g.rarely(6) {
			p.Phase = pick(g, model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseStarted, model.PodPhaseStarted, model.PodPhaseTerminating, model.PodPhaseFailed)
			p.Problem = pick(g, model.ProblemNone, model.ProblemNone, model.ProblemCrashLoop, model.ProblemImagePull, model.ProblemNodeGone, "Weather")
		}
		if g.rarely(15) {
			p.Guard = pick(g, model.GuardOpen, model.GuardNone)
		}
		if g.rarely(60) {
			p.Refused = pick(g, model.RuleForeignBudget, model.RuleConflict)
		}
		if agents && !g.rarely(25) {
			p.Report = g.report(&p)
		}
		switch {
		case g.rarely(25):
			p = model.Pod{Name: p.Name, Pool: p.Pool, Ordinal: p.Ordinal, Phase: model.PodPhaseMissing, Since: p.Since}
		case g.rarely(40):
			continue // no entry at all
		}
		pods = append(pods, p)
	}
	return pods
}

func (g generator) report(p *model.Pod) *model.Report {
	r := defaultReport()
	r.UID, r.Self = p.UID, p.Agent
	if g.rarely(30) {
		r.UID = "another"
	}
	r.Fresh = !g.rarely(20)
	r.AgeSeconds = g.Float64() * 10
	r.EngineVersion = pick(g, "9.9.0", "9.9.0", "9.9.0", "9.9.0", "9.9.0", "9.10.0", "", "")
	if g.rarely(40) {
		r.EngineVersion = "8.11.4"
	}
	if p.Phase != model.PodPhaseReady || g.rarely(20) {
		r.Member = pick(g, model.MembershipLive, model.MembershipNotLive, model.MembershipNotLive, model.MembershipUnknown)
	}
	r.Last = g.rarely(10)
	r.Rank = pick(g, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2)
	r.Settled = !g.rarely(20)
	r.SettledSince = g.agoOrNever(200)
	if g.rarely(40) {
		r.Busy = "backup"
	}
	if g.rarely(40) {
		r.Veto = "no"
	}
	if g.rarely(30) {
		r.After = []string{"a-0"}
	}
	return &r
}

func (g generator) groups(pods []string) []model.Group {
	var groups []model.Group
	for i := range g.IntN(6) {
		gr := defaultGroup()
		gr.ID = fmt.Sprintf("g%d", i)
		gr.Kind = pick(g, model.GroupShard, model.GroupShard, model.GroupShard, model.GroupShard, model.GroupQuorum, model.GroupAcks, model.GroupRole)
		gr.Moving = g.rarely(40)
		n := 1 + g.IntN(5)
		if gr.Kind != model.GroupShard {
			gr.NeedsLeader = g.rarely(20)
			least := int32(g.IntN(n))
			gr.MinAvailable = &least
		}
		leads := g.IntN(n)
		for j := range n {
			m := defaultMember()
			m.ID = fmt.Sprintf("m%d", j)
			m.Pod = pods[g.IntN(len(pods))]
			if g.rarely(60) {
				m.Pod = "elsewhere-0"
			}
			if g.rarely(7) && (j != leads || g.rarely(5)) {
				m.State = pick(g, model.MemberRecovering, model.MemberDown, model.MemberMoving, model.MemberUnknown)
			}
			m.Leader = gr.NeedsLeader && (j == leads && !g.rarely(100) || g.rarely(200))
			m.Eligible = !g.rarely(5)
			gr.Members = append(gr.Members, m)
		}
		g.domains(&gr)
		groups = append(groups, gr)
	}
	return groups
}

// domains puts the members of some groups into domains, the pods of one together or not, and sets
// the minimum of some shards.
func (g generator) domains(gr *model.Group) {
	if g.apart.IntN(4) == 0 {
		for i := range gr.Members {
			gr.Members[i].Domain = pick(g.apart, "", "d1", "d1", "d2", "d3")
		}
	}
	if gr.Kind == model.GroupShard && g.apart.IntN(5) == 0 {
		least := int32(g.apart.IntN(len(gr.Members) + 1))
		gr.MinAvailable = &least
	}
}

func (g generator) status(s *model.Snapshot) {
	st := &s.Cluster.Status
	st.LastProgress, st.LastDeparture = g.agoOrNever(900), g.agoOrNever(30)
	s.Cluster.Engine.SettleSeconds = pick(g, 0.0, 0, 0, 0, 15)
	s.Cluster.Window.Open = !g.rarely(80)
	if g.rarely(30) {
		s.Health.Verdict = pick(g, model.VerdictRecoverable, model.VerdictYellow, model.VerdictRed, model.VerdictUnknown)
	}
	if g.rarely(80) {
		s.Health.Disagree = "they do not"
	}
	if g.rarely(20) {
		s.Fleet = model.Fleet{Restarts: g.IntN(4), Max: 3}
	}
	if g.rarely(6) {
		st.Approvals = []model.Approval{{What: pick(g, model.ApprovedAdopt, model.ApprovedLeader, model.ApprovedCanary, model.ApprovedOutage, model.ApprovedOutage), Revision: pick(g, "", "v2"), At: pick(g, model.Time{}, g.ago(2000))}}
	}
	if g.rarely(60) {
		st.Claims = append(st.Claims, model.Claim{ID: "k-unseen", Pod: "a-99", UID: "u", Zone: pick(g, "", "z1"), Phase: model.PhaseGone})
	}
	for i := range s.Pods {
		if p := &s.Pods[i]; g.rarely(20) {
			st.Claims = append(st.Claims, model.Claim{
				ID: "k-" + p.Name, Pod: p.Name, UID: pick(g, p.UID, "before"), To: "v2", Zone: pick(g, "", "z1"),
				Phase: pick(g, model.PhaseClaimed, model.PhaseDrained, model.PhaseEmptied, model.PhaseGone, model.PhaseSettling), Reason: model.ReasonOutdated,
				BeforeTurn: g.apart.IntN(4) > 0,
			})
		}
	}
}

// shuffle shuffles every list of a snapshot, except the pools, whose order matters.
func (g generator) shuffle(s model.Snapshot) model.Snapshot {
	s = *s.DeepCopy()
	g.Shuffle(len(s.Pods), func(i, j int) { s.Pods[i], s.Pods[j] = s.Pods[j], s.Pods[i] })
	g.Shuffle(len(s.Nodes), func(i, j int) { s.Nodes[i], s.Nodes[j] = s.Nodes[j], s.Nodes[i] })
	g.Shuffle(len(s.Groups), func(i, j int) { s.Groups[i], s.Groups[j] = s.Groups[j], s.Groups[i] })
	for k := range s.Groups {
		m := s.Groups[k].Members
		g.Shuffle(len(m), func(i, j int) { m[i], m[j] = m[j], m[i] })
	}
	c := s.Cluster.Status.Claims
	g.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	for i := range s.Pods {
		if r := s.Pods[i].Report; r != nil {
			slices.Reverse(r.After)
			slices.Reverse(r.Roles)
		}
		slices.Reverse(s.Pods[i].Conditions)
		slices.Reverse(s.Pods[i].MustReplace)
	}
	for i := range s.Nodes {
		slices.Reverse(s.Nodes[i].Taints)
	}
	slices.Reverse(s.Cluster.Spec.Replacement.Taints)
	return s
}

package policy

import (
	"fmt"
	"slices"
	"time"
)

// naive decides like the policy and shares no code with it: it counts nothing
// in advance, goes through the whole snapshot for every question, and is as
// slow as that. What it says is compared with Decide on random snapshots.
type naive struct {
	s      *Snapshot
	sp     Spec   // with its defaults
	pods   []*Pod // all there are, listed once
	sorted []Group
	chosen []string
	outage bool
	// of pools that are driven by their partition
	repairing []*Pod
	tried     []string
}

func newNaive(s *Snapshot) *naive {
	n := &naive{s: s, sp: s.Cluster.Spec}
	u, p, d := &n.sp.Update, &n.sp.Policy, &n.sp.Drain.Data
	u.Adopt, d.Restart, d.NodeDrain = orElse(u.Adopt, "Ask"), orElse(d.Restart, "Keep"), orElse(d.NodeDrain, "Lose")
	p.Health, p.Unprotected, p.Downgrade = orElse(p.Health, "Recoverable"), orElse(p.Unprotected, "Allow"), orElse(p.Downgrade, "Hold")
	p.StartSeconds, p.MaxFailed = orElse(p.StartSeconds, 600), orElse(p.MaxFailed, 1)
	if n.sp.Engine == "OpenSearch" {
		p.MaxUnavailable = orElse(p.MaxUnavailable, &IntOrPercent{Int: 1})
	}
	p.MaxUnavailable = orElse(p.MaxUnavailable, &IntOrPercent{Text: "25%"})
	p.MaxShardUnavailable = orElse(p.MaxShardUnavailable, &IntOrPercent{Int: 1})
	n.sp.Guard = orElse(n.sp.Guard, "Enforce")
	n.outage = p.Unit == UnitAll && !n.noAgentAnywhere()
	r := &n.sp.Replacement
	r.FailureDetectionSeconds, r.TaintReplacementSeconds = orElse(r.FailureDetectionSeconds, 7200), orElse(r.TaintReplacementSeconds, 1800)
	if r.MaxConcurrentFailed == nil {
		r.MaxConcurrentFailed = new(int32)
		*r.MaxConcurrentFailed = 1
	}
	return n
}

func orElse[T comparable](v, otherwise T) T {
	var nothing T
	if v == nothing {
		return otherwise
	}
	return v
}

// of is a count, or that many percent of a total, rounded down and at least 1.
func of(q *IntOrPercent, total int) int {
	many := int(q.Int)
	if k := 0; q.Text != "" {
		_, _ = fmt.Sscanf(q.Text, "%d%%", &k)
		many = k * total / 100
	}
	return max(many, 1)
}

// verdict is a pod with nothing for go, or the rule and group that hold it.
type verdict struct {
	Pod   string
	Rule  Rule
	Group string
}

func (n *naive) pool(name string) *Pool {
	for i := range n.s.Pools {
		if n.s.Pools[i].Name == name {
			return &n.s.Pools[i]
		}
	}
	return nil
}

func (n *naive) poolAt(name string) int {
	return slices.IndexFunc(n.s.Pools, func(p Pool) bool { return p.Name == name })
}

// everyPodThere lists the pods, those that no entry speaks of included.
func (n *naive) everyPodThere() []*Pod {
	if n.pods != nil {
		return n.pods
	}
	for i := range n.s.Pods {
		n.pods = append(n.pods, &n.s.Pods[i])
	}
	for _, pool := range n.s.Pools {
		for o := pool.Start; o < pool.Start+pool.Replicas; o++ {
			if !slices.ContainsFunc(n.pods, func(p *Pod) bool { return p.Pool == pool.Name && p.Ordinal == o }) {
				n.pods = append(n.pods, &Pod{Name: fmt.Sprintf("%s-%d", pool.Name, o), Pool: pool.Name, Ordinal: o, Phase: Missing})
			}
		}
	}
	return n.pods
}

func (n *naive) find(name string) *Pod {
	for _, p := range n.everyPodThere() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func (n *naive) wanted(p *Pod) bool {
	pool := n.pool(p.Pool)
	return p.Ordinal >= pool.Start && p.Ordinal < pool.Start+pool.Replicas
}

func (n *naive) noAgentAnywhere() bool {
	exists := func(p *Pod) bool { return p.Phase != Missing }
	all := n.everyPodThere()
	return slices.ContainsFunc(all, exists) &&
		!slices.ContainsFunc(all, func(p *Pod) bool { return exists(p) && p.Agent })
}

func (n *naive) heard(p *Pod) *Report {
	if p.Report == nil || p.Report.UID != "" && p.UID != "" && p.Report.UID != p.UID {
		return nil
	}
	return p.Report
}

func (n *naive) alive(p *Pod) bool {
	if p.Phase != Ready && p.Phase != Started && p.Phase != Terminating {
		return false
	}
	if r := n.heard(p); r != nil {
		return r.Member == Live
	}
	return n.noAgentAnywhere() && p.Phase == Ready
}

func (n *naive) claimed(p *Pod) *Claim {
	for i := range n.s.Cluster.Status.Claims {
		if c := &n.s.Cluster.Status.Claims[i]; c.Pod == p.Name {
			return c
		}
	}
	return nil
}

func (n *naive) nodeOf(p *Pod) Node {
	for _, node := range n.s.Nodes {
		if node.Name == p.Node && p.Node != "" {
			return node
		}
	}
	return Node{}
}

func (n *naive) lost(p *Pod) bool { return p.Problem == NodeGone || n.nodeOf(p).Gone }

func (n *naive) old(p *Pod) bool {
	pool := n.pool(p.Pool)
	return p.Phase != Missing && pool.Observed && pool.Revision != "" && p.Revision != pool.Revision
}

func (n *naive) soak() time.Duration {
	if s := time.Duration(n.sp.Policy.SoakSeconds) * time.Second; !n.noAgentAnywhere() || s > 30*time.Second {
		return s
	}
	return 30 * time.Second
}

func (n *naive) calmSince(p *Pod) time.Time {
	if r := n.heard(p); r != nil && r.SettledSince != nil && r.SettledSince.After(p.Since.Time) {
		return r.SettledSince.Time
	}
	return p.Since.Time
}

func (n *naive) gone(p *Pod) bool { return n.claimed(p) != nil || n.wanted(p) && n.absent(p) }

// absent: whoever wants this pod, nobody can count on it now.
func (n *naive) absent(p *Pod) bool {
	if n.claimed(p) != nil {
		return true
	}
	return n.unwell(p) || n.soaks(p)
}

func (n *naive) unwell(p *Pod) bool {
	r := n.heard(p)
	return p.Phase != Ready || n.lost(p) || !n.alive(p) || n.handed(p) || r != nil && !r.Settled
}

func (n *naive) soaks(p *Pod) bool { return n.soak() > 0 && n.s.Now.Sub(n.calmSince(p)) < n.soak() }

// slow: what has no beginning has always been so, unless it is nowhere.
func (n *naive) slow(p *Pod) bool {
	if p.Since.IsZero() {
		return p.Phase != Missing
	}
	return n.s.Now.Sub(p.Since.Time) >= time.Duration(n.sp.Policy.StartSeconds)*time.Second
}

func (n *naive) denies(p *Pod) bool {
	r := n.heard(p)
	return r != nil && (r.Self || !p.Agent && p.Phase == Started) && r.Fresh && r.Member == NotLive
}

// forLong: it has not been live for as long as a start may take.
func (n *naive) forLong(r *Report) bool { return r.NotLiveSeconds >= float64(n.sp.Policy.StartSeconds) }

func (n *naive) sick(p *Pod) Reason {
	waiting := p.Phase == Pending || p.Phase == NotStarted
	switch {
	case n.lost(p):
		return ""
	case p.Phase == Failed, waiting && (p.Problem == "CrashLoop" || p.Problem == "StartupProbe"):
		return ReasonFailed
	case waiting && slices.Contains([]Problem{"ImagePull", "Config", "Unschedulable", "Init", "Sidecar"}, p.Problem),
		waiting && n.slow(p):
		return ReasonNeverStarted
	case (p.Phase == Started || p.Phase == Ready) && n.denies(p) && n.forLong(n.heard(p)):
		return ReasonFailed
	case p.Phase == Started && (p.Problem == "CrashLoop" || p.Problem == "StartupProbe") && (n.denies(p) || n.heard(p) == nil):
		return ReasonFailed
	}
	return ""
}

func (n *naive) leaving(p *Pod) bool {
	node := n.nodeOf(p)
	if !n.sp.Update.NodeDrains.Follow || node.Name == "" {
		return false
	}
	return node.Cordoned || slices.ContainsFunc(node.Taints, func(t Taint) bool {
		return slices.Contains(n.sp.Update.NodeDrains.Taints, t.Key)
	})
}

func (n *naive) why(p *Pod) Reason {
	switch {
	case p.Phase == Missing && (n.goes(p) || n.marked(p) || !n.failing(p)):
		return ""
	case n.goes(p):
		return ReasonScaleDown
	case n.marked(p) || n.mustBeReplaced(p) || n.failing(p):
		return ReasonReplacement
	case p.Restart || n.old(p):
		if s := n.sick(p); s != "" {
			return s
		}
		if p.Restart {
			return ReasonRestartRequested
		}
		return ReasonOutdated
	case !p.Agent && n.pool(p.Pool).Agents:
		return ReasonAdopt
	case n.leaving(p):
		return ReasonNodeDrain
	}
	return ""
}

func (n *naive) isSick(p *Pod) bool {
	w := n.why(p)
	return w == ReasonNeverStarted || w == ReasonFailed || w == ReasonReplacement && (p.Phase == Missing || n.sick(p) != "") ||
		w == ReasonScaleDown && (n.sick(p) == ReasonNeverStarted || !p.Agent && p.Phase == Started && !n.alive(p) && n.slow(p))
}

func (n *naive) free(p *Pod) bool {
	return n.isSick(p) && n.harmless(p, n.why(p))
}

// harmless: with the pod nothing goes that serves, or may serve.
func (n *naive) harmless(p *Pod, why Reason) bool {
	for _, g := range n.s.Groups {
		for _, m := range g.Members {
			if m.Pod == p.Name && why == ReasonScaleDown {
				return false // what it holds must be brought elsewhere
			}
			if m.Pod != p.Name || m.State == Recovering || m.State == Down {
				continue
			}
			unknown := m.State != Active && m.State != Moving
			if !unknown || why != ReasonNeverStarted && (why != ReasonFailed || n.anybodyLive() || n.restartLoses(p)) {
				return false
			}
		}
	}
	return true
}

func (n *naive) dead(p *Pod) bool {
	if n.why(p) != ReasonFailed {
		return false
	}
	return !n.anybodyLive()
}

func (n *naive) anybodyLive() bool { return slices.ContainsFunc(n.everyPodThere(), n.alive) }

func (n *naive) rank(p *Pod) int {
	if r := n.heard(p); r != nil {
		return r.Rank
	}
	return 0
}

func (n *naive) last(p *Pod) bool { r := n.heard(p); return r != nil && r.Last }

func (n *naive) members(p *Pod, keep func(Member) bool) int {
	k := 0
	for _, g := range n.s.Groups {
		for _, m := range g.Members {
			if m.Pod == p.Name && keep(m) {
				k++
			}
		}
	}
	return k
}

// before: does a go before b?
func (n *naive) before(a, b *Pod) bool {
	yes := func(v bool) int {
		if v {
			return 0
		}
		return 1
	}
	key := func(p *Pod) []int {
		k := []int{yes(n.isSick(p)), yes(!n.dead(p))}
		if !n.dead(p) {
			k = append(k, n.rank(p), yes(!n.last(p)), yes(!n.alive(p)), yes(n.unitBegan(p)),
				n.members(p, func(m Member) bool { return m.Leader }),
				n.members(p, func(m Member) bool { return m.State == Active || m.State == Moving || m.State == Recovering }),
				n.members(p, func(Member) bool { return true }))
		}
		return append(k, n.poolAt(p.Pool), -int(p.Ordinal))
	}
	if c := slices.Compare(key(a), key(b)); c != 0 {
		return c < 0
	}
	return a.UID < b.UID
}

// unitBegan: of the pods that go with this one, somebody is on the way or through with what
// others of the same pool still have before them.
func (n *naive) unitBegan(p *Pod) bool {
	if n.unit(p) == "" {
		return false
	}
	todo := func(o *Pod) bool { return n.why(o) != "" }
	all := n.everyPodThere()
	return slices.ContainsFunc(all, func(o *Pod) bool {
		rolling := slices.ContainsFunc(all, func(i *Pod) bool {
			return i.Pool == o.Pool && todo(i) && n.why(i) != ReasonScaleDown && (n.old(i) || i.Restart)
		})
		return n.unit(o) == n.unit(p) && n.wanted(o) && rolling && (!todo(o) || n.claimed(o) != nil)
	})
}

func (n *naive) zone(p *Pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	if z := n.nodeOf(p).Zone; z != "" {
		return z
	}
	if c := n.claimed(p); c != nil {
		return c.Zone
	}
	return ""
}

func (n *naive) unit(p *Pod) string {
	switch {
	case n.noAgentAnywhere():
		return "" // one at a time
	case n.outage:
		return "everybody"
	case n.sp.Policy.Unit == UnitZone && n.zone(p) != "":
		return n.zone(p) + "\x00" + p.Unit
	}
	return ""
}

func (n *naive) limit() int {
	pods, units := 0, map[string]int{}
	for _, p := range n.everyPodThere() {
		if n.wanted(p) {
			pods++
			if u := n.unit(p); u != "" {
				units[u]++
			}
		}
	}
	limit := of(n.sp.Policy.MaxUnavailable, pods)
	for _, size := range units {
		limit = max(limit, size)
	}
	if n.noAgentAnywhere() {
		return 1
	}
	return limit
}

func (n *naive) awayNow() []string {
	names := slices.Clone(n.chosen)
	for _, p := range n.everyPodThere() {
		if n.gone(p) && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	for _, c := range n.strayClaims() {
		names = append(names, c.Pod)
	}
	return names
}

// strayClaims name pods that nothing else in the snapshot speaks of.
func (n *naive) strayClaims() (stray []Claim) {
	for _, c := range n.s.Cluster.Status.Claims {
		if n.find(c.Pod) == nil {
			stray = append(stray, c)
		}
	}
	return stray
}

func (n *naive) zonesNow() (zones map[string]bool, number int) {
	zones = map[string]bool{}
	add := func(zone string) {
		if zone == "" {
			number++ // one of its own
			return
		}
		zones[zone] = true
	}
	for _, name := range n.awayNow() {
		if p := n.find(name); p != nil {
			add(n.zone(p))
		}
	}
	for _, c := range n.strayClaims() {
		add(c.Zone)
	}
	return zones, number + len(zones)
}

// overridden: for a pod, or with no name for all of them.
func (n *naive) overridden(r Rule, pod string) bool {
	return slices.ContainsFunc(n.sp.Overrides, func(o Override) bool {
		return o.Rule == r && o.Expires.After(n.s.Now.Time) && (pod != "" && slices.Contains(o.Pods, pod) || slices.Contains(o.Pods, "*"))
	})
}

// asksEvery lists the rules once more, in the order of the design.
var asksEvery = []Rule{
	ObserveOnly, Paused, OutsideWindow, FleetFull, NeedsApproval, CanaryFirst, PoolUnobserved, LineStopped, ViewSplit, NoLeader,
	TwoLeaders, VersionRefused, Unhealthy, Settling, OtherOperation, Shutdown, InOrder, OnDeadNode, NoReport, StaleReport, OnItsWay, Claimed,
	Vetoed, Busy, VersionOrder, RankOrder, LeaderLast, ZoneUnknown, ZonesAway, PodsAway, BeingMoved, ShardsAway, QuorumLost,
	AcksLost, RoleLost, NoneEligible, SoleCopy, CatchingUp, ForeignBudget, Unstable,
}

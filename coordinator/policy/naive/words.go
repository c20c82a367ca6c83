package naive

import (
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Words".

// tenYears is the longest time that counts.
const tenYears = 316_224_000

// seconds returns a duration: less than 0 counts as 0, more than ten years as ten years.
func seconds(n float64) time.Duration {
	return time.Duration(min(max(n, 0), tenYears) * float64(time.Second))
}

func (w *world) now() time.Time { return w.s.Now.Time }

// pool returns the pool of a pod. A pool that is not in the snapshot is empty.
func (w *world) pool(p *model.Pod) *model.Pool {
	for i := range w.s.Pools {
		if w.s.Pools[i].Name == p.Pool {
			return &w.s.Pools[i]
		}
	}
	return &model.Pool{Name: p.Pool}
}

func (w *world) knownPool(p *model.Pod) bool {
	return slices.ContainsFunc(w.s.Pools, func(pool model.Pool) bool { return pool.Name == p.Pool })
}

// inOrder returns every pod in the order of the pods: pools as listed, the higher ordinal first,
// with an entry for each desired ordinal that has none.
func inOrder(s *model.Snapshot) []*model.Pod {
	var all []*model.Pod
	seen := map[int]bool{}
	for i := range s.Pools {
		var mine []*model.Pod
		for k := range s.Pods {
			if s.Pods[k].Pool == s.Pools[i].Name && !seen[k] {
				seen[k] = true
				mine = append(mine, &s.Pods[k])
			}
		}
		mine = append(mine, absent(&s.Pools[i], mine)...)
		slices.SortStableFunc(mine, func(a, b *model.Pod) int { return int(b.Ordinal) - int(a.Ordinal) })
		all = append(all, mine...)
	}
	for k := range s.Pods {
		if !seen[k] {
			all = append(all, &s.Pods[k])
		}
	}
	return all
}

// absent adds pods for missing ordinals: a desired ordinal without an entry is a pod named
// POOL-ORDINAL in phase Missing without anything else.
func absent(pool *model.Pool, pods []*model.Pod) []*model.Pod {
	have := map[int64]bool{}
	for _, p := range pods {
		have[int64(p.Ordinal)] = true
	}
	var missing []*model.Pod
	if !within(int64(pool.Replicas), 0, 100_000) {
		return nil // it makes no sense
	}
	for i := range int64(pool.Replicas) {
		ordinal := int64(pool.Start) + i
		if !have[ordinal] {
			missing = append(missing, &model.Pod{
				Name: fmt.Sprintf("%s-%d", pool.Name, ordinal), Pool: pool.Name,
				Ordinal: int32(ordinal), Phase: model.PodPhaseMissing,
			})
		}
	}
	return missing
}

// podNamed returns nil if the snapshot does not have the pod.
func (w *world) podNamed(name string) *model.Pod {
	for _, p := range w.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// desired reports whether the ordinal is at least start and less than start + replicas.
func (w *world) desired(p *model.Pod) bool {
	pool := w.pool(p)
	return p.Ordinal >= pool.Start && int64(p.Ordinal) < int64(pool.Start)+int64(pool.Replicas)
}

// wanted returns N: the desired pods of all pools, replicas added up.
func (w *world) wanted() int {
	n := 0
	for _, pool := range w.s.Pools {
		n += int(pool.Replicas)
	}
	return n
}

// report returns the pod's report, if its UID or the pod's is empty or both are the same.
func report(p *model.Pod) *model.Report {
	r := p.Report
	if r != nil && (r.UID == "" || p.UID == "" || r.UID == p.UID) {
		return r
	}
	return nil
}

// rank returns 0 without a report. For a pod that waits below the partition it is at least that of
// each such pod of its pool with a higher ordinal.
func (w *world) rank(p *model.Pod) int {
	rank := ownRank(p)
	for _, q := range w.pods {
		if w.waitsBelow(p) && w.waitsBelow(q) && q.Pool == p.Pool && q.Ordinal > p.Ordinal {
			rank = max(rank, ownRank(q))
		}
	}
	return rank
}

func ownRank(p *model.Pod) int {
	if r := report(p); r != nil {
		return r.Rank
	}
	return 0
}

// waitsBelow reports whether, by partition, the pod is desired, outdated and below the partition.
func (w *world) waitsBelow(p *model.Pod) bool {
	pool := w.pool(p)
	return w.byPartition(pool) && w.desired(p) && w.outdated(p) && p.Ordinal < pool.Partition
}

// last returns false without a report.
func last(p *model.Pod) bool { return report(p) != nil && report(p).Last }

// outdated reports whether the pod is not Missing, its pool is observed and has a revision, and the
// pod's is another.
func (w *world) outdated(p *model.Pod) bool {
	pool := w.pool(p)
	return p.Phase != model.PodPhaseMissing && pool.Observed && pool.Revision != "" && p.Revision != pool.Revision
}

// onRevision reports whether it exists, and is on its pool's revision.
func (w *world) onRevision(p *model.Pod) bool {
	return p.Phase != model.PodPhaseMissing && p.Revision == w.pool(p).Revision
}

// node returns nil if the snapshot does not have it.
func (w *world) node(p *model.Pod) *model.Node {
	for i := range w.s.Nodes {
		if p.Node != "" && w.s.Nodes[i].Name == p.Node {
			return &w.s.Nodes[i]
		}
	}
	return nil
}

// nodeGone reports whether the problem is NodeGone, or the node is in the snapshot and gone.
func (w *world) nodeGone(p *model.Pod) bool {
	node := w.node(p)
	return p.Problem == model.ProblemNodeGone || node != nil && node.Gone
}

// runs reports whether the phase is Started, Ready or Terminating.
func runs(p *model.Pod) bool {
	return p.Phase == model.PodPhaseStarted || p.Phase == model.PodPhaseReady || p.Phase == model.PodPhaseTerminating
}

// noAgents reports whether there are pods that are not Missing, and none has an agent.
func (w *world) noAgents() bool {
	there := false
	for _, p := range w.pods {
		if p.Phase == model.PodPhaseMissing {
			continue
		}
		if p.Agent {
			return false
		}
		there = true
	}
	return there
}

// live reports whether it runs, and its report says Live. While there are no agents, a Ready pod
// without a report is live, too.
func (w *world) live(p *model.Pod) bool {
	r := report(p)
	if r == nil {
		return p.Phase == model.PodPhaseReady && w.noAgents()
	}
	return runs(p) && r.Member == model.MembershipLive
}

// deadDatabase reports whether no pod is live.
func (w *world) deadDatabase() bool { return !slices.ContainsFunc(w.pods, w.live) }

// overdue reports whether since + startSeconds is not after now. A phase without since began long
// ago; a Missing pod without since is never overdue.
func (w *world) overdue(p *model.Pod) bool {
	if p.Since.IsZero() {
		return p.Phase != model.PodPhaseMissing
	}
	return !p.Since.Add(seconds(float64(w.spec.Policy.StartSeconds))).After(w.now())
}

// guards reports whether guards are enforced. Only then does a closed guard keep others from a pod.
func (w *world) guards() bool {
	return w.spec.Guard == model.GuardEnforce && w.s.Cluster.GuardEnforcing
}

func rolling(pool *model.Pool) bool { return pool.Strategy == model.StrategyRollingUpdate }

// byPartition reports whether a pool of strategy RollingUpdate is driven by its partition.
func (w *world) byPartition(pool *model.Pool) bool {
	return rolling(pool) && w.spec.Update.RollingUpdate == model.RollingUpdateByPartition
}

// leftOpen reports whether a pod of a RollingUpdate pool is outdated, with an ordinal of at least
// partition, unless there are guards and its guard is Closed.
func (w *world) leftOpen(p *model.Pod) bool {
	pool := w.pool(p)
	return rolling(pool) && w.outdated(p) && p.Ordinal >= pool.Partition &&
		!(w.guards() && p.Guard == model.GuardClosed)
}

// endsAtNone reports whether replicas or scalingTo of the pool is 0.
func endsAtNone(pool *model.Pool) bool {
	return pool.Replicas == 0 || pool.ScalingTo != nil && *pool.ScalingTo == 0
}

// shutdown reports whether its pool ends at none, and allowShutdown.
func (w *world) shutdown(p *model.Pod) bool {
	pool := w.pool(p)
	return endsAtNone(pool) && pool.AllowShutdown
}

// unit returns what goes together. While there are no agents it is Pod.
func (w *world) unit() model.Unit {
	if w.oneByOne() {
		return model.UnitPod
	}
	return w.spec.Policy.Unit
}

// outage reports whether unit is All, and there are agents.
func (w *world) outage() bool { return w.unit() == model.UnitAll }

// resolve resolves a quantity: a percentage is of the given number, rounded down, at least 1.
func resolve(q *model.IntOrPercent, of int) int {
	n, _ := q.Resolve(of)
	return n
}

// claim returns the claim that names the pod, whatever its UID, or nil.
func (w *world) claim(p *model.Pod) *model.Claim {
	for i := range w.s.Cluster.Status.Claims {
		if w.s.Cluster.Status.Claims[i].Pod == p.Name {
			return &w.s.Cluster.Status.Claims[i]
		}
	}
	return nil
}

// claimed reports whether a claim names it. At the barrier its own does not count.
func (w *world) claimed(p *model.Pod) bool { return p.Name != w.barrier && w.claim(p) != nil }

// unknownClaims returns the claims on pods that the snapshot does not have.
func (w *world) unknownClaims() []*model.Claim {
	var claims []*model.Claim
	for i := range w.s.Cluster.Status.Claims {
		if c := &w.s.Cluster.Status.Claims[i]; w.podNamed(c.Pod) == nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// zone returns the pod's own zone, or its node's, or its claim's (at the barrier only that of
// others). It is empty if unknown.
func (w *world) zone(p *model.Pod) string {
	if p.Zone != "" {
		return p.Zone
	}
	if node := w.node(p); node != nil && node.Zone != "" {
		return node.Zone
	}
	if claim := w.claim(p); claim != nil && w.claimed(p) {
		return claim.Zone
	}
	return ""
}

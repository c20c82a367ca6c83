package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

func (d *decision) badInput() *finding {
	if len(d.problems) == 0 {
		return nil
	}
	const most = 5
	var texts []string
	for i, p := range d.problems {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(d.problems)-most))
			break
		}
		texts = append(texts, p.String())
	}
	return found(strings.Join(texts, "; "), d.problems[0].Field+" corrected")
}

func (d *decision) observeOnly() *finding {
	if d.x.Spec.Update.Mode != model.ModeObserve {
		return nil
	}
	return found("update.mode is Observe: what would be done is shown and not done", "update.mode: Auto")
}

func (d *decision) paused() *finding {
	switch {
	case d.x.Spec.Update.Paused:
		return found("update.paused is true", "rollcall resume")
	case d.x.Snapshot.Cluster.Paused:
		return found("the cluster is paused", "rollcall resume")
	}
	return nil
}

func (d *decision) outsideWindow() *finding {
	w := d.x.Snapshot.Cluster.Window
	switch {
	case w.Open:
		return nil
	case w.NextChange == nil:
		return found("no update window is open and none will open", "a change of update.windows")
	}
	next := w.NextChange.Time
	return found("no update window is open; the next opens at "+next.UTC().Format(time.RFC3339),
		"the window opening").until(next)
}

func (d *decision) fleetFull() *finding {
	return d.fleetAt(d.restarts(), "in flight")
}

// restarts counts the restarts in flight. A pod that is rechecked is one of them.
func (d *decision) restarts() int {
	n := d.x.Snapshot.Fleet.Restarts
	if d.drained {
		n = max(n-1, 0)
	}
	return n
}

func (d *decision) fleetAt(n int, where string) *finding {
	most := d.x.Snapshot.Fleet.Max
	if most <= 0 || n < most {
		return nil
	}
	return found(fmt.Sprintf("%s %s across all clusters, the limit is %d", counted(n, "restart is", "restarts are"), where, most), "a restart ending")
}

// fleetFilled counts the steps of this plan, too.
func (d *decision) fleetFilled(*candidate) *finding {
	return d.fleetAt(d.restarts()+len(d.steps), "in flight or chosen")
}

func (d *decision) poolUnobserved() *finding {
	for i := range d.x.Pools {
		if p := &d.x.Pools[i]; !p.Observed {
			return found(fmt.Sprintf("the status of pool %s is older than its spec", p.Name),
				"the StatefulSet controller observing it")
		}
	}
	return nil
}

// rolloutHalted counts the new pods of each pool's update revision that did not come back. It looks
// at the current state, so it ends by itself when they do. If no pod is to go that it would hold,
// it finds nothing.
func (d *decision) rolloutHalted() *finding {
	x := d.x
	if !slices.ContainsFunc(d.order, func(c candidate) bool { return c.inPartitionOrder() }) {
		return nil
	}
	failed := make([]int, len(x.Pools))
	example := make([]*cluster.Pod, len(x.Pools))
	for i := range x.Pods {
		p := &x.Pods[i]
		if p.Desired && x.FailedToReturn(p) && !d.cannotJoin(p) {
			failed[p.PoolPos]++
			example[p.PoolPos] = p
		}
	}
	for i := range x.Pools {
		if most := int(x.Spec.Policy.MaxFailed); failed[i] >= most && failed[i] > 0 {
			p := example[i]
			why := p.UnavailableReason
			if p.Claim != nil { // the phase changes all the time, and is not what is wrong
				why = cmp.Or(p.Unready(), "not back")
			}
			return found(fmt.Sprintf("%s of revision %s failed to return, such as %s (%s)%s; the limit is %d%s",
				counted(failed[i], "new pod", "new pods"), x.Pools[i].Revision, p.Name, why, cluster.About(p), most, lastGood(p.OwnPool.Pool)),
				cluster.OrAdvice("a corrected template, or "+p.Name+" back", p))
		}
	}
	return nil
}

// inPartitionOrder reports whether a halted rollout holds the candidate.
func (c *candidate) inPartitionOrder() bool {
	return !c.forced && !c.outside && !c.failed && !c.bringsNoUpdate()
}

// lastGood returns the revision to which a person can go back.
func lastGood(p *model.Pool) string {
	if p.FinishedRevision == "" || p.FinishedRevision == p.Revision {
		return ""
	}
	return fmt.Sprintf("; revision %s of %s finished last", p.FinishedRevision, p.Name)
}

func (d *decision) viewSplit() *finding {
	if why := d.x.Snapshot.Health.Disagree; why != "" {
		return found("the agents do not agree: "+why, "a majority of the agents agreeing")
	}
	return nil
}

// noLeader looks at the groups of more than one pod: while an election is under way, or cannot
// succeed, no pod goes.
func (d *decision) noLeader() *finding {
	for i := range d.x.Groups {
		if g := &d.x.Groups[i]; g.Pods > 1 && g.Leaderless() {
			return hasNoLeader(g)
		}
	}
	return nil
}

// ownNoLeader looks at groups that are on the candidate alone, which concern no other pod. Members
// that are down do not hold it back.
func (d *decision) ownNoLeader(c *candidate) *finding {
	if !c.Alone {
		return nil
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if g := &d.x.Groups[h.Group]; g.Pods <= 1 && h.NotDown > 0 && g.Leaderless() {
			return hasNoLeader(g)
		}
	}
	return nil
}

func hasNoLeader(g *cluster.Group) *finding {
	return found(fmt.Sprintf("%s has no leader among %s", g.ID, counted(int(g.Total), "member", "members")), "a leader of "+g.ID).of(g.ID)
}

func (d *decision) twoLeaders() *finding {
	for i := range d.x.Groups {
		if g := &d.x.Groups[i]; g.NeedsLeader && g.Claimants > 1 {
			return found(fmt.Sprintf("%s has %d leaders", g.ID, g.Claimants), "one leader of "+g.ID).of(g.ID)
		}
	}
	return nil
}

// refusal is why a pool's new version may not be rolled out.
type refusal struct {
	pool *cluster.Pool
	why  string
}

// refuseVersions compares the new templates with what runs in the database now, not
// with the last template.
func (d *decision) refuseVersions() []refusal {
	x := d.x
	pools, all := x.Running()
	goals := x.Goals()
	var list []refusal
	for i := range x.Pools {
		p := &x.Pools[i]
		next, ok := model.ParseEngineVersion(p.Version)
		if !ok || !d.outdated[i] {
			continue
		}
		if why := refuseVersion(x, p.Pool, next, goals.Newest.Version[0], pools[i], all); why != "" {
			list = append(list, refusal{p, why})
		}
	}
	return list
}

// versionRefused holds pods that would come back on a refused version, and everything else in the
// rollout before its first pod: the pools of one database are updated together, or not at all. What
// is no part of the rollout (drains, scale-downs, corrections, requested restarts) goes on in the
// other pools.
func (d *decision) versionRefused(c *candidate) *finding {
	if !cluster.IsOutdated(c.Pod) || c.bringsNoUpdate() {
		return nil
	}
	rollout := c.reason == model.ReasonOutdated && !d.x.MustLeaveNode(c.Pod)
	for _, r := range d.refusals {
		if r.pool == c.OwnPool || rollout {
			return found(fmt.Sprintf("pool %s: %s", r.pool.Name, r.why), "another version in the template of "+r.pool.Name)
		}
	}
	return d.allAtOnce(c)
}

// refuseVersion says why a version is refused. A pod may not become older than one of its own pool
// or, if nothing is known about that, than any other. The oldest version that it would run beside,
// in any pool, determines how new it may be. What the engine requires of that oldest version, it
// requires for the newest major version that a template has.
func refuseVersion(x *cluster.Index, p *model.Pool, next model.EngineVersion, newest int, own, all cluster.VersionSpan) string {
	facts := x.Snapshot.Cluster.Engine
	step := facts.MaxMajorStep
	least, demanded := model.ParseEngineVersion(facts.MinSourceVersion)
	floor := own
	switch {
	case !own.Known:
		floor = all
	case own.Oldest.Version.Compare(all.Oldest.Version) == 0:
		all.Oldest = own.Oldest // it is named first
	}
	switch {
	case floor.Known && next.Compare(floor.Newest.Version) < 0 && x.Spec.Policy.Downgrade == model.PermissionHold:
		return fmt.Sprintf("%s is older than %s and policy.downgrade is Hold", p.Version, floor.Newest.Runs(p))
	case !all.Known, own.Known && next.Compare(own.Oldest.Version) == 0:
		return "" // there is nothing to compare with, or it stays as it is
	case facts.SameMinor && !x.Outage() && !cluster.TalksTo(next, all):
		other := all.Oldest
		if next.Line() == other.Version.Line() {
			other = all.Newest
		}
		return fmt.Sprintf("from %s to %s: members of another minor version do not talk to each other, so all must restart at once (policy.unit: All)", other.Runs(p), p.Version)
	case next[0]-all.Oldest.Version[0] > step:
		return fmt.Sprintf("from %s to %s: %s, and %d is the most in one update", all.Oldest.Runs(p), p.Version,
			counted(next[0]-all.Oldest.Version[0], "major version", "major versions"), step)
	case demanded && next[0] == newest && next.Compare(all.Oldest.Version) != 0 && all.Oldest.Version.Compare(least) < 0:
		return fmt.Sprintf("%s is older than %s, the oldest from which %s can be reached",
			all.Oldest.Runs(p), facts.MinSourceVersion, p.Version)
	}
	return ""
}

var healthRank = map[model.Verdict]int{model.VerdictRed: 1, model.VerdictYellow: 2, model.VerdictRecoverable: 3, model.VerdictGreen: 4}

func (d *decision) unhealthy() *finding {
	h, least := d.x.Snapshot.Health, d.x.Spec.Policy.Health
	rank, known := healthRank[h.Verdict]
	if !known {
		if d.x.NoAgents {
			return nil // nobody can give a verdict
		}
		return found("the health of the database is not known"+because(h.Reason), "a verdict about the database")
	}
	want := map[model.LeastHealth]int{model.LeastGreen: 4, model.LeastRecoverable: 3}[least]
	if rank >= want {
		return nil
	}
	unblocks := fmt.Sprintf("a verdict of at least %s", least)
	if h.Verdict == model.VerdictRecoverable {
		unblocks += ", or policy.health: Recoverable, if what is missing comes back only with the update"
	}
	return found(fmt.Sprintf("the database is %s, policy.health requires at least %s%s", h.Verdict, least, because(h.Reason)), unblocks)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func (d *decision) failureDetection() *finding {
	last, facts := d.x.Snapshot.Cluster.Status.LastDeparture, d.x.Snapshot.Cluster.Engine
	if last == nil || last.IsZero() || !(facts.SettleSeconds > 0) {
		return nil
	}
	settle := cluster.Span(facts.SettleSeconds)
	ago := max(d.x.Now.Sub(last.Time), 0) // if a clock is ahead, it means just now
	if ago >= settle {
		return nil
	}
	return found(fmt.Sprintf("a pod went away %s ago, and the database may take %s to notice",
		seconds(ago), seconds(settle)), "the database noticing").until(d.x.Now.Add(settle - ago))
}

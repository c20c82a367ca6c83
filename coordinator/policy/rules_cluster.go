package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
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
	if d.x.spec.Update.Mode != model.Observe {
		return nil
	}
	return found("update.mode is Observe: what would be done is shown and not done", "update.mode: Auto")
}

func (d *decision) paused() *finding {
	switch {
	case d.x.spec.Update.Paused:
		return found("update.paused is true", "rollcall resume")
	case d.x.s.Cluster.Paused:
		return found("the cluster is paused", "rollcall resume")
	}
	return nil
}

func (d *decision) outsideWindow() *finding {
	w := d.x.s.Cluster.Window
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

// restarts are those in flight; a pod that is asked about again is one of them.
func (d *decision) restarts() int {
	n := d.x.s.Fleet.Restarts
	if d.prepared {
		n = max(n-1, 0)
	}
	return n
}

func (d *decision) fleetAt(n int, where string) *finding {
	most := d.x.s.Fleet.Max
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
	for i := range d.x.pools {
		if p := &d.x.pools[i]; !p.Observed {
			return found(fmt.Sprintf("the status of pool %s is older than its spec", p.Name),
				"the StatefulSet controller observing it")
		}
	}
	return nil
}

// lineStopped counts the new pods of each pool's update revision that did not
// come back. It looks at what is, so it ends by itself when they do. Where nobody is
// to go whom it holds, there is no line.
func (d *decision) lineStopped() *finding {
	x := d.x
	if !slices.ContainsFunc(d.order, func(c candidate) bool { return c.inLine() }) {
		return nil
	}
	failed := make([]int, len(x.pools))
	example := make([]*pod, len(x.pools))
	for i := range x.pods {
		p := &x.pods[i]
		if p.desired && x.failedToReturn(p) && !d.cannotJoin(p) {
			failed[p.poolPos]++
			example[p.poolPos] = p
		}
	}
	for i := range x.pools {
		if most := int(x.spec.Policy.MaxFailed); failed[i] >= most && failed[i] > 0 {
			p := example[i]
			why := p.awayWhy
			if p.claim != nil { // how far that is changes again and again, and is not what is wrong
				why = cmp.Or(p.unready(), "not back")
			}
			return found(fmt.Sprintf("%s of revision %s failed to return, such as %s (%s)%s; the limit is %d%s",
				counted(failed[i], "new pod", "new pods"), x.pools[i].Revision, p.Name, why, about(p), most, lastGood(p.pool.Pool)),
				orAdvice("a corrected template, or "+p.Name+" back", p))
		}
	}
	return nil
}

// inLine: a line that is stopped holds it.
func (c *candidate) inLine() bool { return !c.forced && !c.outside && !c.failed && !c.bringsNoUpdate() }

// lastGood names the revision to which a person can go back.
func lastGood(p *model.Pool) string {
	if p.FinishedRevision == "" || p.FinishedRevision == p.Revision {
		return ""
	}
	return fmt.Sprintf("; revision %s of %s finished last", p.FinishedRevision, p.Name)
}

// failedToReturn: a pod of its pool's update revision that is broken, or is not Ready in
// the time that a start may take, though it waits for nothing in the database.
func (x *index) failedToReturn(p *pod) bool {
	to := p.pool.Revision
	if to == "" || !p.pool.Observed {
		return false
	}
	if p.Phase == model.Missing {
		return p.claim != nil && p.claim.To == to && p.claim.Action != model.Remove && x.overdue(p) && !x.notYetCreated(p)
	}
	if p.Revision != to {
		return false
	}
	if x.whyBroken(p) != "" && !x.mayYetStart(p) {
		return true
	}
	starting := p.Phase == model.Pending || p.Phase == model.NotStarted || p.Phase == model.Started
	recovers := p.live && p.report != nil && !p.report.Settled
	return starting && !recovers && !x.nodeGone(p) && x.overdue(p)
}

// mayYetStart: that no node takes a broken pod often ends by itself, when nodes are added. A
// correction does not wait for that.
func (x *index) mayYetStart(p *pod) bool {
	return (p.Phase == model.Pending || p.Phase == model.NotStarted) && p.Problem == model.Unschedulable && !x.overdue(p)
}

func (d *decision) viewSplit() *finding {
	if why := d.x.s.Health.Disagree; why != "" {
		return found("the agents do not agree: "+why, "a majority of the agents agreeing")
	}
	return nil
}

// noLeader looks at the groups of more than one pod: where an election is
// under way, or cannot succeed, nobody goes.
func (d *decision) noLeader() *finding {
	for i := range d.x.groups {
		if g := &d.x.groups[i]; g.pods > 1 && g.leaderless() {
			return g.hasNoLeader()
		}
	}
	return nil
}

// ownNoLeader looks at groups that are on the candidate alone, which are
// nobody else's business. Those that are down do not hold it back.
func (d *decision) ownNoLeader(c *candidate) *finding {
	if !c.alone {
		return nil
	}
	for i := range c.hosts {
		h := &c.hosts[i]
		if g := &d.x.groups[h.group]; g.pods <= 1 && h.notDown > 0 && g.leaderless() {
			return g.hasNoLeader()
		}
	}
	return nil
}

func (g *group) leaderless() bool { return g.NeedsLeader && g.leaders == 0 }

func (g *group) hasNoLeader() *finding {
	return found(fmt.Sprintf("%s has no leader among %s", g.ID, counted(int(g.total), "member", "members")), "a leader of "+g.ID).of(g.ID)
}

func (d *decision) twoLeaders() *finding {
	for i := range d.x.groups {
		if g := &d.x.groups[i]; g.NeedsLeader && g.claimants > 1 {
			return found(fmt.Sprintf("%s has %d leaders", g.ID, g.claimants), "one leader of "+g.ID).of(g.ID)
		}
	}
	return nil
}

// refusal is why a pool's new version may not be rolled out.
type refusal struct {
	pool *pool
	why  string
}

// refuseVersions compares the new templates with what runs in the database now, not
// with the last template.
func (d *decision) refuseVersions() []refusal {
	x := d.x
	pools, all := x.running()
	goals := x.goals()
	var list []refusal
	for i := range x.pools {
		p := &x.pools[i]
		next, ok := model.ParseEngineVersion(p.Version)
		if !ok || !d.outdated[i] {
			continue
		}
		if why := x.refuseVersion(p.Pool, next, goals.newest.version[0], pools[i], all); why != "" {
			list = append(list, refusal{p, why})
		}
	}
	return list
}

// versionRefused holds whoever would come back on a refused version, and all else of
// the rollout before its first pod: the pools of one database are updated together, or
// not at all. What is no part of the rollout (drains, scale-downs, corrections, restarts
// that were asked for) goes on in the other pools.
func (d *decision) versionRefused(c *candidate) *finding {
	if !isOutdated(c.pod) || c.bringsNoUpdate() {
		return nil
	}
	rollout := c.reason == model.ReasonOutdated && !d.x.mustLeaveNode(c.pod)
	for _, r := range d.refusals {
		if r.pool == c.pool || rollout {
			return found(fmt.Sprintf("pool %s: %s", r.pool.Name, r.why), "another version in the template of "+r.pool.Name)
		}
	}
	return d.allAtOnce(c)
}

// refuseVersion: a pod may not become older than one of its own pool, or where
// nothing is known of that, than any; and the oldest that it would run beside,
// in whichever pool, says how new it may be. What the engine demands of that
// oldest, it demands for the newest major version that a template has.
func (x *index) refuseVersion(p *model.Pool, next model.EngineVersion, newest int, own, all versionSpan) string {
	facts := x.s.Cluster.Engine
	step := facts.MaxMajorStep
	least, demanded := model.ParseEngineVersion(facts.MinSourceVersion)
	floor := own
	switch {
	case !own.known:
		floor = all
	case own.oldest.version.Compare(all.oldest.version) == 0:
		all.oldest = own.oldest // named first
	}
	switch {
	case floor.known && next.Compare(floor.newest.version) < 0 && x.spec.Policy.Downgrade == model.HoldAlways:
		return fmt.Sprintf("%s is older than %s and policy.downgrade is Hold", p.Version, floor.newest.runs(p))
	case !all.known, own.known && next.Compare(own.oldest.version) == 0:
		return "" // nothing runs that could be compared, or it stays as it is
	case facts.SameMinor && !x.outage() && !talksTo(next, all):
		other := all.oldest
		if next.Line() == other.version.Line() {
			other = all.newest
		}
		return fmt.Sprintf("from %s to %s: members of another minor version do not talk to each other, so all must restart at once (policy.unit: All)", other.runs(p), p.Version)
	case next[0]-all.oldest.version[0] > step:
		return fmt.Sprintf("from %s to %s: %s, and %d is the most in one update", all.oldest.runs(p), p.Version,
			counted(next[0]-all.oldest.version[0], "major version", "major versions"), step)
	case demanded && next[0] == newest && next.Compare(all.oldest.version) != 0 && all.oldest.version.Compare(least) < 0:
		return fmt.Sprintf("%s is older than %s, the oldest from which %s can be reached",
			all.oldest.runs(p), facts.MinSourceVersion, p.Version)
	}
	return ""
}

// running are the versions that run in each pool, and in all of them.
func (x *index) running() (pools []versionSpan, all versionSpan) {
	pools = make([]versionSpan, len(x.pools))
	for i := range x.pools {
		pools[i].add(x.pools[i].RunningVersion, x.pools[i].Pool)
	}
	for i := range x.pods {
		p := &x.pods[i]
		blip := p.Phase == model.Ready && p.mayLive
		if p.report != nil && (p.report.Member != model.NotLive || blip) {
			pools[p.poolPos].add(p.report.EngineVersion, p.pool.Pool)
		}
	}
	for _, own := range pools {
		all.join(own)
	}
	return pools, all
}

// goals are the versions of all templates.
func (x *index) goals() versionSpan {
	var all versionSpan
	for i := range x.pools {
		all.add(x.pools[i].Version, x.pools[i].Pool)
	}
	return all
}

var healthRank = map[model.Verdict]int{model.Red: 1, model.Yellow: 2, model.Recoverable: 3, model.Green: 4}

func (d *decision) unhealthy() *finding {
	h, least := d.x.s.Health, d.x.spec.Policy.Health
	rank, known := healthRank[h.Verdict]
	if !known {
		if d.x.noAgents {
			return nil // nobody is there to give a verdict
		}
		return found("the health of the database is not known"+because(h.Reason), "a verdict about the database")
	}
	want := map[model.LeastHealth]int{model.LeastGreen: 4, model.LeastRecoverable: 3}[least]
	if rank >= want {
		return nil
	}
	unblocks := fmt.Sprintf("a verdict of at least %s", least)
	if h.Verdict == model.Recoverable {
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

func (d *decision) settling() *finding {
	last, facts := d.x.s.Cluster.Status.LastDeparture, d.x.s.Cluster.Engine
	if last == nil || last.IsZero() || !(facts.SettleSeconds > 0) {
		return nil
	}
	settle := span(facts.SettleSeconds)
	ago := max(d.x.now.Sub(last.Time), 0) // a clock that is ahead means just now
	if ago >= settle {
		return nil
	}
	return found(fmt.Sprintf("a pod went away %s ago, and the database may take %s to notice",
		seconds(ago), seconds(settle)), "the database noticing").until(d.x.now.Add(settle - ago))
}

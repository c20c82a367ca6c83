package policy

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// finding is why a rule fails, in words, and what would end it.
type finding struct {
	group    string
	reason   string
	unblocks string
	retryAt  time.Time // when a clock ends it, else zero
	firm     bool      // no override switches it off
	others   bool      // it waits only for others of the order, or for who is away
}

// rule is one question. A rule of the whole cluster is asked once for a plan,
// all others once for each candidate. A candidate outside of the budget is not
// asked the rules that spare it.
type rule struct {
	name         model.Rule
	sparesBroken bool
	sparesDead   bool // not asked of one in a dead database: nobody is left who could lead
	sparesFailed bool // not asked of one that failed to return itself: its restart may be all it needs
	guardsData   bool // asked even of those when their volume is given up
	aboutUpdates bool // not asked of those that bring no other template
	sparesBegun  bool // not asked of those that follow in an outage that has begun
	cluster      func(*decision) *finding
	pod          func(*decision, *candidate) *finding
}

// rules in the order in which they are asked. All of them are asked; the first
// that fails names the hold.
var rules = []rule{
	{name: model.BadInput, cluster: (*decision).badInput},
	{name: model.ObserveOnly, cluster: (*decision).observeOnly},
	{name: model.Paused, cluster: (*decision).paused, pod: (*decision).belowPartition},
	{name: model.OutsideWindow, sparesBroken: true, sparesBegun: true, cluster: (*decision).outsideWindow},
	{name: model.FleetFull, sparesBroken: true, sparesBegun: true, cluster: (*decision).fleetFull, pod: (*decision).fleetFilled},
	{name: model.NeedsApproval, sparesBroken: true, pod: (*decision).needsApproval},
	{name: model.CanaryFirst, sparesBroken: true, pod: (*decision).canaryFirst},
	{name: model.PoolUnobserved, cluster: (*decision).poolUnobserved},
	{name: model.LineStopped, sparesBroken: true, sparesFailed: true, aboutUpdates: true, cluster: (*decision).lineStopped},
	{name: model.ViewSplit, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).viewSplit},
	{name: model.NoLeader, sparesBroken: true, sparesBegun: true, sparesDead: true, cluster: (*decision).noLeader, pod: (*decision).ownNoLeader},
	{name: model.TwoLeaders, sparesBroken: true, sparesBegun: true, cluster: (*decision).twoLeaders},
	{name: model.VersionRefused, pod: (*decision).versionRefused},
	{name: model.Unhealthy, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).unhealthy},
	{name: model.Settling, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).settling},
	{name: model.OtherOperation, sparesBroken: true, pod: (*decision).otherOperation},
	{name: model.Shutdown, pod: (*decision).shutdown},
	{name: model.InOrder, pod: (*decision).inOrder},
	{name: model.OnDeadNode, pod: (*decision).onDeadNode},
	{name: model.NoReport, sparesBroken: true, sparesBegun: true, pod: (*decision).noReport},
	{name: model.StaleReport, sparesBroken: true, sparesBegun: true, pod: (*decision).staleReport},
	{name: model.OnItsWay, pod: (*decision).onItsWay},
	{name: model.Claimed, pod: (*decision).isClaimed},
	{name: model.Vetoed, pod: (*decision).vetoed},
	{name: model.Busy, pod: (*decision).isBusy},
	{name: model.VersionOrder, sparesBroken: true, pod: (*decision).versionOrder},
	{name: model.RankOrder, sparesBroken: true, aboutUpdates: true, pod: (*decision).rankOrder},
	{name: model.LeaderLast, sparesBroken: true, pod: (*decision).leaderLast},
	{name: model.ZoneUnknown, pod: (*decision).zoneUnknown}, // these three spare broken ones themselves
	{name: model.ZonesAway, pod: (*decision).zonesAway},
	{name: model.PodsAway, sparesBegun: true, pod: (*decision).podsAway},
	{name: model.BeingMoved, sparesBroken: true, sparesBegun: true, pod: (*decision).beingMoved},
	{name: model.ShardsAway, pod: kindBudget(model.Shard)},
	{name: model.QuorumLost, pod: kindBudget(model.Quorum)},
	{name: model.AcksLost, pod: kindBudget(model.Acks)},
	{name: model.RoleLost, pod: kindBudget(model.Role)},
	{name: model.NoneEligible, pod: (*decision).noneEligible},
	{name: model.SoleCopy, pod: (*decision).soleCopy},
	{name: model.CatchingUp, pod: (*decision).catchingUp},
	{name: model.ForeignBudget, pod: refused(model.ForeignBudget, "a PodDisruptionBudget that is not Rollcall's refuses its eviction", "that budget allowing a disruption, or disabled where it is defined")},
	{name: model.Unstable, pod: refused(model.Unstable, "the pod object keeps changing while it is being acted on", "the pod object no longer changing")},
	// Who waits only for a turn of the line: all other reasons say more.
	{name: model.InOrder, pod: (*decision).lineOrder},
}

// asksForced are the rules that hold a pod which a person has handed to its
// controller by force.
var asksForced = map[model.Rule]bool{model.BadInput: true, model.ObserveOnly: true, model.Paused: true, model.OnDeadNode: true, model.OnItsWay: true, model.Claimed: true}

// spares a candidate that the rule does not mean.
func (r *rule) spares(c *candidate) bool {
	if r.aboutUpdates && c.bringsNoUpdate() || r.sparesDead && c.dead || r.sparesFailed && c.failed {
		return true
	}
	return r.sparesBroken && c.outside && !(r.guardsData && (c.action == model.Replace || c.action == model.Remove))
}

func found(reason, unblocks string) *finding { return &finding{reason: reason, unblocks: unblocks} }

// until is a finding that a clock ends.
func (f *finding) until(t time.Time) *finding {
	f.retryAt = t
	return f
}

// forOthers is a finding that lasts only as long as others of the order are held, or somebody is away.
func (f *finding) forOthers() *finding {
	f.others = true
	return f
}

func (f *finding) of(group string) *finding {
	f.group = group
	return f
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", int64((d+time.Second-1)/time.Second))
}

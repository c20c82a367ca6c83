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
	retryAt  time.Time // when a clock ends it, or zero
	firm     bool      // no override switches it off
	others   bool      // it waits only for others in the order, or for unavailable pods
}

// rule is one question. A rule of the whole cluster is asked once for a plan, all others once for
// each candidate. A rule that spares a candidate outside of the budget is not asked about it.
type rule struct {
	name         model.Rule
	sparesBroken bool
	sparesDead   bool // not asked about a pod of a dead database, where nobody is left to lead
	sparesFailed bool // not asked about a pod that failed to return itself, because a restart may be all it needs
	guardsData   bool // asked even about those if their volume is given up
	aboutUpdates bool // not asked about pods that bring no other template
	sparesBegun  bool // not asked about pods that follow in an outage that has begun
	cluster      func(*decision) *finding
	pod          func(*decision, *candidate) *finding
}

// rules are in the order in which they are asked. All of them are asked; the first that fails names
// the hold.
var rules = []rule{
	{name: model.RuleBadInput, cluster: (*decision).badInput},
	{name: model.RuleObserveOnly, cluster: (*decision).observeOnly},
	{name: model.RulePaused, cluster: (*decision).paused, pod: (*decision).belowPartition},
	{name: model.RuleOutsideWindow, sparesBroken: true, sparesBegun: true, cluster: (*decision).outsideWindow},
	{name: model.RuleFleetFull, sparesBroken: true, sparesBegun: true, cluster: (*decision).fleetFull, pod: (*decision).fleetFilled},
	{name: model.RuleApproval, sparesBroken: true, pod: (*decision).needsApproval},
	{name: model.RuleCanary, sparesBroken: true, pod: (*decision).canaryFirst},
	{name: model.RulePoolUnobserved, cluster: (*decision).poolUnobserved},
	{name: model.RuleRolloutHalted, sparesBroken: true, sparesFailed: true, aboutUpdates: true, cluster: (*decision).rolloutHalted},
	{name: model.RuleViewSplit, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).viewSplit},
	{name: model.RuleNoLeader, sparesBroken: true, sparesBegun: true, sparesDead: true, cluster: (*decision).noLeader, pod: (*decision).ownNoLeader},
	{name: model.RuleTwoLeaders, sparesBroken: true, sparesBegun: true, cluster: (*decision).twoLeaders},
	{name: model.RuleVersionRefused, pod: (*decision).versionRefused},
	{name: model.RuleHealth, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).unhealthy},
	{name: model.RuleFailureDetection, sparesBroken: true, sparesBegun: true, guardsData: true, cluster: (*decision).failureDetection},
	{name: model.RuleOtherOperation, sparesBroken: true, pod: (*decision).otherOperation},
	{name: model.RuleShutdown, pod: (*decision).shutdown},
	{name: model.RuleOrderedReady, pod: (*decision).orderedReady},
	{name: model.RuleNodeGone, pod: (*decision).nodeGone},
	{name: model.RuleNoReport, sparesBroken: true, sparesBegun: true, pod: (*decision).noReport},
	{name: model.RuleStaleReport, sparesBroken: true, sparesBegun: true, pod: (*decision).staleReport},
	{name: model.RuleTerminating, pod: (*decision).terminating},
	{name: model.RuleClaimed, pod: (*decision).isClaimed},
	{name: model.RuleVeto, pod: (*decision).vetoed},
	{name: model.RuleBusy, pod: (*decision).isBusy},
	{name: model.RuleTopology, sparesBroken: true, sparesDead: true, pod: (*decision).topologyUnknown},
	{name: model.RulePrimary, sparesBroken: true, sparesDead: true, pod: (*decision).primaryHeld},
	{name: model.RuleVersionOrder, sparesBroken: true, pod: (*decision).versionOrder},
	{name: model.RuleRankOrder, sparesBroken: true, aboutUpdates: true, pod: (*decision).rankOrder},
	{name: model.RuleLeaderLast, sparesBroken: true, pod: (*decision).leaderLast},
	{name: model.RuleZoneUnknown, pod: (*decision).zoneUnknown}, // these three spare broken pods themselves
	{name: model.RuleZoneBudget, pod: (*decision).zoneBudget},
	{name: model.RulePodBudget, sparesBegun: true, pod: (*decision).podBudget},
	{name: model.RuleMoving, sparesBroken: true, sparesBegun: true, pod: (*decision).beingMoved},
	{name: model.RuleShardBudget, pod: kindBudget(model.GroupShard)},
	{name: model.RuleQuorum, pod: kindBudget(model.GroupQuorum)},
	{name: model.RuleAcks, pod: kindBudget(model.GroupAcks)},
	{name: model.RuleRole, pod: kindBudget(model.GroupRole)},
	{name: model.RuleEligible, pod: (*decision).noneEligible},
	{name: model.RuleSoleCopy, pod: (*decision).soleCopy},
	{name: model.RuleCatchingUp, pod: (*decision).catchingUp},
	{name: model.RuleForeignBudget, pod: refused(model.RuleForeignBudget, "a PodDisruptionBudget that is not Rollcall's refuses its eviction", "that budget allowing a disruption, or disabled where it is defined")},
	{name: model.RuleConflict, pod: refused(model.RuleConflict, "the pod object keeps changing while it is being acted on", "the pod object no longer changing")},
	// A pod that only waits for the partition. All other reasons say more.
	{name: model.RuleOrderedReady, pod: (*decision).partitionOrder},
}

// asksForced are the rules that hold a pod that a person has handed to its controller by force.
var asksForced = map[model.Rule]bool{model.RuleBadInput: true, model.RuleObserveOnly: true, model.RulePaused: true, model.RuleNodeGone: true, model.RuleTerminating: true, model.RuleClaimed: true}

// spares reports whether the rule does not apply to a candidate.
func (r *rule) spares(c *candidate) bool {
	if r.aboutUpdates && c.bringsNoUpdate() || r.sparesDead && c.dead || r.sparesFailed && c.failed {
		return true
	}
	return r.sparesBroken && c.outside && !(r.guardsData && (c.action == model.ActionReplace || c.action == model.ActionRemove))
}

func found(reason, unblocks string) *finding { return &finding{reason: reason, unblocks: unblocks} }

// until returns the finding with the time at which a clock ends it.
func (f *finding) until(t time.Time) *finding {
	f.retryAt = t
	return f
}

// forOthers returns the finding as one that lasts only as long as others in the order are held, or
// some pod is unavailable.
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

package model

import "slices"

// Rule is the name of a rule, the same in plans, Events, metrics, logs and runbooks.
type Rule string

// String is the name.
func (r Rule) String() string { return string(r) }

// The rules, in the order in which they are asked. The first that fails names the hold.
const (
	RuleBadInput         Rule = "bad-input"
	RuleObserveOnly      Rule = "observe-only"
	RulePaused           Rule = "paused"
	RuleOutsideWindow    Rule = "outside-window"
	RuleFleetFull        Rule = "fleet-full"
	RuleApproval         Rule = "approval"
	RuleCanary           Rule = "canary"
	RulePoolUnobserved   Rule = "pool-unobserved"
	RuleRolloutHalted    Rule = "rollout-halted"
	RuleViewSplit        Rule = "view-split"
	RuleNoLeader         Rule = "no-leader"
	RuleTwoLeaders       Rule = "two-leaders"
	RuleVersionRefused   Rule = "version-refused"
	RuleHealth           Rule = "health"
	RuleFailureDetection Rule = "failure-detection"
	RuleOtherOperation   Rule = "other-operation"
	RuleShutdown         Rule = "shutdown"
	RuleOrderedReady     Rule = "ordered-ready"
	RuleNodeGone         Rule = "node-gone"
	RuleNoReport         Rule = "no-report"
	RuleStaleReport      Rule = "stale-report"
	RuleTerminating      Rule = "terminating"
	RuleClaimed          Rule = "claimed"
	RuleVeto             Rule = "veto"
	RuleBusy             Rule = "busy"
	RuleTopology         Rule = "topology"
	RulePrimary          Rule = "primary"
	RuleVersionOrder     Rule = "version-order"
	RuleRankOrder        Rule = "rank-order"
	RuleLeaderLast       Rule = "leader-last"
	RuleZoneUnknown      Rule = "zone-unknown"
	RuleZoneBudget       Rule = "zone-budget"
	RulePodBudget        Rule = "pod-budget"
	RuleMoving           Rule = "moving"
	RuleShardBudget      Rule = "shard-budget"
	RuleQuorum           Rule = "quorum"
	RuleAcks             Rule = "acks"
	RuleRole             Rule = "role"
	RuleEligible         Rule = "eligible"
	RuleSoleCopy         Rule = "sole-copy"
	RuleCatchingUp       Rule = "catching-up"
	RuleForeignBudget    Rule = "foreign-budget"
	RuleConflict         Rule = "conflict"
)

var allRules = []Rule{
	RuleBadInput, RuleObserveOnly, RulePaused, RuleOutsideWindow, RuleFleetFull, RuleApproval, RuleCanary,
	RulePoolUnobserved, RuleRolloutHalted, RuleViewSplit, RuleNoLeader, RuleTwoLeaders, RuleVersionRefused, RuleHealth,
	RuleFailureDetection, RuleOtherOperation, RuleShutdown, RuleOrderedReady, RuleNodeGone, RuleNoReport, RuleStaleReport, RuleTerminating,
	RuleClaimed, RuleVeto, RuleBusy, RuleTopology, RulePrimary, RuleVersionOrder, RuleRankOrder, RuleLeaderLast, RuleZoneUnknown, RuleZoneBudget, RulePodBudget,
	RuleMoving, RuleShardBudget, RuleQuorum, RuleAcks, RuleRole, RuleEligible, RuleSoleCopy, RuleCatchingUp,
	RuleForeignBudget, RuleConflict,
}

// Rules are the names of all rules, in the order in which they are asked first.
func Rules() []Rule { return slices.Clone(allRules) }

package model

import "slices"

// Rule is the name of a rule, the same in plans, Events, metrics, logs and runbooks.
type Rule string

// String is the name.
func (r Rule) String() string { return string(r) }

// The rules, in the order in which they are asked. The first that fails names the hold.
const (
	BadInput       Rule = "bad-input"
	ObserveOnly    Rule = "observe-only"
	Paused         Rule = "paused"
	OutsideWindow  Rule = "outside-window"
	FleetFull      Rule = "fleet-full"
	NeedsApproval  Rule = "approval"
	CanaryFirst    Rule = "canary"
	PoolUnobserved Rule = "pool-unobserved"
	LineStopped    Rule = "rollout-halted"
	ViewSplit      Rule = "view-split"
	NoLeader       Rule = "no-leader"
	TwoLeaders     Rule = "two-leaders"
	VersionRefused Rule = "version-refused"
	Unhealthy      Rule = "health"
	Settling       Rule = "failure-detection"
	OtherOperation Rule = "other-operation"
	Shutdown       Rule = "shutdown"
	InOrder        Rule = "ordered-ready"
	OnDeadNode     Rule = "node-gone"
	NoReport       Rule = "no-report"
	StaleReport    Rule = "stale-report"
	OnItsWay       Rule = "terminating"
	Claimed        Rule = "claimed"
	Vetoed         Rule = "veto"
	Busy           Rule = "busy"
	VersionOrder   Rule = "version-order"
	RankOrder      Rule = "rank-order"
	LeaderLast     Rule = "leader-last"
	ZoneUnknown    Rule = "zone-unknown"
	ZonesAway      Rule = "zone-budget"
	PodsAway       Rule = "pod-budget"
	BeingMoved     Rule = "moving"
	ShardsAway     Rule = "shard-budget"
	QuorumLost     Rule = "quorum"
	AcksLost       Rule = "acks"
	RoleLost       Rule = "role"
	NoneEligible   Rule = "eligible"
	SoleCopy       Rule = "sole-copy"
	CatchingUp     Rule = "catching-up"
	ForeignBudget  Rule = "foreign-budget"
	Unstable       Rule = "conflict"
)

var allRules = []Rule{
	BadInput, ObserveOnly, Paused, OutsideWindow, FleetFull, NeedsApproval, CanaryFirst,
	PoolUnobserved, LineStopped, ViewSplit, NoLeader, TwoLeaders, VersionRefused, Unhealthy,
	Settling, OtherOperation, Shutdown, InOrder, OnDeadNode, NoReport, StaleReport, OnItsWay,
	Claimed, Vetoed, Busy, VersionOrder, RankOrder, LeaderLast, ZoneUnknown, ZonesAway, PodsAway,
	BeingMoved, ShardsAway, QuorumLost, AcksLost, RoleLost, NoneEligible, SoleCopy, CatchingUp,
	ForeignBudget, Unstable,
}

// Rules are the names of all rules, in the order in which they are asked first.
func Rules() []Rule { return slices.Clone(allRules) }

package rollout

// Move is the next thing to do about a claim.
type Move uint8

const (
	// MoveWait means that something else must happen first.
	MoveWait Move = iota
	// MovePlanDrain asks the agent what its drain will change.
	MovePlanDrain
	// MoveRecordDrain writes the answer into the claim.
	MoveRecordDrain
	// MoveDrain asks the agent to drain, or how far it has come.
	MoveDrain
	// MoveFindVolumes finds the pod's own volume claims, and whether they may be deleted.
	MoveFindVolumes
	// MoveRecordEmpty records that the database has nothing left on the pod.
	MoveRecordEmpty
	// MoveDeleteVolumes deletes the volume claims.
	MoveDeleteVolumes
	// MoveAwaitVolumes finds out whether the recreated pod has new volume claims.
	MoveAwaitVolumes
	// MoveFollowSuccessor transfers the claim to the recreated pod, which uses the volumes of the
	// old one.
	MoveFollowSuccessor
	// MoveHandoffOnBehalf asks another pod's agent to hand over for a pod that has none.
	MoveHandoffOnBehalf
	// MoveObserve asks the pod and its witnesses for new reports.
	MoveObserve
	// MoveOpenGuard reads the pod and the claim once more, and opens the guard.
	MoveOpenGuard
	// MoveEvict evicts or deletes the pod.
	MoveEvict
	// MoveCloseGuard closes the guard, because the pod stays, at least for now.
	MoveCloseGuard
	// MoveRestore undoes what the drain did.
	MoveRestore
	// MoveConfirmGone confirms with the API server itself that the pod is gone.
	MoveConfirmGone
	// MoveFindSet asks the API server what has become of a StatefulSet that is not shown.
	MoveFindSet
	// MoveRelease releases the claim.
	MoveRelease
)

// moveNames are the names of the moves, for logs and for the table in DESIGN.md.
var moveNames = [...]string{
	MoveWait:            "Wait",
	MovePlanDrain:       "PlanDrain",
	MoveRecordDrain:     "RecordDrain",
	MoveDrain:           "Drain",
	MoveFindVolumes:     "FindVolumes",
	MoveRecordEmpty:     "RecordEmpty",
	MoveDeleteVolumes:   "DeleteVolumes",
	MoveAwaitVolumes:    "AwaitVolumes",
	MoveFollowSuccessor: "FollowSuccessor",
	MoveHandoffOnBehalf: "HandoffOnBehalf",
	MoveObserve:         "Observe",
	MoveOpenGuard:       "OpenGuard",
	MoveEvict:           "Evict",
	MoveCloseGuard:      "CloseGuard",
	MoveRestore:         "Restore",
	MoveConfirmGone:     "ConfirmGone",
	MoveFindSet:         "FindSet",
	MoveRelease:         "Release",
}

func (m Move) String() string { return moveNames[m] }

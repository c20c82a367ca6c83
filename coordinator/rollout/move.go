package rollout

// Move is what is to be done next about one claim.
type Move uint8

const (
	// MoveWait means that something else must happen first.
	MoveWait Move = iota
	// MovePlanDrain: ask the agent what its drain will change.
	MovePlanDrain
	// MoveRecordDrain: write the answer into the claim.
	MoveRecordDrain
	// MoveDrain: have the agent drain, or ask how far it is.
	MoveDrain
	// MoveFindVolumes: find the volume claims that are the pod's own, and whether they may be deleted.
	MoveFindVolumes
	// MoveRecordEmpty: write down that the database has nothing left on the pod.
	MoveRecordEmpty
	// MoveDeleteVolumes: delete the volume claims.
	MoveDeleteVolumes
	// MoveAwaitVolumes: find out whether the recreated pod stands on new volume claims.
	MoveAwaitVolumes
	// MoveFollowSuccessor: claim the successor instead, which stands on the volumes that the pod had.
	MoveFollowSuccessor
	// MoveHandoffOnBehalf: have another pod's agent hand over for a pod that has none.
	MoveHandoffOnBehalf
	// MoveObserve: have the pod and the witnesses look again.
	MoveObserve
	// MoveOpenGuard: read the pod and the claim once more, and open the guard.
	MoveOpenGuard
	// MoveEvict: evict or delete the pod.
	MoveEvict
	// MoveCloseGuard: close the guard, because the pod stays, at least for now.
	MoveCloseGuard
	// MoveRestore: undo what the drain did.
	MoveRestore
	// MoveConfirmGone: confirm with the API server itself that the pod is gone.
	MoveConfirmGone
	// MoveFindSet: ask it what has become of a StatefulSet that is not shown.
	MoveFindSet
	// MoveRelease: release the claim.
	MoveRelease
)

// moveNames are the names of the moves, for logs and for the picture of a claim in DESIGN.md.
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

package rollout

// Move is what is to be done next about one claim.
type Move uint8

const (
	// Wait: something else must happen first.
	Wait Move = iota
	// AskPlan: ask the agent what its drain will change.
	AskPlan
	// RecordDrain: write the answer into the claim.
	RecordDrain
	// ApplyDrain: have the agent drain, or ask how far it is.
	ApplyDrain
	// LookForVolumes: find the volume claims that are the pod's own, and whether they may be deleted.
	LookForVolumes
	// RecordEmpty: write down that the database has nothing left on the pod.
	RecordEmpty
	// RemoveVolumes: delete the volume claims.
	RemoveVolumes
	// LookForNewVolumes: find out whether the pod's successor stands on new volume claims.
	LookForNewVolumes
	// FollowSuccessor: claim the successor instead, which stands on the volumes that the pod had.
	FollowSuccessor
	// HandOff: have another pod's agent hand over for a pod that has none.
	HandOff
	// LookAnew: have the pod and the witnesses look anew.
	LookAnew
	// Open: read the pod and the claim once more, and open the guard.
	Open
	// Evict: remove the pod.
	Evict
	// Close the guard, because the pod stays, at least for now.
	Close
	// Undo what the drain did.
	Undo
	// Confirm with the API server itself that the pod is gone.
	Confirm
	// LookForSet: ask it what has become of a StatefulSet that is not shown.
	LookForSet
	// Release the claim.
	Release
)

func (m Move) String() string {
	return [...]string{"Wait", "PlanDrain", "RecordDrain", "Drain", "FindVolumes", "RecordEmpty", "DeleteVolumes", "AwaitVolumes", "FollowSuccessor",
		"HandoffOnBehalf", "Observe", "OpenGuard", "Remove", "CloseGuard", "Restore", "ConfirmGone", "FindSet", "Release"}[m]
}

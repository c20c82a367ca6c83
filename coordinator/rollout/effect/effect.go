package effect

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Effect is something to be carried out outside of the core. Its result is given to a later
// step. Every effect may be carried out again: a successor does so, which knows of no results.
type Effect interface {
	// Kind names the effect, for logs.
	Kind() string
}

// PlanDrain asks an agent what a drain would change. It changes nothing.
type PlanDrain struct {
	Claim string
	To    Target
	Order Order
}

// Drain has an agent start or continue to drain a pod.
type Drain struct {
	Claim string
	To    Target
	Order Order
	Undo  []byte
}

// HandoffOnBehalf has another pod's agent, or the coordinator itself, hand over the duties of
// a pod that has no agent.
type HandoffOnBehalf struct {
	Claim string
	Pod   Target
	// By is the agent that hands over; nil: the coordinator does.
	By *Target
	// Member is the pod's name in the database.
	Member string
	Order  Order
}

// Observe has the pod and its witnesses look anew, and the pod's agent confirm its drain.
type Observe struct {
	Claim   string
	Barrier Barrier
	// Confirm is the drain to be confirmed; nil: there is none.
	Confirm *Drain
	// Continues: the agent was asked for that a moment ago, and goes on with it.
	Continues bool
}

// OpenGuard notes the claim on the pod and opens its guard, if it is closed.
type OpenGuard struct {
	Claim string
	Pod   Target
	// NoteOnly: the guard stays closed, because the pod's own controller would not wait.
	NoteOnly bool
	// CheckOthers: a closed guard is opened only after the API server has shown that
	// Expected holds for all pods.
	CheckOthers bool
	// Lower moves the partition after that; nil: it stays.
	Lower    *PartitionMove
	Expected Expected
}

// Evict evicts or deletes, as Method says, exactly the pod that was opened.
type Evict struct {
	Claim  string
	Method model.Method
	Opened PodSeen
	// Release first takes away what keeps the pod's own controller from it: Lower, if it is
	// not nil, and the guard.
	Release  bool
	Lower    *PartitionMove
	Expected Expected
}

// CloseGuard closes the guard of a pod that stays, at least for now, and takes the claim off it.
type CloseGuard struct {
	Claim string
	Pod   Target
	// Rewrite: an earlier write had no answer and may be carried out late, so even what is
	// closed is written, which makes that one fail.
	Rewrite bool
	// Raise puts the partition above the pod first; nil: something else keeps it.
	Raise    *PartitionRaise
	Expected Expected
}

// PartitionRaise puts the partition of a pool above one ordinal.
type PartitionRaise struct {
	Pool    string
	Ordinal int32
}

// Restore has an agent undo a drain.
type Restore struct {
	Claim string
	// Targets are asked one after the other.
	Targets []Target
	Undo    []byte
	// FindAgents: no pod that is shown has an agent. When nobody answers, it is looked
	// whether the API server knows of any.
	FindAgents bool
}

// ConfirmGone asks the API server itself whether the claimed pod is gone.
type ConfirmGone struct {
	Claim string
	Pod   Target
	// SetHidden: nothing is shown of the pod's StatefulSet.
	SetHidden bool
}

// FindSet asks the API server what has become of a StatefulSet that is not shown.
type FindSet struct {
	Claim string
	Set   string
}

// FindVolumes looks for the pod's own volume claims, and whether they may be deleted.
type FindVolumes struct {
	Claim string
	Pod   Target
}

// DeleteVolumes deletes the claimed volumes of a pod that is written down as empty.
type DeleteVolumes struct {
	Claim model.Claim
	// Own are the names that the pod's StatefulSet gives its volume claims; no other is deleted.
	Own []string
	// SetShown: the pod's StatefulSet is shown, with templates.
	SetShown bool
	// PodGone: there must be no pod of that name; otherwise the claimed one must be there.
	PodGone  bool
	Expected Expected
}

// AwaitVolumes looks whether a pod's successor stands on volumes of its own.
type AwaitVolumes struct {
	Claim   string
	Pod     string
	Volumes []model.VolumeClaim
}

// PartitionMove says where the partition of a StatefulSet goes, given that nothing about
// the StatefulSet has changed since it was decided on.
type PartitionMove struct {
	Pool  Pool
	Force bool
	// To is in ordinals: the first that the controller takes.
	To int32
}

// MovePartition moves a partition where that takes no pod away.
type MovePartition struct {
	Move PartitionMove
	// Finished is the revision that must be the current and the update revision; empty: any.
	Finished string
	// CheckOthers: the API server must show that Expected holds for all pods.
	CheckOthers bool
	Reason      string
	Expected    Expected
}

// RestoreSetting has an agent, or the coordinator itself, put a cluster setting back.
type RestoreSetting struct {
	Setting Shared
	Targets []Target
	// ByCoordinator: no pod has an agent, so the coordinator asks the database itself.
	ByCoordinator bool
	Expected      Expected
}

// RestoreLeftover has an agent undo what an earlier claim has left.
type RestoreLeftover struct {
	Leftover model.Leftover
	Targets  []Target
	Expected Expected
}

// DeleteByForce deletes the object of a pod that terminates on a node that is gone.
type DeleteByForce struct {
	Pod      Target
	Node     string
	Expected Expected
}

func (PlanDrain) Kind() string { return "PlanDrain" }

func (Drain) Kind() string { return "Drain" }

func (HandoffOnBehalf) Kind() string { return "HandoffOnBehalf" }

func (Observe) Kind() string { return "Observe" }

func (OpenGuard) Kind() string { return "OpenGuard" }

func (Evict) Kind() string { return "Evict" }

func (CloseGuard) Kind() string { return "CloseGuard" }

func (Restore) Kind() string { return "Restore" }

func (ConfirmGone) Kind() string { return "ConfirmGone" }

func (FindSet) Kind() string { return "FindSet" }

func (FindVolumes) Kind() string { return "FindVolumes" }

func (DeleteVolumes) Kind() string { return "DeleteVolumes" }

func (AwaitVolumes) Kind() string { return "AwaitVolumes" }

func (MovePartition) Kind() string { return "MovePartition" }

func (RestoreSetting) Kind() string { return "RestoreSetting" }

func (RestoreLeftover) Kind() string { return "RestoreLeftover" }

func (DeleteByForce) Kind() string { return "DeleteByForce" }

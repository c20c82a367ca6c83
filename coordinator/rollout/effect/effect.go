package effect

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Effect is something to be carried out outside of the core. A later step gets its result. It must
// be safe to carry out every effect twice: a new leader knows no results, and repeats effects.
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

// Drain asks an agent to start or continue draining a pod.
type Drain struct {
	Claim string
	To    Target
	Order Order
	Undo  []byte
}

// HandoffOnBehalf asks another pod's agent, or the coordinator itself, to hand over the duties of a
// pod that has no agent.
type HandoffOnBehalf struct {
	Claim string
	Pod   Target
	// By is the agent that hands over. It is nil if the coordinator does.
	By *Target
	// Member is the pod's name in the database.
	Member string
	Order  Order
}

// Observe asks the pod and its witnesses for fresh reports, and the pod's agent to confirm its drain.
type Observe struct {
	Claim   string
	Barrier Barrier
	// Confirm is the drain to confirm; nil if there is none.
	Confirm *Drain
	// Continues is true if the agent was asked to confirm it a moment ago and is still working on
	// it.
	Continues bool
}

// OpenGuard notes the claim on the pod and opens its guard, if it is closed.
type OpenGuard struct {
	Claim string
	Pod   Target
	// NoteOnly is true if the guard stays closed, because the pod's own controller would not wait.
	NoteOnly bool
	// CheckOthers is true if a closed guard is opened only after the API server has shown that
	// Expected holds for all pods.
	CheckOthers bool
	// Lower moves the partition after that. It is nil if the partition stays.
	Lower    *PartitionMove
	Expected Expected
}

// Evict evicts or deletes, as Method says, exactly the pod whose guard was opened.
type Evict struct {
	Claim  string
	Method model.Method
	Opened PodSeen
	// Release is true if what stops the pod's own controller is removed first: the partition is
	// moved by Lower, if that is not nil, and the guard is opened.
	Release  bool
	Lower    *PartitionMove
	Expected Expected
}

// CloseGuard closes the guard of a pod that stays, at least for now, and removes the claim from the
// pod.
type CloseGuard struct {
	Claim string
	Pod   Target
	// Rewrite is true if an earlier write had no answer and may still be carried out, so a closed
	// guard is written again, which makes the earlier write fail.
	Rewrite bool
	// Raise puts the partition above the pod first. It is nil if something else stops the
	// controller.
	Raise    *PartitionRaise
	Expected Expected
}

// PartitionRaise puts the partition of a pool above one ordinal.
type PartitionRaise struct {
	Pool    string
	Ordinal int32
}

// Restore asks an agent to undo a drain.
type Restore struct {
	Claim string
	// Targets are asked one after the other.
	Targets []Target
	Undo    []byte
	// FindAgents is true if no pod in the cache has an agent. If nobody answers, the API server is
	// asked whether one has.
	FindAgents bool
}

// ConfirmGone asks the API server itself whether the claimed pod is gone.
type ConfirmGone struct {
	Claim string
	Pod   Target
	// SetHidden is true if the cache does not have the pod's StatefulSet.
	SetHidden bool
}

// FindSet asks the API server about a StatefulSet that the cache does not have.
type FindSet struct {
	Claim string
	Set   string
}

// FindVolumes finds the pod's own volume claims, and whether the coordinator may delete them.
type FindVolumes struct {
	Claim string
	Pod   Target
}

// DeleteVolumes deletes the claimed volumes of a pod that is recorded as empty.
type DeleteVolumes struct {
	Claim model.Claim
	// Own are the names that the pod's StatefulSet gives its volume claims; no other is deleted.
	Own []string
	// SetShown is true if the cache has the pod's StatefulSet, with its volume claim templates.
	SetShown bool
	// PodGone is true if there must be no pod of that name; otherwise the claimed one must be
	// there.
	PodGone  bool
	Expected Expected
}

// AwaitVolumes finds out whether the recreated pod has new volumes.
type AwaitVolumes struct {
	Claim   string
	Pod     string
	Volumes []model.VolumeClaim
}

// PartitionMove says where the partition of a StatefulSet goes, provided that the StatefulSet has
// not changed since the decision.
type PartitionMove struct {
	Pool  Pool
	Force bool
	// To is an ordinal: the first that the controller updates.
	To int32
}

// MovePartition moves a partition where that frees no pod.
type MovePartition struct {
	Move PartitionMove
	// Finished is the revision that must be both the current and the update revision. It is empty
	// if any will do.
	Finished string
	// CheckOthers is true if the API server must show that Expected holds for all pods.
	CheckOthers bool
	Reason      string
	Expected    Expected
}

// RestoreSetting asks an agent, or the coordinator itself, to restore a cluster setting.
type RestoreSetting struct {
	Setting ClusterSetting
	Targets []Target
	// ByCoordinator is true if no pod has an agent, so the coordinator asks the database itself.
	ByCoordinator bool
	Expected      Expected
}

// RestorePending asks an agent to undo what an earlier claim has left.
type RestorePending struct {
	Pending  model.PendingRestore
	Targets  []Target
	Expected Expected
}

// DeleteByForce deletes a pod that is terminating on a node that is gone.
type DeleteByForce struct {
	Pod      Target
	Node     string
	Expected Expected
}

// LabelRoles labels pods by what their members are. Nobody is labelled as the primary before the API
// server has confirmed that no other pod of the database is.
type LabelRoles struct {
	// Roles are the labels of pods that are not the primary.
	Roles []RoleLabel
	// Primary is the pod that is to be labelled as the primary. It is zero if none is.
	Primary Target
	// Fence is true if a write of a former leader, or one that had no answer, may still label some
	// pod as the primary. Then all pods are written, the primary last, so that it fails.
	Fence bool
	// Pools find the pods of the database.
	Pools    []Pool
	Expected Expected
}

// RoleLabel is a pod and its label. An empty one is removed.
type RoleLabel struct {
	Pod  Target
	Role string
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

func (RestorePending) Kind() string { return "RestorePending" }

func (DeleteByForce) Kind() string { return "DeleteByForce" }

func (LabelRoles) Kind() string { return "LabelRoles" }

package model

import "slices"

// Claim is the written intent to disrupt one pod. It reserves budget from the
// moment it is written until the pod is back, and fences coordinators from
// each other.
type Claim struct {
	// id is unique among the claims of the database cluster, ever.
	// +kubebuilder:validation:MaxLength=253
	ID string `json:"id"`
	// pod is the name of the claimed pod.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is that of the pod that was claimed, not of the recreated pod.
	// +kubebuilder:validation:MaxLength=253
	UID string `json:"uid"`
	// action is what is done to the pod.
	// +optional
	Action Action `json:"action,omitempty"`
	// reason is why the pod goes.
	// +optional
	Reason Reason `json:"reason,omitempty"`
	// prepare is what makes the pod safe to stop.
	// +optional
	Prepare Prepare `json:"prepare,omitempty"`
	// from is the revision of the claimed pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	From string `json:"from,omitempty"`
	// to is the revision that the recreated pod should have.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	To string `json:"to,omitempty"`
	// epoch is that of the coordinator that wrote the claim last.
	// +optional
	Epoch int64 `json:"epoch,omitempty"`
	// phase is how far the claim has come.
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// startedAt is when the claim was written.
	// +optional
	StartedAt Time `json:"startedAt,omitzero"`
	// podResourceVersion is what was read of the pod last.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PodResourceVersion string `json:"podResourceVersion,omitempty"`
	// groups maps those groups of the pod that were not full when it was
	// claimed to the number of their Active members. All others must be full again.
	// +optional
	// +kubebuilder:validation:MaxProperties=10000
	Groups map[string]int32 `json:"groups,omitempty"`
	// broken maps groups to the number of the pod's own members that were not Active when
	// it was claimed: as many may not be when it is back.
	// +optional
	// +kubebuilder:validation:MaxProperties=10000
	Broken map[string]int32 `json:"broken,omitempty"`
	// unseen: no report said Live when the pod was claimed, so nobody could tell which of its
	// members were not Active.
	// +optional
	Unseen bool `json:"unseen,omitempty"`
	// beforeTurn: the pod was claimed before its turn, as nobody else could go.
	// +optional
	BeforeTurn bool `json:"beforeTurn,omitempty"`
	// undo is what the agent needs to undo its drain; opaque, at most 4 KiB.
	// +optional
	// +kubebuilder:validation:MaxLength=5464
	Undo []byte `json:"undo,omitempty"`
	// zone is that of the claimed pod, for the time in which there is no pod.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Zone string `json:"zone,omitempty"`
	// volumes are the pod's own volume claims, which a replacement deletes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Volumes []VolumeClaim `json:"volumes,omitempty"`
	// emptiedAt is when the database was seen to have nothing left on the pod.
	// From then on the claim is carried out, and nothing comes back to these volumes.
	// +optional
	EmptiedAt *Time `json:"emptiedAt,omitempty"`
}

// VolumeClaim is a PersistentVolumeClaim as it was when its pod was claimed.
type VolumeClaim struct {
	// name of the PersistentVolumeClaim.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid tells it from a later one of the same name.
	// +kubebuilder:validation:MaxLength=253
	UID string `json:"uid"`
}

// ClusterSetting is a setting of the whole database that claims have changed.
type ClusterSetting struct {
	// setting is its name, in the engine's words.
	// +kubebuilder:validation:MaxLength=1024
	Name string `json:"setting"`
	// undo is what an agent needs to put the setting back.
	// +optional
	// +kubebuilder:validation:MaxLength=5464
	Undo []byte `json:"undo,omitempty"`
	// claims are the ids of the claims that rely on the change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	Claims []string `json:"claims,omitempty"`
}

// PendingRestore is what a drain has changed that could not be undone when its claim ended.
type PendingRestore struct {
	// claim is the id of that claim.
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`
	// pod is the one that was claimed.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// undo is what an agent needs to undo it.
	// +kubebuilder:validation:MaxLength=5464
	Undo []byte `json:"undo"`
}

// ClaimPhase is the state of a claim: how far it has come. rollout/DESIGN.md has the picture of
// all states, and of what leads from one to the next.
// +kubebuilder:validation:Enum=Claimed;Draining;Drained;Emptied;Opened;Gone;Rejoined;Restoring;Settling
type ClaimPhase string

// The phases of a claim, in their order.
const (
	// PhaseClaimed: the claim is written, and nothing in the database has changed. Entered with the
	// claim, and again where a recreated pod is followed. Left when the agent has said what its
	// drain will change; a pod that needs no drain is opened from here.
	PhaseClaimed ClaimPhase = "Claimed"
	// PhaseDraining: the agent has said what its drain will change, and the pod is not drained.
	// What is to be undone is recorded in the claim before the drain begins. Left when an agent
	// confirms the drain, or the pod need not wait for it any more.
	PhaseDraining ClaimPhase = "Draining"
	// PhaseDrained: the pod is drained. It and its witnesses look anew, and the policy is asked again for
	// it alone. Left when it may go, or when the drain has not lasted.
	PhaseDrained ClaimPhase = "Drained"
	// PhaseEmptied, of a replacement: it is written down that the database has nothing left on the
	// pod. The claim is not given up any more, and its volumes are deleted. Left when the pod may go.
	PhaseEmptied ClaimPhase = "Emptied"
	// PhaseOpened: the claim is noted on the pod and its guard open, or its removal accepted, or it is
	// terminating. Left when the pod is gone, or when no decision stands behind the open guard.
	PhaseOpened ClaimPhase = "Opened"
	// PhaseGone: there is no pod of the claimed UID. Left when the recreated pod is a member of the
	// database again, or has failed, and has its own volumes if it was replaced.
	PhaseGone ClaimPhase = "Gone"
	// PhaseRejoined is not entered any more; saved snapshots may have it.
	PhaseRejoined ClaimPhase = "Rejoined"
	// PhaseRestoring: what the drain has changed is undone, as the pod is back, or has failed, or stays
	// because the claim is given up. Left when an agent has undone it.
	PhaseRestoring ClaimPhase = "Restoring"
	// PhaseSettling: the recreated pod is a member of the database. Left, with the claim, when all
	// that was asked of it is true.
	PhaseSettling ClaimPhase = "Settling"
)

// ClaimPhases are all phases, in their order.
func ClaimPhases() []ClaimPhase {
	return []ClaimPhase{
		PhaseClaimed, PhaseDraining, PhaseDrained, PhaseEmptied, PhaseOpened, PhaseGone, PhaseRejoined, PhaseRestoring, PhaseSettling,
	}
}

// Order is the place of a phase among all, from 0; -1 for one that is not known.
func (p ClaimPhase) Order() int { return slices.Index(ClaimPhases(), p) }

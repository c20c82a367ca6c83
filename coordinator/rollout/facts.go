package rollout

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Facts are the input of one step: one view of Kubernetes and of what the agents report.
type Facts struct {
	Object effect.Object
	// Record is what the DatabaseCluster's status says about the rollout.
	Record   Record
	Snapshot model.Snapshot
	// ResourceVersions are the resourceVersions of the pods from which Snapshot was made, by UID.
	ResourceVersions map[string]string
	// RoleLabels are the labels that say what the pods' members are, by UID.
	RoleLabels map[string]string
	// Disputed is true if a fresh report names another primary than the snapshot.
	Disputed bool
	// Pools are the StatefulSets from which Snapshot was made.
	Pools []effect.Pool
	// VolumeTemplates are the names of the volume claim templates of each StatefulSet, by its name.
	VolumeTemplates map[string][]string
	// MemberNames are the names that the database has for pods, by pod, where they are certain.
	// They are needed only while pods without an agent go, or pods are replaced.
	MemberNames map[string]string
	// Engine is what the engine's agents can do.
	Engine Engine
	// LastDeparture is when the last pod left whose absence the database may not have noticed yet.
	// It is zero if there is none.
	LastDeparture time.Time
	// ForeignBudgets are the foreign PodDisruptionBudgets that refuse evictions now, by pod.
	ForeignBudgets map[string]string
	// Unlimited is true if other database clusters set no limit. Otherwise ClaimLimit is how many
	// claims of this database cluster may be open.
	Unlimited  bool
	ClaimLimit int
}

// Record is what the status of a DatabaseCluster says about the rollout. It has everything that a
// coordinator must know about what its predecessor began.
type Record struct {
	Epoch           int64
	Claims          []model.Claim
	ClusterSettings []model.ClusterSetting
	PendingRestores []model.PendingRestore
}

// Engine is what the engine's agents can do for pods other than their own.
type Engine struct {
	// EvacuatesOthers is true if any agent can evacuate the member of a pod in which no agent runs.
	EvacuatesOthers bool
	// OwnAgentOnly is true if only its own agent can hand over for a leading member. A pod without
	// an agent then goes only after another agent has said that it may.
	OwnAgentOnly bool
}

func (f *Facts) pool(name string) *effect.Pool {
	at := slices.IndexFunc(f.Pools, func(p effect.Pool) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	return &f.Pools[at]
}

// mayOpen reports whether that many claims may be open as far as other clusters are concerned.
func (f *Facts) mayOpen(claims int) bool { return f.Unlimited || claims <= f.ClaimLimit }

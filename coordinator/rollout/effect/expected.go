package effect

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Expected is the state that was decided on. It must still hold when the effect is carried out, or
// the effect fails without writing anything.
type Expected struct {
	// Object is the DatabaseCluster. A newer spec or a pause counts as a change.
	Object Object
	// Claim must still be in the status, in the epoch in which the effect is carried out. If it is
	// nil, only the epoch counts.
	Claim *model.Claim
	// Paused is true if the database cluster is paused, so that paused StatefulSets are no change.
	Paused bool
	// Pools and Pods must exist and must not be deleted. They are not checked if Pools is empty.
	Pools []Pool
	Pods  []Target
}

// Object is the DatabaseCluster from which the facts were made.
type Object struct {
	Generation int64
	// Paused is the value of the annotation that pauses it.
	Paused string
	// DeletionTimestamp is when its deletion was requested. It is zero if it was not.
	DeletionTimestamp time.Time
}

// Pool is what must be known about a StatefulSet beyond what a snapshot has.
type Pool struct {
	Name string
	UID  string
	// Generation is that of the spec that was decided on.
	Generation int64
	// CurrentRevision is the revision on which pods below the partition are recreated.
	CurrentRevision string
	// Selector finds its pods.
	Selector string
	// Foreign is true if its partition is not the one that a coordinator wrote last.
	Foreign bool
}

package effect

import (
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Expected is what was decided on, and must be so still when the effect is carried out, or
// the effect fails without any write.
type Expected struct {
	// Object is the DatabaseCluster. A newer spec, or a pause, means that it has changed.
	Object Object
	// Claim must still be in the status, in the epoch in which the effect is carried out. It is nil
	// if the epoch alone counts.
	Claim *model.Claim
	// Paused is true if the database cluster is paused, so paused StatefulSets are no news.
	Paused bool
	// Pools and Pods must be there, with nobody having deleted them; not looked at when
	// Pools is empty.
	Pools []Pool
	Pods  []Target
}

// Object is the DatabaseCluster from which the facts were made.
type Object struct {
	Generation int64
	// Paused is the value of the annotation that pauses it.
	Paused string
	// DeletionTimestamp is when its deletion was asked for. It is zero if it was not.
	DeletionTimestamp time.Time
}

// Pool is what must be known of a StatefulSet beyond what a snapshot has.
type Pool struct {
	Name string
	UID  string
	// Generation of the spec that was decided on.
	Generation int64
	// CurrentRevision is what pods below the partition come back on.
	CurrentRevision string
	// Selector finds its pods.
	Selector string
	// Foreign is true if its partition is not the one that a coordinator has written last.
	Foreign bool
}

package oracle

import (
	"fmt"
	"time"
)

// Limits of the database cluster that is watched.
type Limits struct {
	Cluster string
	Sets    []string
	// Pods and Shard are how many may be unavailable.
	Pods, Shard int
	// ByPartition is true if Rollcall has the set's partition, and puts it to rest.
	ByPartition bool
	// Zones, when not 0, is how many may have unavailable pods.
	Zones int
	// Ephemeral is true if the data of a pod is gone with it.
	Ephemeral bool
	// Quiet is true if nothing goes wrong.
	Quiet bool
	// Replaced is true if an outdated pod is replaced, and not restarted.
	Replaced bool
}

// Break is an invariant that did not hold.
type Break struct {
	At        time.Duration
	Invariant string
	Why       string
}

func (b Break) String() string { return fmt.Sprintf("%s at %s: %s", b.Invariant, b.At, b.Why) }

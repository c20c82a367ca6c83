package effect

import "github.com/rollcall-dev/rollcall/coordinator/model"

// PodSeen is a pod as the API server returned it, not a cache.
type PodSeen struct {
	Name            string
	UID             string
	ResourceVersion string
	// Terminating is true if its deletion was accepted.
	Terminating bool
	// Guard is the value of the guard's label. It is empty if there is none.
	Guard string
	// Role is the value of the label that says what its member is. It is empty if there is none.
	Role string
	// Claim is the id under which the pod's guard was opened. It is empty if it was not.
	Claim string
	// Scheduled is true if it has a node.
	Scheduled bool
	// Volumes are the names of its own volume claims.
	Volumes []string
}

// SetSeen is a StatefulSet as the API server returned it, not a cache.
type SetSeen struct {
	Name                            string
	UID                             string
	ResourceVersion                 string
	Generation                      int64
	ObservedGeneration              int64
	CurrentRevision, UpdateRevision string
	// Partition is counted from Start, the first ordinal.
	Partition int32
	Start     int32
	Force     bool
	Paused    bool
}

// FirstOrdinal is the first ordinal that the StatefulSet controller updates.
func (s SetSeen) FirstOrdinal() int32 { return model.FirstOrdinal(s.Partition, s.Start) }

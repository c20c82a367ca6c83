package model

import "fmt"

// FirstOrdinalNone is where the partition of a pool rests: above any ordinal, so that pods added
// together with a new template start on the old one.
const FirstOrdinalNone int32 = maxOrdinal

// FirstOrdinal converts a StatefulSet's partition to the lowest ordinal that gets the update
// revision. Kubernetes counts a partition from the first ordinal, start. At rest both are the same.
func FirstOrdinal(partition, start int32) int32 {
	if partition >= FirstOrdinalNone-start {
		return FirstOrdinalNone
	}
	return partition + start
}

// PartitionOf converts that ordinal to a partition.
func PartitionOf(ordinal, start int32) int32 {
	if ordinal >= FirstOrdinalNone {
		return FirstOrdinalNone
	}
	return max(0, ordinal-start)
}

// Line is a move of a pool's partition that takes no pod away.
type Line struct {
	Pool string `json:"pool"`
	// Partition is what the StatefulSet's partition should be.
	Partition int32 `json:"partition"`
	// Reason says why.
	Reason string `json:"reason"`
}

// Text prints the move on one line.
func (l Line) Text() string { return fmt.Sprintf("partition %s %d: %s", l.Pool, l.Partition, l.Reason) }

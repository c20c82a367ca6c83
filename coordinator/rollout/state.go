package rollout

import (
	"maps"

	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// State is what one coordinator remembers about the rollout of one database cluster during one
// epoch. All of it can be found out again: a new leader begins with an empty State, and repeats
// what it does not know. Step never changes the State that it is given.
type State struct {
	epoch int64
	// superseded is true if another coordinator leads now. Nothing more is done.
	superseded bool

	// attempts are what is known about open claims, by id.
	attempts map[string]*attempt
	// made are the claims that this coordinator has asked for.
	made map[string]bool
	// backoffs are the pods that are left alone for a while, by UID.
	backoffs map[string]*backoff
	// settings are the cluster settings whose old value is recorded. recorded are the claims that
	// this coordinator has added to a record. restored counts the settings that were restored.
	settings map[string]*setting
	recorded map[string]bool
	restored int
	// pendingRestores are what is known about what is still to be undone, by claim.
	pendingRestores map[string]*pending
	// forced are the pods that are deleted by force, by UID.
	forced map[string]*pending
	// partitions are those that were moved, by pool.
	partitions map[string]*partition

	// labels is what is known about the labels of roles.
	labels labels

	// progress is when something last got better. stalled is the phase of the last decision.
	progress  progress.Progress
	stalled   bool
	estimates progress.Estimates
}

// NewState returns the state of a coordinator that has just taken the database cluster over.
func NewState(epoch int64, before Before) State {
	return State{epoch: epoch, progress: progress.New(before.LastProgress), stalled: before.Stalled, estimates: before.Estimates}
}

// Superseded reports whether another coordinator is known to lead.
func (s State) Superseded() bool { return s.superseded }

// clone copies everything that a step may change.
func (s State) clone() State {
	s.attempts = clonePointers(s.attempts)
	for _, r := range s.attempts {
		r.retained = maps.Clone(r.retained)
	}
	s.made = cloned(s.made)
	s.backoffs = clonePointers(s.backoffs)
	s.settings = clonePointers(s.settings)
	s.recorded = cloned(s.recorded)
	s.pendingRestores = clonePointers(s.pendingRestores)
	s.forced = clonePointers(s.forced)
	s.partitions = clonePointers(s.partitions)
	s.labels.written = maps.Clone(s.labels.written)
	return s
}

func cloned(m map[string]bool) map[string]bool {
	if m == nil {
		return map[string]bool{}
	}
	return maps.Clone(m)
}

func clonePointers[V any](m map[string]*V) map[string]*V {
	out := make(map[string]*V, len(m))
	for k, v := range m {
		c := *v
		out[k] = &c
	}
	return out
}

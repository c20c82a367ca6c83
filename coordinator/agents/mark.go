package agents

import (
	"slices"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// mark is how far the reports of one pod's agent have come. The zero mark is before all: observations are counted from one.
type mark struct{ incarnation, sequence uint64 }

func markOf(r *rollcallv1.Report) mark {
	return mark{r.GetIdentity().GetIncarnation(), r.GetSequence()}
}

// formerRuns is how many runs of an agent that have ended are remembered.
const formerRuns = 8

// heard is the mark, and which runs it has left behind.
//
// Invariant: a run that was overtaken by another is never heard again.
type heard struct {
	mark
	former []uint64
}

// later reports whether a report was made after all that was heard. asked is the run that had been
// heard when the report was asked for, or its stream was opened.
//
// Runs of a pod's agent follow each other. One with a higher number is later; but an agent whose
// node's clock was set back, and whose state is lost, may get a lower one. What it answers to a
// question that was put after the earlier run had been heard was said later all the same.
func (h *heard) later(is mark, asked uint64) bool {
	switch {
	case is.incarnation == h.incarnation:
		return is.sequence > h.sequence
	case slices.Contains(h.former, is.incarnation):
		return false
	}
	return is.incarnation > h.incarnation || asked == h.incarnation
}

// advance notes a report that was taken.
func (h *heard) advance(to mark) {
	if h.incarnation != 0 && to.incarnation != h.incarnation {
		h.former = append(h.former[max(0, len(h.former)-formerRuns+1):len(h.former):len(h.former)], h.incarnation)
	}
	h.mark = to
}

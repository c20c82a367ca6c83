package agents

import (
	"slices"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// mark is how far the reports of one pod's agent have come. The zero mark is before all of them:
// observations are counted from one.
type mark struct{ incarnation, sequence uint64 }

func markOf(r *rollcallv1.Report) mark {
	return mark{r.GetIdentity().GetIncarnation(), r.GetSequence()}
}

// formerRuns is how many ended runs of an agent are remembered.
const formerRuns = 8

// heard is the mark, and the runs before it.
//
// Invariant: a run that was followed by another is never accepted again.
type heard struct {
	mark
	former []uint64
}

// later reports whether a report was made after everything that was heard. asked is the run that
// had been heard when the report was requested, or its stream was opened.
//
// Runs of a pod's agent follow each other. One with a higher number is later. But an agent whose
// node's clock was set back, and whose state is lost, may get a lower number. Its answer to a
// request that was sent after the earlier run had been heard is later all the same.
func (h *heard) later(is mark, asked uint64) bool {
	switch {
	case is.incarnation == h.incarnation:
		return is.sequence > h.sequence
	case slices.Contains(h.former, is.incarnation):
		return false
	}
	return is.incarnation > h.incarnation || asked == h.incarnation
}

// advance notes an accepted report.
func (h *heard) advance(to mark) {
	if h.incarnation != 0 && to.incarnation != h.incarnation {
		h.former = append(h.former[max(0, len(h.former)-formerRuns+1):len(h.former):len(h.former)], h.incarnation)
	}
	h.mark = to
}

package agents

import (
	"cmp"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// mark is how far the reports of one pod's agent have come. The zero mark is before all: observations are counted from one.
type mark struct{ incarnation, sequence uint64 }

func markOf(r *rollcallv1.Report) mark {
	return mark{r.GetIdentity().GetIncarnation(), r.GetSequence()}
}

// before tells whether a report with mark b was made later.
func (m mark) before(b mark) bool {
	return cmp.Or(cmp.Compare(m.incarnation, b.incarnation), cmp.Compare(m.sequence, b.sequence)) < 0
}

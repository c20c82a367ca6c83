package mysql

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// view is all members as they looked at one moment, as one of them sees it: values only.
type view struct {
	now    time.Time
	self   member
	others []member // by ordinal
	// domains behind members' names, where they are followed by them.
	domains domains
	// past is where the local server was longer than maxLag ago; zero: not known.
	past   mark
	maxLag time.Duration
	// brokenAfter is how long a replica must not have replicated until it counts as broken.
	brokenAfter time.Duration
	// external: another manager owns the topology.
	external bool
}

// member is one of the database's, as it was looked at.
type member struct {
	peer  engines.Peer
	state State
	// known: state is an answer to a question asked for this view. Why it is not.
	known bool
	why   string
}

func (m member) name() string { return cmp.Or(m.state.Node, m.peer.Name()) }

// serves: all that was asked for is known.
func (m member) serves() bool { return m.known && m.state.Serving }

func (m member) allows() bool { return m.serves() && m.state.Writes == Allowed }

// refuses writes for sure; what is unknown does not.
func (m member) refuses() bool {
	return m.serves() && (m.state.Writes == RefusedAtStart || m.state.Writes == RefusedBySQL)
}

// delayed: it lags on purpose, to keep what is undone elsewhere. It is no copy of what
// the database has now, and takes nothing over.
func (m member) delayed() bool {
	return m.serves() && m.state.Source != nil && m.state.Source.Delay > 0
}

// silence says why nothing is known.
func (m member) silence() string {
	switch {
	case !m.known && m.why != "":
		return m.name() + " does not answer: " + m.why
	case !m.known:
		return m.name() + " does not answer"
	case m.state.Problem != "":
		return m.name() + " does not serve: " + engines.OneLine(m.state.Problem)
	}
	return m.name() + " does not serve"
}

func (v view) all() []member { return append([]member{v.self}, v.others...) }

func (v view) find(name string) (member, bool) {
	i := slices.IndexFunc(v.others, func(m member) bool { return m.name() == name })
	if i < 0 {
		return member{}, false
	}
	return v.others[i], true
}

// writers are the others that allow writes.
func (v view) writers() []member {
	var out []member
	for _, m := range v.others {
		if m.allows() {
			out = append(out, m)
		}
	}
	return out
}

func byOrdinal(a, b member) int {
	first, second := cmp.Or(a.peer.Pod, a.name()), cmp.Or(b.peer.Pod, b.name())
	return cmp.Or(cmp.Compare(ordinal(first), ordinal(second)), cmp.Compare(first, second), cmp.Compare(a.name(), b.name()))
}

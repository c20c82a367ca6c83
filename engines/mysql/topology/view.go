// Package topology compares the states of all members of a database: which server follows which,
// which transactions each has, and what an agent observes. It is pure.
package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// View is the state of all members at one moment, as one of them sees it. It has values only.
type View struct {
	Now    time.Time
	Self   Member
	Others []Member // by ordinal
	// Domains by which members are followed, behind their bare names.
	Domains replication.Domains
	// Unresolved are names that do not resolve here, with why.
	Unresolved map[string]string
	// Past is what the local server had executed longer than MaxLag ago; zero means not known.
	Past   Checkpoint
	MaxLag time.Duration
	// BrokenAfter is how long a replica must not have replicated until it counts as broken.
	BrokenAfter time.Duration
	// External means that another manager owns the topology.
	External bool
	// Asked is what people say that the primary does; Unknown means by the topology.
	Asked engines.Primary
	// Fixed is the fixed primary that was seen last; zero means that none was, or that another
	// topology was seen since.
	Fixed Fixed
}

// Fixed is a fixed primary: its name, and the ID of its server.
type Fixed struct{ Name, ID string }

// Member is a member of the database with the result of its look.
type Member struct {
	Peer  engines.Peer
	State replication.State
	// Known means that State answers a question that was asked for this view; if not, Why says why.
	Known bool
	Why   string
}

func (m Member) Name() string { return cmp.Or(m.State.Node, m.Peer.Name()) }

// Serves reports whether everything that was asked for is known.
func (m Member) Serves() bool { return m.Known && m.State.Serving }

// unheard reports whether no agent of the member was ever known, as while a database is adopted.
func (m Member) unheard() bool { return m.Peer.Pod == "" && !m.Known }

func (m Member) Allows() bool { return m.Serves() && m.State.Writes == replication.Allowed }

// Refuses reports whether the member is known to refuse writes.
func (m Member) Refuses() bool {
	return m.Serves() && (m.State.Writes == replication.RefusedAtStart || m.State.Writes == replication.RefusedBySQL)
}

// Delayed reports whether the replica lags on purpose. It is no copy of the current data, and takes
// nothing over.
func (m Member) Delayed() bool {
	return m.Serves() && m.State.Source != nil && m.State.Source.Delay > 0
}

// Twin explains that the member has the same server_id as another one. As replicas of a third server
// both may work, but neither can follow the other: it takes what the other wrote for its own.
func (v View) Twin(m Member) string {
	for _, o := range v.All() {
		if o.Name() != m.Name() && o.Known && m.State.ServerID != "" && o.State.ServerID == m.State.ServerID {
			return fmt.Sprintf("%s and %s have the same server_id, %s, so that neither can follow the other: each must have its own", m.Name(), o.Name(), engines.OneLine(m.State.ServerID))
		}
	}
	return ""
}

// Silence returns why nothing is known.
func (m Member) Silence() string {
	switch {
	case !m.Known && m.Why != "":
		return m.Name() + " does not answer: " + m.Why
	case !m.Known:
		return m.Name() + " does not answer"
	case m.State.Problem != "":
		return m.Name() + " does not serve: " + engines.OneLine(m.State.Problem)
	}
	return m.Name() + " does not serve"
}

// Powerless explains that the member's agent may not do what a handover takes. Empty means that it may,
// or that it is not known.
func (m Member) Powerless() string {
	if len(m.State.Lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("the account of %s's agent needs %s for a handover", m.Name(), engines.OneLine(strings.Join(m.State.Lacks, ", ")))
}

func (v View) All() []Member { return append([]Member{v.Self}, v.Others...) }

// Grouped reports whether a member is in a group. Who is not in it, as one whose plugin was not loaded,
// was put out or has yet to join: that is the group's affair, and it follows nobody.
func (v View) Grouped() bool {
	return slices.ContainsFunc(v.All(), func(m Member) bool { return m.Serves() && m.State.Group != nil })
}

func (v View) Find(name string) (Member, bool) {
	i := slices.IndexFunc(v.Others, func(m Member) bool { return m.Name() == name })
	if i < 0 {
		return Member{}, false
	}
	return v.Others[i], true
}

// Writers returns the other members that allow writes.
func (v View) Writers() []Member {
	var out []Member
	for _, m := range v.Others {
		if m.Allows() {
			out = append(out, m)
		}
	}
	return out
}

func ByOrdinal(a, b Member) int {
	first, second := cmp.Or(a.Peer.Pod, a.Name()), cmp.Or(b.Peer.Pod, b.Name())
	return cmp.Or(cmp.Compare(replication.Ordinal(first), replication.Ordinal(second)), cmp.Compare(first, second), cmp.Compare(a.Name(), b.Name()))
}

package galera

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// View is all that is known of the members at one moment.
type View struct {
	Now time.Time
	// Self is the local member, Others the members with an agent.
	Self   Member
	Others []Member
	// Before is what was last known of members, by name: of one that is gone nobody tells.
	Before map[string]Past
	// Listed is when the local member last saw each member in the primary component, by name. One
	// without an agent, as while it is adopted, is known by that alone.
	Listed map[string]Listed
}

// Listed is when a member was last in the primary component.
type Listed struct {
	At time.Time
	// Arbitrator means that it votes and has no data.
	Arbitrator bool
}

// missedFor is for how long a member that has left counts as missing though nobody has an agent of it.
// Of one that had an agent the others know for as long.
const missedFor = 15 * time.Minute

// Past is what was last known of a member.
type Past struct {
	Weight    int
	Committed int64
}

// staleAfter is the age from which on a look no longer counts. An agent looks once a second.
const staleAfter = 20 * time.Second

// maxVotes bounds what a report says of votes.
const maxVotes = 1024

// voter is a member of the database, with an agent or without.
type voter struct {
	Member
	// name in the database. Two members of one name are told apart by nobody.
	name string
	// inView means that the local member sees it in its component.
	inView bool
	// arbitrator means that it votes and has no data.
	arbitrator bool
	// agent means that an agent of it is or was known.
	agent bool
	// weight in the quorum; guessed means that nobody has told it.
	weight  int
	guessed bool
}

// assessment is a view with what follows from it.
type assessment struct {
	View
	voters []voter
	// unsure is why the view of the local member is not to be trusted; empty means that it is.
	unsure string
}

func assess(v View) assessment {
	a := assessment{View: v}
	a.Others = slices.Clone(v.Others)
	for i, m := range a.Others {
		if m.Known && v.Now.Sub(m.State.Looked) > staleAfter {
			a.Others[i] = Member{Peer: m.Peer, Why: "its agent has not looked at it for long"}
		}
	}
	own := v.Self.State
	matched := map[string]bool{}
	add := func(m Member, self bool) {
		x := voter{Member: m, name: m.Name(), agent: true, weight: m.State.Weight}
		for _, s := range own.Seen {
			if m.State.UUID != "" && s.UUID == m.State.UUID || m.State.UUID == "" && s.Name == x.name {
				x.inView = own.Primary
				matched[s.UUID] = true
			}
		}
		x.inView = x.inView || self && own.Primary
		if !m.Serves() {
			x.weight, x.guessed = 1, true
			if past, known := v.Before[x.name]; known {
				x.weight, x.guessed = past.Weight, false
			}
		}
		a.voters = append(a.voters, x)
	}
	add(v.Self, true)
	for _, m := range a.Others {
		if m.Name() != "" {
			add(m, false)
		}
	}
	// A member whose server was started again has another UUID than its last look.
	for _, s := range own.Seen {
		if matched[s.UUID] || !own.Primary {
			continue
		}
		if i := slices.IndexFunc(a.voters, func(x voter) bool { return x.name == s.Name && !x.inView }); i >= 0 {
			a.voters[i].inView = true
			continue
		}
		a.voters = append(a.voters, voter{
			Member: Member{Why: "no agent is known for it"}, name: s.Name, inView: true, arbitrator: s.Address == "", weight: 1, guessed: true,
		})
	}
	a.voters = append(a.voters, a.missed()...)
	sorted.By(a.voters, func(x, y voter) int { return cmp.Compare(x.name, y.name) })
	a.weigh()
	a.unsure = a.doubt()
	return a
}

// missed are the members that nobody lists any more, and that have no agent that would be known: they
// left a while ago.
func (a assessment) missed() (out []voter) {
	for name, listed := range a.Listed {
		if _, known := a.find(name); known || a.Now.Sub(listed.At) > missedFor {
			continue
		}
		x := voter{Member: Member{Why: "no agent is known for it"}, name: name, arbitrator: listed.Arbitrator, weight: 1}
		if past, known := a.Before[name]; known {
			x.weight = past.Weight
		}
		out = append(out, x)
	}
	return out
}

// weigh gives the members of the component whose weight nobody has told what is left of the total.
func (a *assessment) weigh() {
	left := a.Self.State.Total
	var unknown []int
	for i, x := range a.voters {
		switch {
		case !x.inView:
		case x.guessed:
			unknown = append(unknown, i)
		default:
			left -= x.weight
		}
	}
	if len(unknown) == 1 && left >= 0 && left <= maxWeight {
		a.voters[unknown[0]].weight = left
	}
}

// doubt says why the view of the local member permits nothing.
func (a assessment) doubt() string {
	own := a.Self.State
	switch {
	case !own.Serving:
		return a.Self.Name() + ": " + own.Problem
	case !own.Operational:
		return a.Self.Name() + " is looking for the other members"
	case !own.Primary:
		return a.Self.Name() + " is in no primary component"
	case !own.Ready:
		return fmt.Sprintf("%s executes nothing yet (%s)", a.Self.Name(), own.Words)
	}
	names := map[string]bool{}
	for _, x := range a.voters {
		if names[x.name] {
			return fmt.Sprintf("two members are called %s: wsrep_node_name must differ", engines.OneLine(x.name))
		}
		names[x.name] = true
	}
	total := 0
	for _, x := range a.voters {
		if x.inView {
			total += x.weight
		}
	}
	if total > maxVotes/len(a.voters) {
		return fmt.Sprintf("the weights of the members add up to %d, which is too many: make pc.weight smaller", total)
	}
	if total != own.Total {
		return fmt.Sprintf("the weights of the members are not known: those that are add up to %d of %d", total, own.Total)
	}
	for _, m := range a.Others {
		s := m.State
		switch {
		case !m.Serves() || !s.Primary:
		case !s.Operational:
			return m.Name() + " is looking for the other members"
		case s.Cluster != own.Cluster:
			return fmt.Sprintf("%s and %s are primary components of their own: their data differ", a.Self.Name(), m.Name())
		case s.View != own.View, s.Ready && s.uuids() != own.uuids():
			return fmt.Sprintf("%s sees %d members in view %d and %s %d in view %d: they do not agree yet", a.Self.Name(), own.Size, own.View, m.Name(), s.Size, s.View)
		}
	}
	return ""
}

// uuids of the members that it sees.
func (s State) uuids() string {
	var all []string
	for _, m := range s.Seen {
		all = append(all, m.UUID)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// find returns a member by its name.
func (a assessment) find(name string) (voter, bool) {
	for _, x := range a.voters {
		if x.name == name {
			return x, true
		}
	}
	return voter{}, false
}

// counts reports whether a member can be counted on for the quorum: the component has it, and its
// own agent does not know better. One that is gone stays in the view of the others for a while.
func (x voter) counts() engines.MemberState {
	switch {
	case !x.inView:
		return engines.MemberDown
	case x.Serves() && x.State.Primary && x.State.Operational:
		return engines.MemberActive
	case x.Known && x.State.Down:
		return engines.MemberDown // it has ended, or does not serve before it has a full state transfer
	case x.agent:
		return engines.MemberUnknown
	}
	return engines.MemberActive // an arbitrator, or a member that is being adopted
}

// copyState is the state of a member's data.
func (x voter) copyState() engines.MemberState {
	switch state := x.counts(); {
	case state != engines.MemberActive, !x.agent:
		return state
	case x.synced():
		return engines.MemberActive
	}
	return engines.MemberRecovering
}

// membership as the local member sees it.
func (a assessment) membership(x voter) engines.Membership {
	switch {
	case x.Serves():
		return a.standing(x.State)
	case x.Known && x.State.Down:
		return engines.MembershipNotLive
	case a.unsure != "" || x.Known:
		return engines.MembershipUnknown
	case x.inView:
		return engines.MembershipLive
	}
	return engines.MembershipNotLive
}

// standing is what a server says of its own membership. One without a primary component does not
// know what the others decided. One that is in no component at all has left it or was put out: that
// is its word, unless nobody is in a primary component.
func (a assessment) standing(s State) engines.Membership {
	switch {
	case s.Primary && s.Operational && s.Phase != Detached:
		return engines.MembershipLive
	case (!s.Connected || s.Phase == Detached) && a.somebodyPrimary():
		return engines.MembershipNotLive
	}
	return engines.MembershipUnknown
}

// somebodyPrimary reports whether a member is in a primary component.
func (a assessment) somebodyPrimary() bool {
	return slices.ContainsFunc(append([]Member{a.Self}, a.Others...), func(m Member) bool {
		return m.Serves() && m.State.Primary && m.State.Operational && m.State.Phase != Detached
	})
}

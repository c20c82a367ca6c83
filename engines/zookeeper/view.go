package zookeeper

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// View is all that is known of the servers at one moment.
type View struct {
	Now time.Time
	// Self is the local member, Others the members with an agent.
	Self   Member
	Others []Member
	// Asked are servers whose agents have told nothing, by node.
	Asked map[string]Answer
}

// staleAfter is the age from which on a look no longer counts. An agent looks once a second.
const staleAfter = 20 * time.Second

// member is a server of the database, with an agent or without.
type member struct {
	Member
	node string
	// host is the name of its host as the others know it.
	host   string
	answer Answer
}

// assessment is a view with what follows from it.
type assessment struct {
	View
	members []member
	// configs are the configurations that are in force on the servers that serve, without those
	// that have the same voters as an earlier one.
	configs []Config
	// weighted means that groups and weights decide in one of them.
	weighted bool
	// leader is the only server that says that it leads; empty means that there is none.
	leader string
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
	a.collect()
	sorted.By(a.members, func(x, y member) int { return byID(x.node, y.node) })
	a.addConfigs()
	leaders := a.leaders()
	if len(leaders) == 1 {
		a.leader = leaders[0]
	}
	a.unsure = a.doubt(leaders)
	return a
}

// collect makes one member of all that is said about a server. A server that has not told its agent
// its number yet is found by the name of its pod.
func (a *assessment) collect() {
	agents := append([]Member{a.Self}, a.Others...)
	taken := make([]bool, len(agents))
	add := func(node, host string) {
		x := member{Member: Member{Why: "no agent is known for it"}, node: node, host: host, answer: a.Asked[node]}
		i := slices.IndexFunc(agents, func(m Member) bool { return m.Name() == node })
		if label, _, _ := strings.Cut(host, "."); i < 0 && label != "" {
			i = slices.IndexFunc(agents, func(m Member) bool { return m.Name() == "" && m.Peer.Pod == label })
		}
		if i >= 0 {
			x.Member, taken[i] = agents[i], true
		}
		a.members = append(a.members, x)
	}
	known := map[string]bool{}
	for _, s := range a.lines() {
		if !known[s.Node] {
			known[s.Node] = true
			add(s.Node, s.Host)
		}
	}
	for i, m := range agents {
		if node := m.Name(); node != "" && !taken[i] {
			a.members = append(a.members, member{Member: m, node: node, host: m.Peer.Pod})
		}
	}
}

// lines are those of all configurations in force, with the host of each server where any of them has
// it: a server may write every address for itself.
func (a assessment) lines() (out []Server) {
	at := map[string]int{}
	for _, m := range append([]Member{a.Self}, a.Others...) {
		if !m.Serves() {
			continue
		}
		for _, s := range m.State.Config.Servers {
			i, known := at[s.Node]
			if !known {
				i, at[s.Node] = len(out), len(out)
				out = append(out, s)
			}
			if out[i].Host == "" {
				out[i].Host = s.Host
			}
		}
	}
	return out
}

func (a *assessment) addConfigs() {
	for _, x := range a.members {
		c := x.State.Config
		if !x.Serves() || len(c.Servers) == 0 {
			continue
		}
		a.weighted = a.weighted || c.Weighted
		if !slices.ContainsFunc(a.configs, func(b Config) bool { return slices.Equal(b.voters(), c.voters()) }) {
			a.configs = append(a.configs, c)
		}
	}
}

// silent are the servers of the local configuration that may be asked themselves, as their agents
// have told nothing.
func (a assessment) silent() (out []Server) {
	for _, x := range a.members {
		if line, listed := a.Self.State.Config.find(x.node); listed && !x.Known && line.Host != "" && a.Self.Serves() {
			out = append(out, line)
		}
	}
	return out
}

// mode is what a server is by its own word.
func (x member) mode() Mode {
	switch {
	case x.Serves():
		return x.State.Mode
	case !x.Known:
		return x.answer.Mode
	}
	return ModeUnknown
}

// looking reports whether a server says that it serves nobody.
func (x member) looking() bool { return x.Known && x.State.Looking || !x.Known && x.answer.Looking }

// leaders are the servers that say that they lead.
func (a assessment) leaders() (out []string) {
	for _, x := range a.members {
		if x.mode() == Leading {
			out = append(out, x.node)
		}
	}
	return out
}

// count counts the servers that say that this is their mode.
func (a assessment) count(mode Mode) (n int) {
	for _, x := range a.members {
		if x.mode() == mode {
			n++
		}
	}
	return n
}

// sends reports whether the leader may be sending its data to a server that does not serve yet, as
// far as its agent tells. Who follows it serves only once it has all of that. The leader counts an
// observer as one before it sends its snapshot, and so does not tell it from those that serve.
func (a assessment) sends(to string) bool {
	leader, known := a.find(a.leader)
	if !known {
		return false
	}
	s := leader.State
	observing := max(0, s.Observing)
	if !a.votes(to) {
		observing = min(observing, a.count(Observing))
	}
	return !leader.Serves() || s.Learners-observing > a.count(Following)
}

// votes reports whether a server votes by a configuration in force.
func (a assessment) votes(node string) bool {
	return slices.ContainsFunc(a.configs, func(c Config) bool {
		line, there := c.find(node)
		return there && line.Voter
	})
}

// receiver is a server that may be receiving the leader's data. Empty means that there is none.
func (a assessment) receiver() string {
	for _, x := range a.members {
		if x.looking() && a.sends(x.node) {
			return x.node
		}
	}
	return ""
}

// doubt says why the view of the local member permits nothing.
func (a assessment) doubt(leaders []string) string {
	own := a.Self.State
	switch {
	case !own.Serving:
		return a.Self.label() + ": " + own.Problem
	case len(leaders) > 1:
		return strings.Join(leaders, " and ") + " both say that they lead"
	}
	names := map[string]bool{}
	for _, x := range a.members {
		if names[x.node] {
			return x.node + a.twice(x.node)
		}
		names[x.node] = true
	}
	if own.Mode == Standalone && len(a.Others) > 0 {
		return "it is a server of its own, without an ensemble, and there are other members"
	}
	if a.weighted {
		return "the configuration has groups and weights (hierarchical quorums), which are not supported"
	}
	for _, x := range a.members {
		if x.Serves() && x.State.Mode != Standalone && x.State.Leader != "" && a.leader != "" && x.State.Leader != a.leader {
			return fmt.Sprintf("%s follows %s, and %s leads: they do not agree yet", x.node, x.State.Leader, a.leader)
		}
	}
	if leader, known := a.find(a.leader); known && leader.Serves() && a.count(Following) > leader.State.Synced {
		return fmt.Sprintf("%s leads %d in sync, and %d say that they follow: they do not agree yet", a.leader, leader.State.Synced, a.count(Following))
	}
	return ""
}

func (a assessment) twice(node string) string {
	if node == standaloneNode {
		return ": there are two servers without an ensemble, each with data of its own"
	}
	return ": two servers have this number: myid must differ"
}

// find returns a member by its node.
func (a assessment) find(node string) (member, bool) {
	for _, x := range a.members {
		if x.node == node && node != "" {
			return x, true
		}
	}
	return member{}, false
}

// state is the state of a server as a copy of the data that votes. That it serves is its own word:
// the leader counts a follower as in sync while it still receives a snapshot.
func (a assessment) state(x member) engines.MemberState {
	switch {
	case a.unsure != "":
		return engines.MemberUnknown
	case x.mode() == Leading || x.mode() == Following:
		return engines.MemberActive
	case x.Known && x.State.Down:
		return engines.MemberDown
	case x.looking() && a.leader != "" && a.sends(x.node):
		return engines.MemberRecovering
	case x.looking() && a.leader != "":
		return engines.MemberDown
	}
	return engines.MemberUnknown
}

// membership as the local member sees it.
func (a assessment) membership(x member) engines.Membership {
	switch {
	case x.Known:
		return a.standing(x.node, x.State)
	case x.mode() != ModeUnknown && x.mode() != Standalone:
		return engines.MembershipLive
	}
	return engines.MembershipUnknown
}

// standing is what a server's own words say of its membership. One that serves nobody may look for a
// leader, or receive its data. It is no member if it is known that a leader sends nothing to
// anybody, or that nobody serves at all: what lasts only for a moment is for the agent to say.
func (a assessment) standing(node string, s State) engines.Membership {
	switch {
	case s.Serving:
		return engines.MembershipLive
	case s.Down:
		return engines.MembershipNotLive
	case s.Looking && a.leader != "" && !a.sends(node), s.Looking && a.nobodyServes():
		return engines.MembershipNotLive
	}
	return engines.MembershipUnknown
}

// nobodyServes reports whether all agents have told that their servers serve nobody.
func (a assessment) nobodyServes() bool {
	for _, m := range append([]Member{a.Self}, a.Others...) {
		if !m.Known || !m.State.Looking && !m.State.Down {
			return false
		}
	}
	return len(a.Others) > 0
}

// label is the name of a member, or of its pod.
func (m Member) label() string {
	switch {
	case m.Name() != "":
		return m.Name()
	case m.Peer.Pod != "":
		return m.Peer.Pod
	}
	return "the local server"
}

package zookeeper

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// State is what a server says of itself and of the ensemble. Agents tell it each other.
type State struct {
	// Node is server.N, where N is myid; standalone without an ensemble; empty while it is not
	// known.
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	// Looked is when the server was asked, by the clock of the node that has the State.
	Looked time.Time `json:"-"`
	// Age is how old the look was when it was told.
	Age time.Duration `json:"age,omitempty"`
	// Down means that nobody listens on the client port. Looking means that the server runs and
	// serves nobody: it looks for a leader, or receives the leader's data. Serving means that it
	// serves, and that all that is needed is known. Problem says why it is not.
	Down    bool   `json:"down,omitempty"`
	Looking bool   `json:"looking,omitempty"`
	Serving bool   `json:"serving,omitempty"`
	Problem string `json:"problem,omitempty"`

	Mode Mode `json:"mode,omitempty"`
	// Leader is the node that it follows or that it is; empty means that it is not told.
	Leader string `json:"leader,omitempty"`
	// Learners is how many servers are connected to this leader, whatever they have received so
	// far. Observing are those of them that are observers, and Synced the followers to which it
	// forwards proposals, even while they still receive a snapshot. Negative means not told.
	Learners  int `json:"learners"`
	Observing int `json:"observing"`
	Synced    int `json:"synced"`
	// Config is the configuration of the ensemble that is in force on this server.
	Config Config `json:"config,omitzero"`
	// Bytes is about how much data it holds.
	Bytes int64 `json:"bytes,omitempty"`
	// Turn is how far its agent is with draining it.
	Turn Turn `json:"turn,omitempty"`
}

// Config says who is in the ensemble.
type Config struct {
	Servers []Server `json:"servers,omitempty"`
	// Weighted means that groups and weights decide what a quorum is.
	Weighted bool `json:"weighted,omitempty"`
}

// Server is a line of a configuration.
type Server struct {
	Node string `json:"node"`
	// Host is how the others reach it. Empty means every address of its own host.
	Host string `json:"host,omitempty"`
	// Client is its client port; 0 means that the line does not say it.
	Client int `json:"client,omitempty"`
	// Voter means that it is a participant, and no observer.
	Voter bool `json:"voter,omitempty"`
}

// Mode is what a server is in its ensemble.
type Mode uint8

// The modes.
const (
	ModeUnknown Mode = iota
	Leading
	Following
	Observing
	Standalone
)

// String returns the mode in the server's words.
func (m Mode) String() string {
	return [...]string{"unknown", "leader", "follower", "observer", "standalone"}[min(m, Standalone)]
}

// modeOf reads the server's words. A server in read-only mode has no leader, so it has no mode here.
func modeOf(text string) Mode {
	for m := Leading; m <= Standalone; m++ {
		if m.String() == text {
			return m
		}
	}
	return ModeUnknown
}

// Told returns the State as it is told to another agent now.
func (s State) Told(now time.Time) State {
	s.Age = max(0, now.Sub(s.Looked))
	return s
}

// Heard returns the State as it is by the own clock, where it was asked for then. It is not younger
// than the question.
func (s State) Heard(asked time.Time) State {
	s.Looked = asked.Add(-max(0, s.Age))
	return s
}

// sensible reports whether another agent could have made the State of what its server said.
func (s State) sensible() bool {
	named := func(node string) bool { return node == nodeOf(idOf(node)) }
	if !(s.Node == "" && !s.Serving || s.Node == standaloneNode || named(s.Node)) || s.Serving && s.Mode == ModeUnknown || len(s.Config.Servers) > maxServers {
		return false
	}
	for i, line := range s.Config.Servers {
		if !named(line.Node) || len(line.Host) > maxHost || i > 0 && byID(s.Config.Servers[i-1].Node, line.Node) >= 0 {
			return false
		}
	}
	return s.Mode <= Standalone && s.Turn <= Granted
}

// find returns the line of a node.
func (c Config) find(node string) (Server, bool) {
	for _, s := range c.Servers {
		if s.Node == node {
			return s, true
		}
	}
	return Server{}, false
}

// voters returns the nodes that vote, in order.
func (c Config) voters() (out []string) {
	for _, s := range c.Servers {
		if s.Voter {
			out = append(out, s.Node)
		}
	}
	return out
}

// Member is a server as the local agent knows it.
type Member struct {
	Peer  engines.Peer
	State State
	// Known means that its agent has told its State; Why is the reason if it has not.
	Known bool
	Why   string
}

// Name of the member.
func (m Member) Name() string {
	if m.State.Node != "" {
		return m.State.Node
	}
	return m.Peer.Node
}

// Serves reports whether the member's own agent knows that it serves.
func (m Member) Serves() bool { return m.Known && m.State.Serving }

// Answer is what a server itself says that has no agent that would tell.
type Answer struct {
	// Mode is ModeUnknown if it does not serve, or if it did not answer.
	Mode Mode
	// Looking means that it has answered that it serves nobody.
	Looking bool
	// Why is the reason if nothing is known.
	Why string
}

package galera

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// State is what a member says of itself and of its view of the others. Agents tell it each other.
type State struct {
	// Node is wsrep_node_name.
	Node    string `json:"node,omitempty"`
	Version string `json:"version,omitempty"`
	// Looked is when the server was asked, by the clock of the node that has the State.
	Looked time.Time `json:"-"`
	// Age is how old the look was when it was told.
	Age time.Duration `json:"age,omitempty"`
	// Down means that no server listens; Problem why the rest is not known. Serving means that all
	// that is needed is known.
	Down    bool   `json:"down,omitempty"`
	Serving bool   `json:"serving,omitempty"`
	Problem string `json:"problem,omitempty"`

	// UUID is that of the process in the group: it changes with each start. Cluster is the UUID of
	// the data's history, and View the number of the view, which changes with each change of the
	// membership.
	UUID    string `json:"uuid,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	View    int64  `json:"view,omitempty"`
	// Primary means that the member is in the primary component. Connected means that it is in a
	// component at all, Operational that it does not look for others right now.
	Primary     bool `json:"primary,omitempty"`
	Connected   bool `json:"connected,omitempty"`
	Operational bool `json:"operational,omitempty"`
	// Phase is what the member does with its data, and Words that in the server's words.
	Phase Phase  `json:"phase,omitempty"`
	Words string `json:"words,omitempty"`
	// Ready means that it executes what clients send. Rejects means that it has been told not to.
	Ready   bool `json:"ready,omitempty"`
	Rejects bool `json:"rejects,omitempty"`
	// Desynced counts what keeps it from being synced, such as backups and full state transfers.
	Desynced int `json:"desynced,omitempty"`
	// Weight is the member's own weight in the quorum, Total that of the component.
	Weight int `json:"weight,omitempty"`
	Total  int `json:"total,omitempty"`
	// Size is how many the component has, Seen who they are.
	Size int    `json:"size,omitempty"`
	Seen []Seen `json:"seen,omitempty"`
	// Committed is the sequence number of the last write set, and Cached that of the oldest that
	// it can send to a member that comes back. Negative means unknown.
	Committed int64 `json:"committed"`
	Cached    int64 `json:"cached"`
	// Received counts the part of an incremental state transfer that has arrived, of Expected.
	Received int64 `json:"received,omitempty"`
	Expected int64 `json:"expected,omitempty"`
	// Writing is the age of the oldest open transaction of a client that has changed something.
	Writing time.Duration `json:"writing,omitempty"`
	// SplitBrain means that the member stays primary without a majority.
	SplitBrain bool `json:"splitBrain,omitempty"`
}

// Seen is a member of the component as another member sees it.
type Seen struct {
	UUID string `json:"uuid"`
	Name string `json:"name"`
	// Address is where clients reach it. An arbitrator has none.
	Address string `json:"address,omitempty"`
}

// Phase is what a member does with its data.
type Phase uint8

// The phases, as the server numbers its states.
const (
	PhaseUnknown Phase = iota
	// Joining means that it waits for a state transfer or receives one.
	Joining
	// Donor means that it sends its data to another member, or does not keep up on purpose.
	Donor
	// Joined means that it has received a state transfer and catches up.
	Joined
	// Synced means that it has what the others have.
	Synced
	// Detached means that it is in no component, or that its data differ.
	Detached
)

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

// Member is a member as the local agent knows it.
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

// Serves reports whether the member's own agent knows what its server says.
func (m Member) Serves() bool { return m.Known && m.State.Serving }

// synced reports whether the member has all data and clients can use it.
func (m Member) synced() bool {
	s := m.State
	return m.Serves() && s.Primary && s.Operational && s.Phase == Synced && s.Ready && !s.Rejects
}

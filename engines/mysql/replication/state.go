// Package replication holds what a member of a MySQL or MariaDB database says of itself: whether
// clients can write, what it has executed, which server it follows and how well.
package replication

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
)

// State is what a member says of itself: what its own server answered in one look. Members
// share it through their agents (engines.Peers). Invariant: what could not be learned is
// the zero value, which never permits anything; Serving is false when the server did not
// answer.
type State struct {
	// Node is the member's own name: @@report_host, else @@hostname; with the port
	// when it is not 3306.
	Node string `json:"node"`
	// Unnamed means that it has no report_host, so that nobody is told to follow it.
	Unnamed bool `json:"unnamed,omitempty"`
	// ID is @@server_uuid, on MariaDB @@server_id.
	ID string `json:"id"`
	// ServerID is @@server_id of either flavor, by which servers tell what they wrote themselves.
	ServerID string `json:"serverID,omitempty"`
	Version  string `json:"version,omitempty"`
	Flavor   Flavor `json:"flavor,omitempty"`
	// Serving means that the server answered all that this State needs.
	Serving bool `json:"serving"`
	// Down means that no server listens.
	Down bool `json:"down,omitempty"`
	// Problem says why it does not serve, or what could not be learned.
	Problem string `json:"problem,omitempty"`
	// Looked is when the look began, by the own clock also for other members (see Heard).
	Looked time.Time `json:"looked"`
	// Age is the age of the look when another member reports it. Nil means it is the own look, or
	// an agent of an earlier version, whose clock has to be believed.
	Age *time.Duration `json:"age,omitempty"`
	// Started is when the server started.
	Started time.Time `json:"started"`

	Writes Writes `json:"writes"`
	// StartsWritable means that it would allow writes after a restart, because its configuration
	// or, on MySQL, a persisted value says so.
	StartsWritable bool `json:"startsWritable,omitempty"`
	// Source that this server is configured to follow; nil means none.
	Source *Source `json:"source,omitempty"`
	// Halted is since when its agent has seen, without a break, that the server refuses writes and
	// does not replicate; zero means it does, or nobody has looked.
	Halted time.Time `json:"halted,omitzero"`
	// Replicas that are connected to this server, as it tells.
	Replicas []Replica `json:"replicas,omitempty"`
	// Executed are the transactions that were applied or written here, Received those that were
	// received from the source, Purged those that are no longer in the binary logs; in the notation
	// of the server, or gtid.None. Empty means not known, or, of Received, nothing since it began
	// to follow.
	Executed string `json:"executed,omitempty"`
	Received string `json:"received,omitempty"`
	Purged   string `json:"purged,omitempty"`
	// Log is the end of the binary log of a server without GTIDs; nil means not known, or that it has
	// GTIDs.
	Log *Place `json:"log,omitempty"`
	// Unlogged says that the server leaves databases out of its log, or that this is not known yet:
	// no replica has what is written to them. Empty means that it logs all.
	Unlogged string   `json:"unlogged,omitempty"`
	SemiSync SemiSync `json:"semiSync"`
	// Group is the group of group replication; nil means none.
	Group *GroupState `json:"group,omitempty"`
	// Lacks are privileges that the agent's account needs to hand over, and has not.
	Lacks []string `json:"lacks,omitempty"`
	// Busy with something that a restart would waste: a clone, a backup, DDL.
	Busy string `json:"busy,omitempty"`
	// Writing is the age of the oldest open transaction with changes.
	Writing time.Duration `json:"writing,omitempty"`
	// Domains that its agent has seen behind members' names.
	Domains Domains `json:"domains,omitempty"`
	// PodDomain is the domain that its agent has found for its own pod; empty means none.
	PodDomain string `json:"podDomain,omitempty"`
	// Switch is the switchover that this member takes part in; nil means none.
	Switch *Switch `json:"switch,omitempty"`
	// Predecessor is the member that this one took over from, as long as some replica may
	// still follow that one because of it.
	Predecessor string `json:"predecessor,omitempty"`
}

// Told is the state as another member gets it: with the age of the look, and with times by
// the clock as it is now, in case it was set.
func (s State) Told(now time.Time) State {
	age := now.Sub(s.Looked)
	if !s.Halted.IsZero() {
		s.Halted = now.Add(s.Halted.Sub(s.Looked) - age)
	}
	s.Looked, s.Age = now.Add(-age), &age
	s.Switch = s.Switch.endsAt(func(until time.Time) time.Time { return now.Add(until.Sub(now)) })
	return s
}

// Heard is the state of another member by the own clock. Counting from when it was asked
// for, it is never taken for newer than it is, and no two nodes need the same time.
func (s State) Heard(asked time.Time) State {
	if s.Age == nil {
		return s
	}
	looked := asked.Add(-max(0, *s.Age))
	if !s.Halted.IsZero() {
		s.Halted = looked.Add(s.Halted.Sub(s.Looked))
	}
	ahead := s.Looked.Sub(looked)
	s.Switch = s.Switch.endsAt(func(until time.Time) time.Time { return until.Add(-ahead) })
	s.Looked, s.Age = looked, nil
	return s
}

// Flavor is the flavor of the server.
type Flavor string

// The flavors.
const (
	MySQL   Flavor = "MySQL"
	MariaDB Flavor = "MariaDB"
)

// Writes says whether clients can write, and who said so.
type Writes string

// Allowed is the only value at which clients can write.
const (
	WritesUnknown Writes = ""
	Allowed       Writes = "Allowed"
	// RefusedAtStart means that the server is read-only by its configuration, since it started.
	RefusedAtStart Writes = "RefusedAtStart"
	// RefusedBySQL means that the server was made read-only while it ran.
	RefusedBySQL Writes = "RefusedBySQL"
)

// Source is the server that a replica follows, and how well.
type Source struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	ID   string `json:"id,omitempty"` // of the source; empty while it was never reached
	// Receiving and Applying: the thread runs and is not only trying to.
	Receiving bool `json:"receiving"`
	Applying  bool `json:"applying"`
	// Started means that the threads are meant to run.
	Started bool `json:"started"`
	// Lag is nil when it is unknown, which never counts as none.
	Lag *time.Duration `json:"lag,omitempty"`
	// Failure is the failure of either thread, in the server's words.
	Failure string `json:"failure,omitempty"`
	// Applied is how far in the source's binary log it has executed; nil means not known.
	Applied *Place `json:"applied,omitempty"`
	// ByPosition means that it follows without GTIDs, so it cannot be given another source.
	ByPosition bool `json:"byPosition,omitempty"`
	// Filtered means that it leaves out some of the source's data, though its GTIDs say that it has
	// executed all.
	Filtered bool `json:"filtered,omitempty"`
	// Delay that it keeps on purpose.
	Delay time.Duration `json:"delay,omitempty"`
}

// Replica is connected to a source, as the source sees it.
type Replica struct {
	ID   string `json:"id"`
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`
}

// SemiSync is how commits are acknowledged.
type SemiSync struct {
	// Source and Replica: that half is installed and on.
	Source  bool `json:"source,omitempty"`
	Replica bool `json:"replica,omitempty"`
	// Acks that a commit waits for, and Clients that can give one.
	Acks    int `json:"acks,omitempty"`
	Clients int `json:"clients,omitempty"`
	// Working means that commits wait at this moment (it degrades to asynchronous after its
	// timeout); Acknowledging: this replica is asked for acknowledgements.
	Working       bool `json:"working,omitempty"`
	Acknowledging bool `json:"acknowledging,omitempty"`
	// Waiting sessions.
	Waiting int `json:"waiting,omitempty"`
	// Installed means that both halves can be switched on.
	Installed bool `json:"installed,omitempty"`
	// GivesUp as soon as too few replicas are connected, instead of waiting until its
	// timeout.
	GivesUp bool `json:"givesUp,omitempty"`
}

// GroupState is group replication as this member sees it.
type GroupState struct {
	Primary bool          `json:"primary"` // single-primary mode
	Quorum  bool          `json:"quorum"`
	Members []GroupMember `json:"members"`
}

// GroupMember is one of them.
type GroupMember struct {
	ID string `json:"id"`
	// ServerID is @@server_id of either flavor, by which servers tell what they wrote themselves.
	ServerID string `json:"serverID,omitempty"`
	Host     string `json:"host"`
	Port     int    `json:"port"`
	State    string `json:"state"` // ONLINE, RECOVERING, UNREACHABLE, OFFLINE, ERROR
	Role     string `json:"role"`  // PRIMARY, SECONDARY
	Version  string `json:"version,omitempty"`
}

// Switch is a switchover that a member has agreed to.
type Switch struct {
	Claim string `json:"claim"`
	// At is when this try began, by From's clock. It identifies the try, and a later one
	// ends all before it.
	At time.Time `json:"at"`
	// From is the primary that hands over, To the member that takes over: empty
	// until it was chosen.
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	// FromID is the server that From is.
	FromID string `json:"fromID,omitempty"`
	// Frozen is what From had executed after its writes were stopped; empty before.
	Frozen string `json:"frozen,omitempty"`
	// Promoting means that To was told to take over.
	Promoting bool `json:"promoting,omitempty"`
	// Until is when the switchover can be forgotten, unless Promoting, by the clock of the member
	// that reports it (see Heard).
	Until time.Time `json:"until"`
}

// endsAt is the same try with its end by another clock. At identifies it and stays.
func (s *Switch) endsAt(by func(until time.Time) time.Time) *Switch {
	if s == nil {
		return nil
	}
	c := *s
	c.Until = by(s.Until)
	return &c
}

// States of a member of a group, in the words of group replication.
const (
	MemberOnline     = "ONLINE"
	MemberRecovering = "RECOVERING"
	MemberAway       = "UNREACHABLE"
	MemberOffline    = "OFFLINE"
	MemberFailed     = "ERROR"
	RolePrimary      = "PRIMARY"
	RoleSecondary    = "SECONDARY"
)

// Same reports whether both are the same try.
func (s *Switch) Same(other *Switch) bool {
	return s != nil && other != nil && s.From == other.From && s.Claim == other.Claim && s.At.Equal(other.At)
}

func (f Flavor) Notation() gtid.Notation {
	switch f {
	case MySQL:
		return gtid.MySQL
	case MariaDB:
		return gtid.MariaDB
	}
	return gtid.Unknown
}

// Package enginetest is the conformance suite of the engines contract. Every
// adapter passes it, against a real server or a fake one that speaks the
// database's protocol.
package enginetest

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Harness starts databases for the suite.
type Harness struct {
	// Start returns a healthy database: at least three members (unless it is Alone), groups with a
	// copy on member 0, member 0 leading at least two groups (one, if it Elects), member 2 able to lead
	// all of them (unless it is Leaderless or stays InPlace), and a free place elsewhere for every copy of members 0 and 2. It may be the same
	// one each time if it is as new.
	Start func(t *testing.T) Database
	// Patience bounds one operation against a server that does not work. It must be longer than the
	// adapter's own timeouts. 0 means 5 s.
	Patience time.Duration
	// Eventually bounds a whole drain or restore. 0 means 10 s.
	Eventually time.Duration
	// NoEvacuate skips evacuation, for databases in which it takes too long.
	NoEvacuate bool
	// Role means that what a member leads is a role of the whole database, as that of a primary
	// whose replicas have all its data. Only the member's own agent gives it away, and for good: a
	// drain that is done leaves nothing behind, and evacuating a member means handing over its
	// role.
	Role bool
	// Leaderless means that no member leads anything, so a handoff gives nothing away and leaves no
	// entry. The suite checks marks and their removal with evacuations. With Role there are no marks
	// at all, as in a database whose members all take writes and have all data: a drain only waits.
	Leaderless bool
	// InPlace means that the member with the role keeps it while it is drained, as a primary that
	// restarts where it is. It goes with Role, and nobody takes the role over.
	InPlace bool
	// Elects means that the database itself gives the role to another member when the one that has it
	// goes. It goes with Role: the agent of another member has nothing to do then.
	Elects bool
	// SettingsApart means that no two members change the same setting of the database, as where one
	// member of each zone holds data.
	SettingsApart bool
	// Recovers means that the database recovers after some changes, so that a sweep may have to be
	// repeated, as agents do.
	Recovers bool
	// Alone means that the database has one member. What other members do is left out.
	Alone bool
	// Quick runs a few cases, where another run of the suite has all of them.
	Quick bool
	// Virtual runs each case in virtual time, for databases that are all in memory.
	Virtual bool
}

// Database is one running database as the suite sees it. Everything but Engine reads and controls
// the servers without the adapter.
type Database struct {
	// Members are the names of the members, as in Observation.Node.
	Members []string
	// Engine returns an engine for a member, as a new agent would make it. The suite closes it.
	Engine func(member int) engines.Engine
	// Fault makes a member's server misbehave until it is set to Healthy.
	Fault func(member int, fault Fault)
	// FailChanges lets this many changes through to any member and fails all later ones; negative
	// means that all work again.
	FailChanges func(after int)
	// Leads counts the groups that the member leads, Hosts the copies on it.
	Leads, Hosts func(member int) int
	// Leftovers names what drains have put into the database and nobody has restored; nil if there
	// is nothing.
	Leftovers func() []string
	// Leaves tells the other members that a member is drained, as the agents of a Peered engine do.
	// Nil if the engine is not Peered.
	Leaves func(member int)
	// Foreign puts something into the database that looks like what a drain writes, but is not
	// Rollcall's. Nil if there is nothing of the kind.
	Foreign func() (stillThere func() bool)
	// Secrets must not appear in any output.
	Secrets []string
	// Connections counts open client connections to the servers. Nil means not counted.
	Connections func() int
	// Close releases what the harness itself has in this process, before the suite looks for leaks.
	// Nil means that there is nothing.
	Close func()
}

// Fault is how a server misbehaves.
type Fault uint8

const (
	Healthy Fault = iota
	// Gone refuses or resets connections.
	Gone
	// Hung accepts requests and never answers.
	Hung
	// Garbage sends answers that are not those of the protocol.
	Garbage
	// Endless sends answers that do not end.
	Endless
	// Truncated breaks off answers in the middle.
	Truncated
	// WrongServer sends well-formed answers of something that is not this database.
	WrongServer
	// Denied rejects the credentials, and repeats them in the refusal.
	Denied
	// Failing answers every request with the server's own error.
	Failing
)

// Faults are all but Healthy.
var Faults = []Fault{Gone, Hung, Garbage, Endless, Truncated, WrongServer, Denied, Failing}

func (f Fault) String() string {
	return [...]string{"Healthy", "Gone", "Hung", "Garbage", "Endless", "Truncated", "WrongServer", "Denied", "Failing"}[min(f, Failing)]
}

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
	// Start gives a healthy database: at least three members, groups with a copy on
	// member 0, member 0 leading at least two groups, member 2 able to lead all of
	// them (unless it is Leaderless), and a free place elsewhere for every copy of
	// members 0 and 2. It may be the
	// same one each time if it is as new.
	Start func(t *testing.T) Database
	// Patience bounds one operation against a server that does not work, and must be above the
	// adapter's own time limits. 0 means 5 s.
	Patience time.Duration
	// Eventually bounds a whole drain or restore. 0 means 10 s.
	Eventually time.Duration
	// NoEvacuate leaves evacuation out, for databases where it takes too long.
	NoEvacuate bool
	// Role means that what a member leads is a role of the whole database, as that of a primary
	// whose replicas have all its data. It is given away by its own agent only, and for good: done
	// is a drain that has left nothing behind, and to evacuate a member is to hand its role over.
	Role bool
	// Leaderless means that nobody leads anything, so a handoff gives nothing away and leaves no
	// entry of its own; what drains mark and take back is seen where they empty a member.
	Leaderless bool
	// Virtual runs each case in virtual time, for databases that are all in memory.
	Virtual bool
}

// Database is one running database as the suite sees it. Everything but Engine
// reads and steers the servers past the adapter.
type Database struct {
	// Members by name, as in Observation.Node.
	Members []string
	// Engine makes an engine for a member, as a new agent would. The suite closes it.
	Engine func(member int) engines.Engine
	// Fault makes a member's server misbehave until it is set to Healthy.
	Fault func(member int, fault Fault)
	// FailChanges lets so many changes through to any member and fails all later ones; negative
	// means all work again.
	FailChanges func(after int)
	// Leads counts the groups that the member leads, Hosts the copies on it.
	Leads, Hosts func(member int) int
	// Leftovers names what drains have put into the database and nobody has restored, nil when it
	// is as it was.
	Leftovers func() []string
	// Leaves has the others told that a member is prepared, as the agents of a Peered engine do.
	// Nil means they do nothing together.
	Leaves func(member int)
	// Foreign puts something into the database that looks like what a drain would write, but is
	// somebody else's. Nil means there is nothing of the kind.
	Foreign func() (stillThere func() bool)
	// Secrets must not appear in any output.
	Secrets []string
	// Connections counts open client connections to the servers. Nil means not counted.
	Connections func() int
	// Close ends what the harness itself has in this process, before the suite looks for what was
	// left behind. Nil means nothing.
	Close func()
}

// Fault is how a server misbehaves.
type Fault uint8

const (
	Healthy Fault = iota
	// Gone: connections are refused or reset.
	Gone
	// Hung: requests are accepted and never answered.
	Hung
	// Garbage: answers are not what the protocol says.
	Garbage
	// Endless: answers do not stop.
	Endless
	// Truncated: answers break off in the middle.
	Truncated
	// WrongServer: a well-formed answer of something that is not this database.
	WrongServer
	// Denied: the credentials are not accepted, and the refusal repeats them.
	Denied
	// Failing: every request ends in the server's own error.
	Failing
)

// Faults are all but Healthy.
var Faults = []Fault{Gone, Hung, Garbage, Endless, Truncated, WrongServer, Denied, Failing}

func (f Fault) String() string {
	return [...]string{"Healthy", "Gone", "Hung", "Garbage", "Endless", "Truncated", "WrongServer", "Denied", "Failing"}[min(f, Failing)]
}

package engines

import (
	"cmp"
	"context"
	"time"
)

// Peers reaches the agents of the database's other members, for what several
// members must do together.
//
// Invariant: nothing is asked of a member but through its own agent; an adapter
// speaks to its local server only. A call ends within ten seconds, whatever its
// context says; who is not alive is not asked.
type Peers interface {
	// List answers the members whose agents are known, the local one left out, sorted by pod. A
	// member that is unavailable stays in it for a while.
	List() []Peer
	// Look answers what the member on the node says of itself, as its adapter's Look
	// does. It changes nothing, and waits for nothing that is written there. A member
	// whose node is not known yet is looked at by its pod: Peer.Name.
	Look(ctx context.Context, node string, fresh bool) ([]byte, error)
	// Step has the member on the node take a step, as its adapter's Step does. One
	// that writes something else for more than a moment refuses. An error says
	// nothing about whether the step was taken.
	Step(ctx context.Context, node string, step Step) ([]byte, error)
}

// Peer is another member as its agent tells of it.
type Peer struct {
	// Pod of the member, and Node by which the database knows it; empty while its
	// agent has not told.
	Pod, Node string
	// Alive means that its agent is a living member of the gossip.
	Alive bool
	// Since when it has been so.
	Since time.Time
	// Leaving means that its agent says that the pod is being stopped, or prepared for that (also:
	// is being prepared). One that is not alive said so before.
	Leaving bool
}

// Name by which the member is looked at: its node, and its pod until its agent has told
// the node. A server that has never answered since its pod was made has told none.
func (p Peer) Name() string { return cmp.Or(p.Node, p.Pod) }

// Step is something that another member is asked to do.
type Step struct {
	// Name of the step, in the words of the adapter.
	Name string
	// Claim under which it is done, and Epoch of the order; 0 means the highest that the asking
	// agent has seen.
	Claim string
	Epoch int64
	// NotAfter is the time past which no write may be started. Zero means no limit.
	NotAfter time.Time
	// Body is for the other member's adapter, JSON of at most MaxStep bytes.
	Body []byte
}

// MaxStep bounds what a step and a look carry.
const MaxStep = 64 << 10

// Peered is an Engine whose members do some things together.
//
// Its claims are not left half done when nobody asks again: the next process of an
// agent continues Drain; past Order.NotAfter, if Drain was never Done, the agent
// itself calls Restore until Done, as it does once a Restore was begun.
type Peered interface {
	Engine

	// Look answers what the local member says of itself, JSON of at most MaxStep
	// bytes: what the newest look found, or one that starts now when it is to be
	// fresh. It changes nothing.
	Look(ctx context.Context, fresh bool) ([]byte, error)

	// Step takes a step that another member's adapter asks for. It may be repeated;
	// it never runs at the same time as PlanDrain, Drain, Restore or Repair. Its
	// context does not end with that of the member that asks.
	Step(ctx context.Context, step Step) ([]byte, error)

	// Repair does at most one thing that the members owe each other while there is no order: what a
	// switchover left unfinished when an agent or a server ended in the middle of it. The repair
	// loop calls it again and again, after probes, but at most once a second, and never in mode
	// Observe; its context ends as soon as anything else has to be written. Done means nothing to
	// do.
	Repair(ctx context.Context) (Progress, error)
}

package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
)

// Peers reaches the agents of the database's other members, for work that several members must do
// together.
//
// Invariant: a member is asked only through its own agent, because an adapter speaks to its local
// server only. A call ends within ten seconds, whatever its context says. Members that are not
// alive are not asked.
type Peers interface {
	// List returns the members whose agents are known, without the local one, sorted by pod. A
	// member that is unavailable stays in it for a while.
	List() []Peer
	// Look returns what the adapter of the member on the node returns from Look. It changes
	// nothing, and does not wait for writes there. A member whose node is not known yet is named by
	// its pod (see Peer.Name).
	Look(ctx context.Context, node string, fresh bool) ([]byte, error)
	// Step lets the adapter of the member on the node take a step. A member that is busy with
	// another write for more than a moment refuses. An error does not say whether the step was
	// taken.
	Step(ctx context.Context, node string, step Step) ([]byte, error)
}

// Peer is another member as its agent describes it.
type Peer struct {
	// Pod is the pod of the member, and Node its name in the database; empty while its agent has
	// not reported it.
	Pod, Node string
	// Alive means that its agent is an alive member of the gossip.
	Alive bool
	// Since is the time of the last change of Alive.
	Since time.Time
	// Leaving means that its agent says that the pod is being stopped, or is drained or being
	// drained. If the agent is not alive, it said so before.
	Leaving bool
}

// Name returns the name by which Look finds the member: its node, or its pod until its agent has
// reported the node. A server that has not answered since its pod was created has reported none.
func (p Peer) Name() string { return cmp.Or(p.Node, p.Pod) }

// Step is something that another member is asked to do.
type Step struct {
	// Name is the name of the step, in the words of the adapter.
	Name string
	// Claim is the claim of the step, and Epoch that of the order; 0 means the highest that the
	// asking agent has seen.
	Claim string
	Epoch int64
	// NotAfter is the time past which no write may be started. Zero means no limit.
	NotAfter time.Time
	// Body is for the other member's adapter, JSON of at most MaxStep bytes.
	Body []byte
}

// MaxStep bounds the payload of a step or a look.
const MaxStep = 64 << 10

// Peered is an Engine whose members do some things together.
//
// Its claims are not left half done if the coordinator does not ask again. After a restart the
// agent continues Drain. After Order.NotAfter, if Drain was never Done, the agent itself calls
// Restore until Done. It also continues a Restore that was begun.
type Peered interface {
	Engine

	// Look returns what the local member says of itself, as JSON of at most MaxStep bytes. It
	// returns the result of the newest look, or starts a new one if fresh is set. It changes
	// nothing.
	Look(ctx context.Context, fresh bool) ([]byte, error)

	// Step takes a step that another member's adapter asks for. It may be repeated. It never runs
	// at the same time as PlanDrain, Drain, Restore or Repair. Its context does not end with that
	// of the caller.
	Step(ctx context.Context, step Step) ([]byte, error)

	// Repair does at most one thing that needs no order, such as finishing a switchover that an
	// agent or a server left in the middle. The repair loop calls it after probes, at most once a
	// second, and never in mode Observe. Its context ends as soon as anything else has to be
	// written. It returns Done if there is nothing to do.
	Repair(ctx context.Context) (Progress, error)
}

// LookAt reads what a member's agent says of it into the pointer. Its agent has a little longer than
// it waits for its server, so that it can report that the server does not answer.
func LookAt(ctx context.Context, peers Peers, peer Peer, timeout time.Duration, fresh bool, into any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout*5/4)
	defer cancel()
	data, err := peers.Look(ctx, peer.Name(), fresh)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// Package engines is the seam between Rollcall's agent and a database.
//
// An adapter (engines/<x>) knows one database's protocol and nothing of gossip,
// Kubernetes or other databases. It observes (Observe), drains (PlanDrain, Drain)
// and undoes that (Restore).
package engines

import (
	"context"
	"time"
)

// Engine talks to the local member of one database.
//
// Invariants, each held by enginetest.Run for every adapter:
//   - every method honours its context and leaves no goroutine or connection
//     behind after Close;
//   - what cannot be learned is Unknown, never guessed;
//   - PlanDrain, Drain and Restore may be repeated at any time, by any agent;
//   - no credential appears in an error.
type Engine interface {
	// Observe reads the database once. A database that does not answer is not an error but an
	// Observation whose Member is NotLive or Unknown; an error means that nothing at all could be
	// learned (the caller treats it as Unknown). Its lists may be those of an earlier Observation,
	// so callers must not change them.
	Observe(ctx context.Context) (Observation, error)

	// PlanDrain returns what a drain would change, as the bytes (at most MaxUndo) with which
	// Restore of any agent of the same database can undo it. It reads, and changes nothing. Empty
	// bytes means nothing to undo.
	PlanDrain(ctx context.Context, order Order) (undo []byte, err error)

	// Drain starts or continues the drain and returns its progress. The caller repeats it until
	// Done or Refused. It returns Done only if the database itself confirms it.
	Drain(ctx context.Context, order Order, undo []byte) (Progress, error)

	// Restore undoes what Drain did under undo, and nothing else. It returns like Drain and is
	// repeated until Done.
	Restore(ctx context.Context, undo []byte) (Progress, error)

	// Sweep removes what an earlier agent of the same member left behind with our mark, after a
	// crash or a stop hook without a claim. keep lists the open claims, whose marks stay.
	Sweep(ctx context.Context, keep []string) error

	// Facts are constants of the adapter.
	Facts() Facts

	// Close releases connections.
	Close() error
}

// MaxUndo bounds the undo bytes of one drain.
const MaxUndo = 4 << 10

// Order says what to drain, and how.
type Order struct {
	Kind Kind
	// Claim is the name of the order. Asynchronous work and marks in the database carry it.
	Claim string
	// Node is the member to drain; empty means the local one. The duties of another member may be
	// handed over (Handoff). Another member may be evacuated only if Facts.EvacuatesOthers is set
	// and its process does not run.
	Node string
	// Primary is what the member does if it is the primary. Drain does nothing else: it waits as
	// long as the topology, as the member sees it, does not allow that.
	Primary Primary
	// KeepWrites means that Drain begins nothing that stops the writes of clients, and says by
	// Progress.Writes whether it could. What it has begun it finishes.
	KeepWrites bool
	// Eligible are the nodes (Member.Node) that may take over duties. Empty means any.
	Eligible []string
	// Setting is the cluster setting that Drain of a SettingChanger may change, with its value from
	// before the first change. If it is empty, the setting is not changed.
	Setting Setting
	// Epoch is the epoch of the order, for the steps that other members are asked to take. 0 means
	// the highest that the agent has seen.
	Epoch int64
	// NotAfter is the time past which no write may be started. Zero means no limit.
	NotAfter time.Time
}

// Progress is the progress of an order.
type Progress struct {
	State ProgressState
	// Detail says, for people, what the order waits for or why it was refused.
	Detail string
	// Done and Total count units of work if the database reports them.
	Done, Total int
	// Writes is set by adapters that know Order.KeepWrites.
	Writes Writes
	// OwnAgentOnly is set with ProgressRefused if only the node's own agent could hand over, and a
	// restart without a handoff would cost more than an election.
	OwnAgentOnly bool
}

// Facts are constants of an adapter that the policy needs.
type Facts struct {
	Name string
	// SettleSeconds is how long the database may take to notice a lost member.
	SettleSeconds int
	// MaxMajorStep is how many major versions one rollout may skip; 0 means any.
	MaxMajorStep int
	// SameMinor means that members of versions that differ in the major or minor number do not talk
	// to each other.
	SameMinor bool
	// EvacuatesOthers means that any member can empty another one whose process does not run.
	EvacuatesOthers bool
	// OwnAgentOnly means that only a leader's own agent can hand over, and that a restart without a
	// handoff costs more than an election.
	OwnAgentOnly bool
	// Topologies means that Observation.Topology says how the members share the role of primary.
	// Unknown then lets no primary go. Adapters without it leave the topology unknown, which means
	// nothing.
	Topologies bool
	// NamedByPod means that a member's name is that of its pod.
	NamedByPod bool
	// Unlisted means that only a leader is known to list all members. While there is no report of a
	// leader, a pod without an agent may be a member even if no report mentions it, and its pod's
	// name is a name by which it is found.
	Unlisted bool
	// ByZone means that copies are spread over zones and nothing smaller, so members of a zone that
	// go together cost as much as one of them.
	ByZone bool
	// OneAtATime means that only one member at a time may be unavailable unless the policy says
	// otherwise, however many members there are.
	OneAtATime bool
	// OldestLeads means that a copy cannot follow a leader of a newer version, so that leaders move to
	// members of the oldest version while versions differ.
	OldestLeads bool
	// DataRoles are the roles of members that keep data, if roles tell that.
	DataRoles []string
	// Replaced means that a member is moved to another volume if a restart does not apply the
	// change.
	Replaced bool
	// MinSource is, by major version, the oldest version from which it can be reached while the
	// database runs. A major version without an entry can be reached from any that MaxMajorStep
	// allows.
	MinSource map[int]string
	// NodeDowngradeRefused is the first version that refuses to start a node older than the newest
	// one seen; empty means never.
	NodeDowngradeRefused string
}

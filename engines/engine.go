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
//   - Plan, Apply and Restore may be repeated at any time, by any agent;
//   - no credential appears in an error.
type Engine interface {
	// Observe reads the database once. A database that does not answer is not an
	// error but an Observation whose Member is NotLive or Unknown; an error means
	// that nothing at all could be learned (the caller treats it as Unknown). Its
	// lists may be those of an earlier Observation: nobody changes them.
	Observe(ctx context.Context) (Observation, error)

	// PlanDrain returns what a drain would change, as the bytes (at most MaxUndo) with which
	// Restore of any agent of the same database can undo it. It reads, and changes nothing. Empty
	// bytes means nothing to undo.
	PlanDrain(ctx context.Context, order Order) (undo []byte, err error)

	// Drain starts or continues the drain and returns how far it is; the caller
	// repeats it until Done or Refused. Done only if the database itself confirms.
	Drain(ctx context.Context, order Order, undo []byte) (Progress, error)

	// Restore undoes what Drain did under undo, and nothing else. It answers like
	// Drain and is repeated until Done.
	Restore(ctx context.Context, undo []byte) (Progress, error)

	// Sweep removes what an earlier agent of this very member left behind with our
	// mark (a stop hook without a claim, a crash). keep names claims that are open.
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
	// Claim names the order; asynchronous work and marks in the database carry it.
	Claim string
	// Node is the member whose duties are given away; empty means the local one. Another member
	// than the local one may be handed over (Handoff), and emptied (Evacuate) only where
	// Facts.EvacuatesOthers, while its process does not run.
	Node string
	// Eligible are the nodes (Member.Node) that may take over duties. Empty means any.
	Eligible []string
	// Setting is the cluster setting that Drain of a SettingChanger may change, as
	// it was before anybody changed it. Without it that setting stays as it is.
	Setting Setting
	// Epoch of the order, for what other members are asked to do. 0 means the highest that the
	// agent has seen.
	Epoch int64
	// NotAfter is the time past which no write may be started. Zero means no limit.
	NotAfter time.Time
}

// Progress is how far an order is.
type Progress struct {
	State ProgressState
	// Detail is for people: what is being waited for, or why it was refused.
	Detail string
	// Done and Total count units of work where the database tells them.
	Done, Total int
	// OwnAgentOnly means that Refused, as only the node's own agent could hand over, and more than
	// an election would be lost without.
	OwnAgentOnly bool
}

// Facts are constants of an adapter that the policy needs.
type Facts struct {
	Name string
	// SettleSeconds is how long the database may take to notice a lost member.
	SettleSeconds int
	// MaxMajorStep is how many major versions one rollout may skip; 0 = any.
	MaxMajorStep int
	// SameMinor means that members of versions that differ in the major or minor number do not talk
	// to each other.
	SameMinor bool
	// EvacuatesOthers means that any member can empty another one whose process does not run.
	EvacuatesOthers bool
	// OwnAgentOnly means that for a member that leads only its own agent can hand over, and more
	// than an election would be lost without.
	OwnAgentOnly bool
	// NamedByPod means that a member's name is that of its pod.
	NamedByPod bool
	// Unlisted means that members need not know of each other, but for one that leads. While no
	// agent of a leader tells, a pod without an agent of which no agent tells may be a member, too,
	// and its pod's name is one by which it is found.
	Unlisted bool
	// ByZone means that copies are spread over zones and nothing smaller, so members of a zone that
	// go together cost as much as one of them.
	ByZone bool
	// OneAtATime means that however many members there are, one at a time may be unavailable unless
	// a person says otherwise.
	OneAtATime bool
	// DataRoles are the roles of members that keep data, where roles tell.
	DataRoles []string
	// Replaced means that a member is moved to another volume where a restart does not bring what
	// changed.
	Replaced bool
	// MinSource is, by major version, the oldest version from which it can be
	// reached while the database runs; without an entry any that MaxMajorStep allows.
	MinSource map[int]string
	// NodeDowngradeRefused is the version from which on a node older than the
	// newest one seen refuses to start; empty = never.
	NodeDowngradeRefused string
}

package act

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Agents are the agents of one database cluster. Every call is bounded by its
// context and may be repeated.
type Agents interface {
	// Plan asks the agent of a pod what preparing it would change, and changes
	// nothing. The bytes, at most 4 KiB, let any agent of the cluster undo it. A
	// setting of the whole database is named apart, and has an undo of its own.
	Plan(ctx context.Context, to Target, order Order) (undo []byte, shared Shared, err error)
	// Prepare has the agent of a pod start or continue to prepare it.
	Prepare(ctx context.Context, to Target, order Order, undo []byte) (Progress, error)
	// Restore has an agent undo what a prepare did.
	Restore(ctx context.Context, to Target, claim string, epoch int64, undo []byte) (done bool, err error)
	// RestoreShared has an agent put a setting of the whole database back; it starts
	// no write past a time.
	RestoreShared(ctx context.Context, to Target, shared Shared, epoch int64, notAfter time.Time) (done bool, err error)
	// RestoreUnaided puts a setting back while no pod of the database has an agent: the
	// coordinator asks a pod's database itself. An error where it may not.
	RestoreUnaided(ctx context.Context, pod Target, shared Shared, notAfter time.Time) (done bool, err error)
	// Relieve has the agent of a pod hand over the duties of another member of
	// the database, whose pod has no agent. It leaves nothing to be undone.
	Relieve(ctx context.Context, to Target, order Order, member string) (Progress, error)
	// Unaided hands over for a pod while no pod of the database has an agent: the
	// coordinator asks the pod's database itself. An error where it may not.
	Unaided(ctx context.Context, pod Target, order Order) (Progress, error)
	// Fresh has the agent of a pod look anew, and returns once what it saw is
	// part of every snapshot that is made from then on.
	Fresh(ctx context.Context, to Target) error
}

// ErrStaleEpoch is what Agents answer when the agent has seen a higher epoch.
var ErrStaleEpoch = errors.New("the agent has seen orders of a newer coordinator")

// OwnAgentOnlyError is what Relieve answers when only a pod's own agent could hand
// over for it, and what is at stake without.
type OwnAgentOnlyError struct{ Why string }

func (e *OwnAgentOnlyError) Error() string { return e.Why }

// Target is the agent of one pod.
type Target struct {
	Pod string
	UID string
}

// Order is what an agent is asked to prepare for.
type Order struct {
	Claim   string
	Epoch   int64
	Prepare model.Prepare
	// Eligible are the pods that may take over duties; empty means any.
	Eligible []string
	// Shared is the setting of the whole database that may be written, with the
	// value that it had before anybody did. Without it the agent leaves it alone.
	Shared Shared
	// NotAfter is the time past which the agent starts no write.
	NotAfter time.Time
	// For is the pod that is emptied by another pod's agent, because none runs in it.
	// Zero: the pod of the agent that is asked.
	For Subject
	// Anew: what was prepared once is looked at anew, and the answer is true of the
	// database after this order. Otherwise it may be that of then.
	Anew bool
}

// Subject is a pod and the name that the database has for its member.
type Subject struct{ UID, Node string }

// Progress is how far a prepare is.
type Progress struct {
	State  model.DrainState
	Detail string
}

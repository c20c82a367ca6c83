package mysql

import (
	"context"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// database is the local server as a switchover needs it: operations, not the statements of a
// flavor. Every method may be repeated.
type database interface {
	// Look returns the State without what the agent adds (Switch).
	Look(ctx context.Context) (replication.State, error)
	// StopWrites refuses all client writes, or returns ErrBusy and changes nothing.
	StopWrites(ctx context.Context, within time.Duration) error
	// AllowWrites lets clients write.
	AllowWrites(ctx context.Context) error
	// DropClients ends the connections of clients, not those of replication or our own.
	DropClients(ctx context.Context) (ended int, err error)
	// Awaits waits until the server has executed the position, and reports whether it has.
	Awaits(ctx context.Context, position string, within time.Duration) (bool, error)
	// Detach makes a replica follow nobody, for good.
	Detach(ctx context.Context) error
	// Follow makes it a replica of the source. demoted means that it was a primary until now.
	Follow(ctx context.Context, host string, port int, demoted bool) error
	// StartFollowing starts the threads of a replica that are stopped.
	StartFollowing(ctx context.Context) error
	// AcknowledgeAs sets the halves of semi-synchronous replication that a primary or
	// a replica needs, where it is installed and was in use.
	AcknowledgeAs(ctx context.Context, primary bool) error
	// ElectPrimary asks group replication to make the member its primary.
	ElectPrimary(ctx context.Context, id string) error
}

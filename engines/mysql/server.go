package mysql

import (
	"context"
	"time"
)

// server is the local database as a switchover needs it: what is done to it, not
// the statements of a flavor. Every method may be repeated.
type server interface {
	// look answers the State but for what the agent adds (Switch).
	look(ctx context.Context) (State, error)
	// stopWrites refuses all client writes, or answers ErrBusy and changes nothing.
	stopWrites(ctx context.Context, within time.Duration) error
	// allowWrites lets clients write.
	allowWrites(ctx context.Context) error
	// dropClients ends the connections of clients: not of replication, not our own.
	dropClients(ctx context.Context) (ended int, err error)
	// awaits tells whether the server has executed the position, and waits for that.
	awaits(ctx context.Context, position string, within time.Duration) (bool, error)
	// detach makes a replica follow nobody, for good.
	detach(ctx context.Context) error
	// follow makes it a replica of the source. demoted: it was a primary until now.
	follow(ctx context.Context, host string, port int, demoted bool) error
	// startFollowing starts the threads of a replica that are stopped.
	startFollowing(ctx context.Context) error
	// acknowledgeAs sets the halves of semi-synchronous replication that a primary or
	// a replica needs, where it is installed and was in use.
	acknowledgeAs(ctx context.Context, primary bool) error
	// electPrimary asks group replication to make the member its primary.
	electPrimary(ctx context.Context, id string) error
}

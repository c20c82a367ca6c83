package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Patience is how long a command waits for the coordinator before it falls back to the
// DatabaseCluster object. Tests set it higher, for slow machines.
var Patience = 8 * time.Second

// CallTimeout bounds calls to the coordinator that have no fallback.
const CallTimeout = 30 * time.Second

// Coordinator returns the options for reaching the coordinator.
func (a *App) Coordinator() (reach.Options, error) {
	opts := a.Reach
	if err := opts.Validate(); err != nil || opts.Address != "" {
		return opts, err
	}
	config, err := a.Config()
	opts.Config = config
	return opts, err
}

// Dial connects to the coordinator.
func (a *App) Dial(ctx context.Context) (*reach.Coordinator, error) {
	opts, err := a.Coordinator()
	if err != nil {
		return nil, err
	}
	return reach.Dial(ctx, opts)
}

// Ask dials the coordinator and calls it within the timeout.
func (a *App) Ask(ctx context.Context, within time.Duration, ask func(context.Context, *reach.Coordinator) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := a.Dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return FromCoordinator(ask(ctx, c))
}

// Snapshot fetches the newest snapshot and plan of a DatabaseCluster.
func (a *App) Snapshot(ctx context.Context, name string) (resp *rollcallv1.GetSnapshotResponse, err error) {
	ns, err := a.Namespace()
	if err != nil {
		return nil, err
	}
	err = a.Ask(ctx, CallTimeout, func(ctx context.Context, c *reach.Coordinator) (err error) {
		resp, err = c.GetSnapshot(ctx, &rollcallv1.GetSnapshotRequest{Namespace: ns, Name: name})
		return err
	})
	return resp, err
}

// FromCoordinator turns a gRPC error of the coordinator into a message for people.
func FromCoordinator(err error) error {
	st, ok := grpcstatus.FromError(err)
	if !ok || err == nil {
		return err
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == status.ReasonNotLeader {
			if leader := info.GetMetadata()[status.MetadataLeader]; leader != "" {
				return fmt.Errorf("this coordinator is not the leader; the leader is %s (--coordinator)", leader)
			}
			return errors.New("this coordinator is not the leader, and there is no leader at the moment; try again in a few seconds")
		}
	}
	switch st.Code() {
	case codes.Unavailable:
		return fmt.Errorf("the coordinator could not be reached: %s", st.Message())
	case codes.DeadlineExceeded:
		return errors.New("the coordinator did not answer in time")
	case codes.Unimplemented:
		return fmt.Errorf("the coordinator is of an older version than this program: %s", st.Message())
	}
	return errors.New(st.Message())
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Patience is how long the coordinator may take before what the object says
// has to do. Tests have more of it: a machine that stands still is no answer.
var Patience = 8 * time.Second

// CallTimeout is how long the coordinator may take where nothing else will do.
const CallTimeout = 30 * time.Second

// Coordinator says how to reach it.
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

// Ask asks the coordinator, which has so long to answer.
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

// Snapshot is what the coordinator decided on last, and its plan, as it sent them.
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

// tokensOnly is how a coordinator begins that knows no other way.
const tokensOnly = "neither a client certificate nor a token was shown"

// FromCoordinator is the coordinator's answer as a person should read it.
func FromCoordinator(err error) error {
	st, ok := grpcstatus.FromError(err)
	if !ok || err == nil {
		return err
	}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetReason() == status.ReasonNotLeader {
			if leader := info.GetMetadata()[status.MetadataLeader]; leader != "" {
				return fmt.Errorf("the coordinator asked is not the elected one; that is %s (--coordinator)", leader)
			}
			return errors.New("the coordinator asked is not the elected one, and nobody is at the moment; try again in some seconds")
		}
	}
	switch st.Code() {
	case codes.Unavailable:
		return fmt.Errorf("the coordinator could not be reached: %s", st.Message())
	case codes.DeadlineExceeded:
		return errors.New("the coordinator did not answer in time")
	case codes.Unauthenticated:
		if strings.HasPrefix(st.Message(), tokensOnly) {
			return errors.New("the coordinator is of an older version than this program, and knows people by their token alone: " +
				"upgrade it, or use --send-token, which shows it the token of your kubeconfig: whoever holds it may do all that you may")
		}
	case codes.Unimplemented:
		return fmt.Errorf("the coordinator is of an older version than this program: %s", st.Message())
	}
	return errors.New(st.Message())
}

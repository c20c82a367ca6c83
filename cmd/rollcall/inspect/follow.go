package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// againEvery is the interval at which an unchanged cluster is shown again: ages grow.
const againEvery = 3 * time.Second

// follow calls seen with the cluster at once, and whenever it may have changed, until seen
// returns an error. It watches the elected coordinator, and reads the object while there is none.
func follow(ctx context.Context, a *cli.App, namespace, name string, seen func(*rollcallv1.Cluster) error) error {
	told := ""
	for {
		stop, err := followCoordinator(ctx, a, namespace, name, seen)
		switch {
		case stop:
			return err
		case cli.Over(ctx):
			return ctx.Err()
		}
		anew := errors.Is(err, errAskAnew)
		if text := err.Error(); text != told && !anew {
			told = text
			fmt.Fprintf(a.ErrOut, "note: %s\n", text)
		}
		if a.Reach.Address == "" && !anew {
			list, err := a.ReadObjects(ctx, namespace, name)
			if err != nil && cli.Over(ctx) {
				return ctx.Err()
			}
			if err != nil {
				return err
			}
			if err := seen(list[0]); err != nil {
				return err
			}
		}
		if err := cli.Sleep(ctx, cli.PollEvery); err != nil {
			return err
		}
	}
}

// errAskAnew means that the proof of identity has expired, after some minutes.
var errAskAnew = errors.New("the proof of who asks has ended")

// followCoordinator follows a cluster until the connection breaks, or until seen returns
// an error: then stop is true.
func followCoordinator(ctx context.Context, a *cli.App, namespace, name string, seen func(*rollcallv1.Cluster) error) (stop bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dialing, dialed := context.WithTimeout(ctx, cli.Patience)
	defer dialed()
	c, err := a.Dial(dialing)
	if err != nil {
		return false, err
	}
	defer c.Close()
	stream, err := c.WatchCluster(ctx, &rollcallv1.WatchClusterRequest{Namespace: namespace, Name: name})
	if err != nil {
		return false, cli.FromCoordinator(err)
	}
	messages, broken := make(chan *rollcallv1.Cluster), make(chan error, 1)
	go func() {
		for {
			cluster, err := stream.Recv()
			if err != nil {
				broken <- err
				return
			}
			select {
			case messages <- cluster:
			case <-ctx.Done():
				return
			}
		}
	}()
	again := time.NewTicker(againEvery)
	defer again.Stop()
	var newest *rollcallv1.Cluster
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case err := <-broken:
			if newest != nil && grpcstatus.Code(err) == codes.Unauthenticated {
				return false, errAskAnew
			}
			return false, cli.FromCoordinator(err)
		case newest = <-messages:
		case <-again.C:
		}
		if newest == nil {
			continue
		}
		if err := seen(newest); err != nil {
			return true, err
		}
	}
}

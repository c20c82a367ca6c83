// Package lead elects the one coordinator that tries to act. It fences nothing: safety rests on the
// claims and on preconditions. It adds a deadline to every request of a leader, so that a leader
// without connection to the API server stops sending before another can follow it.
package lead

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the Lease for which coordinators compete.
const LeaseName = "rollcall-coordinator"

const (
	// leaseDuration is how long others wait for a silent leader.
	leaseDuration = 15 * time.Second
	// renewDeadline is how long a leader that cannot renew goes on.
	renewDeadline = 10 * time.Second
	// retryPeriod is the time between two tries.
	retryPeriod = 2 * time.Second
	// teardown bounds how long the work of a leader may take to end before the Lease is released.
	// After that the Lease expires by itself.
	teardown = 10 * time.Second
)

// Options of an Elector. Client, Namespace and Identity are required.
type Options struct {
	// Client reads and writes the Lease; it should not share a rate limit with other work.
	Client kubernetes.Interface
	// Namespace holds the Lease.
	Namespace string
	// Identity of this coordinator: its pod's name.
	Identity string
	// OnLeader is called with the identity of every new leader, including this one.
	OnLeader func(identity string)
	Logger   *slog.Logger
}

func (o *Options) validate() error {
	switch {
	case o.Client == nil:
		return errors.New("lead: a client is required")
	case o.Namespace == "":
		return errors.New("lead: the namespace of the lease is required")
	case o.Identity == "":
		return errors.New("lead: an identity is required")
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.OnLeader == nil {
		o.OnLeader = func(string) {}
	}
	return nil
}

// Elector competes for the Lease again and again.
type Elector struct {
	options Options
}

// New returns an Elector. Run makes it compete.
func New(options Options) (*Elector, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Elector{options: options}, nil
}

// Run competes until ctx ends and calls work for each term that is won. The context of work ends
// with the term; the next term begins only after work has returned. When ctx ends, work is ended
// first and the Lease released after it, so that no other leads while this coordinator still acts.
func (e *Elector) Run(ctx context.Context, work func(ctx context.Context, term *Term) error) error {
	for ctx.Err() == nil {
		if err := e.compete(ctx, work); err != nil {
			return err
		}
		// Losing a term at once again and again must not become a busy loop.
		select {
		case <-ctx.Done():
		case <-time.After(retryPeriod):
		}
	}
	return nil
}

func (e *Elector) compete(ctx context.Context, work func(context.Context, *Term) error) error {
	// The election outlives ctx until the work has ended.
	election, giveBack := context.WithCancel(context.WithoutCancel(ctx))
	defer giveBack()
	term := &Term{window: renewDeadline}
	started := make(chan context.Context, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &stampedLock{term: term, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.options.Namespace, Name: LeaseName},
			Client:     e.options.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: e.options.Identity},
		}},
		LeaseDuration:   leaseDuration,
		RenewDeadline:   renewDeadline,
		RetryPeriod:     retryPeriod,
		ReleaseOnCancel: true,
		Name:            LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { started <- ctx },
			OnStoppedLeading: func() {},
			OnNewLeader:      e.options.OnLeader,
		},
	})
	if err != nil {
		return fmt.Errorf("lead: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		elector.Run(election)
	}()

	select {
	case <-ctx.Done():
		giveBack()
		<-over
		return nil
	case <-over:
		return nil
	case reign := <-started:
		err := e.reign(ctx, reign, term, work)
		if !errors.Is(err, errStillWorking) {
			giveBack()
		}
		<-over
		return err
	}
}

var errStillWorking = errors.New("the work of the leader did not end in time; its lease runs out by itself")

// reign runs work until the term or ctx ends, and waits for it to return.
func (e *Elector) reign(ctx, reign context.Context, term *Term, work func(context.Context, *Term) error) error {
	e.options.Logger.Info("leading", "identity", e.options.Identity)
	defer e.options.Logger.Info("no longer leading", "identity", e.options.Identity)
	working, stop := context.WithCancel(reign)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- work(working, term) }()
	select {
	case err := <-ended:
		return err
	case <-reign.Done():
		// Lost: another may follow soon. The requests of work are bounded by the
		// term; wait for the work itself, whatever it takes.
		stop()
		return <-ended
	case <-ctx.Done():
	}
	stop()
	select {
	case err := <-ended:
		return err
	case <-time.After(teardown):
		return errStillWorking
	}
}

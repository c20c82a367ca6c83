package fence

import (
	"strconv"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// firstEpoch is the lowest epoch of a coordinator.
const firstEpoch = 1

// fence remembers the highest epoch of one database cluster and lets no order of
// a lower one pass. It only ever rises, until the cluster is another.
type Fence struct {
	OnRaise func(int64)

	mu         sync.Mutex
	clusterUID string
	highest    int64
}

// belong makes the fence that of a cluster; another cluster's epochs are forgotten.
func (f *Fence) SetCluster(clusterUID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusterUID != clusterUID {
		f.clusterUID, f.highest = clusterUID, 0
		f.OnRaise(0)
	}
}

// heard raises the fence to what others have seen.
func (f *Fence) Heard(epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raise(epoch)
}

func (f *Fence) raise(epoch int64) {
	if epoch > f.highest {
		f.highest = epoch
		f.OnRaise(epoch)
	}
}

// seen answers the cluster and the highest epoch.
func (f *Fence) Seen() (clusterUID string, epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusterUID, f.highest
}

// pass answers nil when a coordinator's order may be carried out, and raises the
// fence to it.
func (f *Fence) Pass(order *rollcallv1.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(order, firstEpoch); err != nil {
		return err
	}
	f.raise(order.GetEpoch())
	return nil
}

// passStep is pass for what another agent asks for. That agent only says what it
// has heard, so the fence is raised no further than hearsay is believed. An agent
// that was never given an order knows no epoch.
func (f *Fence) PassStep(step *rollcallv1.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(step, 0); err != nil {
		return err
	}
	f.raise(config.HeardEpoch(step.GetEpoch()))
	return nil
}

// check is called with mu held. No epoch below least is one.
func (f *Fence) check(order *rollcallv1.Fence, least int64) error {
	switch {
	case f.clusterUID == "":
		return Refuse(codes.Unavailable, ReasonNotConfigured, nil, "the agent does not know its database cluster yet")
	case order.GetClusterUid() != f.clusterUID:
		return Refuse(codes.FailedPrecondition, ReasonWrongCluster, map[string]string{"cluster_uid": f.clusterUID},
			"fence.cluster_uid is %.64q; this agent belongs to %q", order.GetClusterUid(), f.clusterUID)
	case order.GetEpoch() < least:
		return status.Errorf(codes.InvalidArgument, "fence.epoch is %d; it must be at least %d", order.GetEpoch(), least)
	case order.GetEpoch() < f.highest:
		return Refuse(codes.FailedPrecondition, ReasonStaleEpoch, map[string]string{
			"epoch":   strconv.FormatInt(order.GetEpoch(), 10),
			"highest": strconv.FormatInt(f.highest, 10),
		}, "fence.epoch is %d; an order of epoch %d has been seen", order.GetEpoch(), f.highest)
	}
	return nil
}

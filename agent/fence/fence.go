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

// Fence remembers the highest epoch of one database cluster and rejects every order
// of a lower one. It only rises, until the cluster changes.
type Fence struct {
	OnRaise func(int64)

	mu         sync.Mutex
	clusterUID string
	highest    int64
}

// SetCluster makes the fence that of a cluster. The epochs of another cluster are
// forgotten.
func (f *Fence) SetCluster(clusterUID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusterUID != clusterUID {
		f.clusterUID, f.highest = clusterUID, 0
		f.OnRaise(0)
	}
}

// Heard raises the fence to an epoch that others have seen.
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

// Seen returns the cluster and the highest epoch.
func (f *Fence) Seen() (clusterUID string, epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusterUID, f.highest
}

// Pass returns nil if a coordinator's order may be carried out, and raises the fence
// to it.
func (f *Fence) Pass(order *rollcallv1.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(order, firstEpoch); err != nil {
		return err
	}
	f.raise(order.GetEpoch())
	return nil
}

// PassStep is Pass for a step that another agent asks for. That agent only repeats
// what it has heard, so the step raises the fence no higher than gossip could. An
// agent that never got an order sends epoch 0.
func (f *Fence) PassStep(step *rollcallv1.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(step, 0); err != nil {
		return err
	}
	f.raise(config.HeardEpoch(step.GetEpoch()))
	return nil
}

// check rejects epochs below least. The caller holds mu.
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

package agent

import (
	"fmt"
	"strconv"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Reasons in google.rpc.ErrorInfo, domain errorDomain, of refused orders.
const (
	errorDomain = "rollcall.dev"

	ReasonStaleEpoch    = "STALE_EPOCH"     // metadata: epoch, highest
	ReasonWrongCluster  = "WRONG_CLUSTER"   // metadata: cluster_uid
	ReasonWrongPod      = "WRONG_POD"       // metadata: pod_uid
	ReasonNotSynced     = "NOT_SYNCED"      // try again
	ReasonNotConfigured = "NOT_CONFIGURED"  // try again
	ReasonNoTerm        = "NO_TERM"         // from a sender of an older version
	ReasonOtherRun      = "OTHER_RUN"       // the agent has restarted since it was heard
	ReasonExpired       = "EXPIRED"         // the term is over
	ReasonOtherClaim    = "OTHER_CLAIM"     // a plan while another claim is open
	ReasonRole          = "ROLE_NOT_ENOUGH" // metadata: needed
	ReasonWrongNode     = "WRONG_NODE"      // metadata: node
	ReasonBusy          = "BUSY"            // try again
	ReasonOwnAgentOnly  = "OWN_AGENT_ONLY"  // nobody else can hand over for that member
)

// fence remembers the highest epoch of one database cluster and lets no order of
// a lower one pass. It only ever rises, until the cluster is another.
type fence struct {
	raised func(int64)

	mu         sync.Mutex
	clusterUID string
	highest    int64
}

// belong makes the fence that of a cluster; another cluster's epochs are forgotten.
func (f *fence) belong(clusterUID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusterUID != clusterUID {
		f.clusterUID, f.highest = clusterUID, 0
		f.raised(0)
	}
}

// heard raises the fence to what others have seen.
func (f *fence) heard(epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raise(epoch)
}

func (f *fence) raise(epoch int64) {
	if epoch > f.highest {
		f.highest = epoch
		f.raised(epoch)
	}
}

// seen answers the cluster and the highest epoch.
func (f *fence) seen() (clusterUID string, epoch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clusterUID, f.highest
}

// pass answers nil when a coordinator's order may be carried out, and raises the
// fence to it.
func (f *fence) pass(order *rollcallv1.Fence) error {
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
func (f *fence) passStep(step *rollcallv1.Fence) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(step, 0); err != nil {
		return err
	}
	f.raise(config.HeardEpoch(step.GetEpoch()))
	return nil
}

// check is called with mu held. No epoch below least is one.
func (f *fence) check(order *rollcallv1.Fence, least int64) error {
	switch {
	case f.clusterUID == "":
		return refusal(codes.Unavailable, ReasonNotConfigured, nil, "the agent does not know its database cluster yet")
	case order.GetClusterUid() != f.clusterUID:
		return refusal(codes.FailedPrecondition, ReasonWrongCluster, map[string]string{"cluster_uid": f.clusterUID},
			"fence.cluster_uid is %.64q; this agent belongs to %q", order.GetClusterUid(), f.clusterUID)
	case order.GetEpoch() < least:
		return status.Errorf(codes.InvalidArgument, "fence.epoch is %d; it must be at least %d", order.GetEpoch(), least)
	case order.GetEpoch() < f.highest:
		return refusal(codes.FailedPrecondition, ReasonStaleEpoch, map[string]string{
			"epoch":   strconv.FormatInt(order.GetEpoch(), 10),
			"highest": strconv.FormatInt(f.highest, 10),
		}, "fence.epoch is %d; an order of epoch %d has been seen", order.GetEpoch(), f.highest)
	}
	return nil
}

// highestOf answers the epoch because of which another agent has refused something;
// 0: it was for another reason.
func highestOf(err error) int64 {
	if info := infoOf(err); info.GetReason() == ReasonStaleEpoch {
		highest, _ := strconv.ParseInt(info.GetMetadata()["highest"], 10, 64)
		return highest
	}
	return 0
}

// reasonOf is why another agent has refused something; empty when that is not known.
func reasonOf(err error) string { return infoOf(err).GetReason() }

func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info
		}
	}
	return nil
}

func refusal(code codes.Code, reason string, metadata map[string]string, format string, args ...any) error {
	s := status.New(code, fmt.Sprintf(format, args...))
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: errorDomain, Metadata: metadata})
	if err != nil {
		return s.Err()
	}
	return detailed.Err()
}

package fence

import (
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reasons of refused orders, in google.rpc.ErrorInfo with the domain errorDomain.
const (
	errorDomain = "rollcall.dev"

	ReasonStaleEpoch    = "STALE_EPOCH"     // metadata: epoch, highest
	ReasonWrongCluster  = "WRONG_CLUSTER"   // metadata: cluster_uid
	ReasonWrongPod      = "WRONG_POD"       // metadata: pod_uid
	ReasonNotSynced     = "NOT_SYNCED"      // try again
	ReasonNotConfigured = "NOT_CONFIGURED"  // try again
	ReasonNoTerm        = "NO_TERM"         // the sender has an older version
	ReasonOtherRun      = "OTHER_RUN"       // the agent has restarted since the sender heard it
	ReasonExpired       = "EXPIRED"         // the term is over
	ReasonOtherClaim    = "OTHER_CLAIM"     // a plan while another claim is open
	ReasonRole          = "ROLE_NOT_ENOUGH" // metadata: needed
	ReasonWrongNode     = "WRONG_NODE"      // metadata: node
	ReasonBusy          = "BUSY"            // try again
	ReasonOwnAgentOnly  = "OWN_AGENT_ONLY"  // only the member's own agent can hand over for it
)

// HighestOf returns the highest epoch that another agent has seen, if that is why it
// refused something; else 0.
func HighestOf(err error) int64 {
	if info := infoOf(err); info.GetReason() == ReasonStaleEpoch {
		highest, _ := strconv.ParseInt(info.GetMetadata()["highest"], 10, 64)
		return highest
	}
	return 0
}

// ReasonOf returns the reason why another agent refused something, or "".
func ReasonOf(err error) string { return infoOf(err).GetReason() }

func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return info
		}
	}
	return nil
}

func Refuse(code codes.Code, reason string, metadata map[string]string, format string, args ...any) error {
	s := status.New(code, fmt.Sprintf(format, args...))
	detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: errorDomain, Metadata: metadata})
	if err != nil {
		return s.Err()
	}
	return detailed.Err()
}

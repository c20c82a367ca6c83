package fence

import (
	"fmt"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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

// highestOf answers the epoch because of which another agent has refused something;
// 0: it was for another reason.
func HighestOf(err error) int64 {
	if info := infoOf(err); info.GetReason() == ReasonStaleEpoch {
		highest, _ := strconv.ParseInt(info.GetMetadata()["highest"], 10, 64)
		return highest
	}
	return 0
}

// reasonOf is why another agent has refused something; empty when that is not known.
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

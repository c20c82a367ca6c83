package main

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// tokensOnly is how a coordinator begins that knows no other way.
const tokensOnly = "neither a client certificate nor a token was shown"

// fromCoordinator is the coordinator's answer as a person should read it.
func fromCoordinator(err error) error {
	st, ok := grpcstatus.FromError(err)
	if !ok {
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

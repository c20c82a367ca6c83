package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

func (s *session) statusCommand(ctx context.Context, tokens []string) (bool, error) {
	kind := strings.Join(tokens[1:], " ")
	if !slices.Contains([]string{"", "json", "minimal", "details"}, kind) {
		return s.misused("status")
	}
	document, available, err := s.fetchStatus(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case kind == "minimal" && available:
		fmt.Fprint(s.Stdout, "The database is available.\n")
	case kind == "minimal":
		fmt.Fprint(s.Stdout, "The database is unavailable; type `status' for more information.\n")
	case s.fault == wire.NoDocument:
		fmt.Fprint(s.Stdout, "Could not retrieve status json.\n\n")
	case kind == "json":
		fmt.Fprintln(s.Stdout, document)
	default:
		return true, s.tellPeople(document, kind == "details")
	}
	return true, nil
}

// fetchStatus gets the document of the cluster. When nobody answers for a while, it is of the client alone.
func (s *session) fetchStatus(ctx context.Context) (document string, available bool, err error) {
	for {
		reply, err := s.db.Ask(ctx, s.signed(wire.Request{Op: wire.Status}))
		if err == nil && reply.Problem == wire.NoProblem {
			if err := s.pause(ctx, reply.Delay); err != nil {
				return "", false, err
			}
			return reply.Document, reply.Available, nil
		}
		if time.Since(s.begun) > s.Patience {
			return s.alone(), false, nil
		}
		if err := s.pause(ctx, s.Poll); err != nil {
			return "", false, err
		}
	}
}

// alone is the document when no coordinator answers.
func (s *session) alone() string { return string(model.AloneJSON(s.db.Coordinators(), s.Clock())) }

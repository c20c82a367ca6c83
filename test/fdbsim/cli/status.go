package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

func (s *session) statusCommand(ctx context.Context, tokens []string) (bool, error) {
	if len(tokens) != 2 || tokens[1] != "json" && tokens[1] != "minimal" {
		// status and status details are for people; nobody here reads them.
		return s.misused("status")
	}
	document, available, err := s.fetchStatus(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case tokens[1] == "minimal" && available:
		fmt.Fprint(s.Stdout, "The database is available.\n")
	case tokens[1] == "minimal":
		fmt.Fprint(s.Stdout, "The database is unavailable; type `status' for more information.\n")
	case s.fault == wire.NoDocument:
		fmt.Fprint(s.Stdout, "Could not retrieve status json.\n\n")
	default:
		fmt.Fprintln(s.Stdout, document)
	}
	return true, nil
}

// fetchStatus gets the document of the cluster. When nobody answers for a while, it is of the client alone.
func (s *session) fetchStatus(ctx context.Context) (document string, available bool, err error) {
	for {
		reply, err := s.db.Ask(ctx, s.signed(wire.Request{Op: wire.Status}))
		if err == nil && reply.Problem == wire.NoProblem {
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
func (s *session) alone() string {
	type coordinator struct {
		Address   string `json:"address"`
		Reachable bool   `json:"reachable"`
	}
	seats := []coordinator{}
	for _, a := range s.db.Coordinators() {
		seats = append(seats, coordinator{Address: a})
	}
	text, err := json.MarshalIndent(map[string]any{
		"client": map[string]any{
			"coordinators":    map[string]any{"coordinators": seats, "quorum_reachable": false},
			"database_status": map[string]any{"available": false, "healthy": false},
			"messages":        []map[string]string{{"name": "quorum_not_reachable", "description": "Unable to reach a quorum of coordinators."}},
		},
		"cluster": map[string]any{"layers": map[string]any{"_valid": false}},
	}, "", "    ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

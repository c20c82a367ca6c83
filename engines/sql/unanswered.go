package sql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// unanswered remembers the statements that a server was left alone with. It goes on
// with them although nobody listens, each in a session that counts: who asked again
// each time would take all that there are, and nobody could connect any more. A
// server whose disk is full does not answer some questions for hours.
type unanswered struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// most statements that are remembered; few are ever left.
const mostUnanswered = 64

// ErrHangs means that an earlier session still waits for an answer to the same statement.
var ErrHangs = errors.New("as one does whose disk is full")

func (u *unanswered) left(statement string, began time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.since[statement]; known {
		return
	}
	if u.since == nil || len(u.since) == mostUnanswered {
		u.since = map[string]time.Time{}
	}
	u.since[statement] = began
}

func (u *unanswered) ended(statement string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.since, statement)
}

func (u *unanswered) find(statement string) (since time.Time, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	since, known = u.since[statement]
	return since, known
}

// stillAsked finds sessions of ours that are at a statement for a second or more.
const stillAsked = ` WHERE ID <> CONNECTION_ID() AND COMMAND <> 'Sleep' AND BINARY USER = SUBSTRING_INDEX(USER(), '@', 1) AND TIME >= 1 AND INFO = ?`

// processLists in turn: MySQL makes a table on its disk for the second one, and MariaDB
// has not got the first.
var processLists = []string{"performance_schema.processlist", "information_schema.PROCESSLIST"}

// free returns ErrHangs while the server is still at the statement.
func (s Session) free(ctx context.Context, statement string) error {
	since, left := s.of.unanswered.find(statement)
	if !left {
		return nil
	}
	for _, list := range processLists {
		rows, err := s.query(ctx, "", `SELECT ID AS id FROM `+list+stillAsked, statement)
		switch {
		case err != nil && Number(err) == 0:
			return err
		case err != nil:
			continue // it has no such list, or does not show it
		case len(rows) > 0:
			return fmt.Errorf("the server has not answered %s for %s, %w", beginningOf(statement), engines.Duration(time.Since(since)), ErrHangs)
		}
		break
	}
	s.of.unanswered.ended(statement)
	return nil
}

// beginningOf a statement is enough to tell which it is.
func beginningOf(statement string) string {
	const enough = 5
	all := strings.Fields(statement)
	return strings.Join(all[:min(enough, len(all))], " ")
}

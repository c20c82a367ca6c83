package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines/sql"
)

// logged is what a server said of its log, and when that server started: its options are those of
// its start.
type logged struct {
	started  time.Time
	unlogged string
}

// notKnown means that the server has not told yet which databases it logs.
const notKnown = "which databases it logs is not known yet"

// leftOut asks which databases the server leaves out of its log, once for each start. Their
// transactions have no GTIDs, so nothing else tells that its replicas lack them. The answer waits
// for a lock, as that of beginning does.
func (l *Server) leftOut(ctx context.Context, s session, d *dialect, a *answers) error {
	logs, _ := a.identity.On("log_bin")
	started := a.started()
	if !logs || started.IsZero() {
		return nil
	}
	l.mu.Lock()
	kept, oldest := l.log, l.oldest
	l.mu.Unlock()
	if started.Sub(kept.started).Abs() <= 2*time.Second {
		a.unlogged = kept.unlogged
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, beginningWithin)
	defer cancel()
	out, err := s.firstOf(bounded, d.needs.logs, d.end)
	switch {
	case err == nil && len(out) == 1:
		a.unlogged = unlogged(out[0])
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log = logged{started, a.unlogged}
		return nil
	case err == nil:
		return nil
	case sql.Refused(err):
		a.note(err)
		return nil
	case bounded.Err() == nil && !errors.Is(err, sql.ErrHangs):
		return err
	}
	a.unlogged, a.oldest = notKnown, oldest
	return ctx.Err()
}

// generated are databases that hold nobody's data.
var generated = []string{"information_schema", "performance_schema", "sys"}

// unlogged reads the options that leave databases out.
func unlogged(r sql.Row) string {
	const words = "it does not log all that is written to it (%s=%s), so that no replica has that"
	if databases := r.Words("binlog_do_db"); databases != "" {
		return fmt.Sprintf(words, "binlog_do_db", databases)
	}
	left := slices.DeleteFunc(strings.Split(r.Words("binlog_ignore_db"), ","), func(database string) bool {
		return database == "" || slices.Contains(generated, strings.ToLower(database))
	})
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf(words, "binlog_ignore_db", strings.Join(left, ","))
}

package server

import (
	"context"
	"errors"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// newest asks where the newest log ends. Only a server without GTIDs is asked, whose replicas can be
// compared with it by nothing else: the answer waits for a lock, as that of beginning does. Without
// an answer the place is not known.
func (s session) newest(ctx context.Context, d *dialect, a *answers) error {
	logs, _ := a.identity.On("log_bin")
	if mode, told := a.identity.First("gtid_mode"); len(d.end) == 0 || !logs || !told || mode == "ON" {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, beginningWithin)
	defer cancel()
	out, err := s.firstOf(bounded, d.needs.logs, d.end)
	switch {
	case err == nil:
		a.end = out
	case sql.Refused(err):
		a.note(err)
	case bounded.Err() == nil && !errors.Is(err, sql.ErrHangs):
		return err
	}
	return ctx.Err()
}

// log returns the end of the newest log.
func (a answers) log() *replication.Place {
	if len(a.end) != 1 {
		return nil
	}
	return place(a.end[0], "file", "position")
}

// place reads a place in a log; nil means that the row does not tell it.
func place(r sql.Row, file, position string) *replication.Place {
	n, ok := r.Number(position)
	name := r.Words(file)
	if !ok || name == "" {
		return nil
	}
	return &replication.Place{File: name, Position: n}
}

// applied returns how far in the source's log a replica has executed, under whichever names it says so.
func applied(r sql.Row) *replication.Place {
	if p := place(r, "relay_source_log_file", "exec_source_log_pos"); p != nil {
		return p
	}
	return place(r, "relay_master_log_file", "exec_master_log_pos")
}

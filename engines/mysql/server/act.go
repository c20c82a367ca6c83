package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/gtid"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// changeTimeout bounds changes that may have to wait for the server: a replica's threads
// stop after the transaction that they apply, and a group elects when its transactions are
// done.
const changeTimeout = time.Minute

// with runs statements that belong together in one session.
func (l *Server) with(ctx context.Context, within time.Duration, do func(ctx context.Context, s session, d *dialect) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s, err := l.session(ctx)
	if err != nil {
		return err
	}
	defer s.End(true)
	d, err := s.dialect(ctx, l.options.Flavor)
	if err != nil {
		return err
	}
	return do(ctx, s, d)
}

// AllowWrites checks that it worked.
func (l *Server) AllowWrites(ctx context.Context) error {
	return l.with(ctx, l.options.Timeout, func(ctx context.Context, s session, d *dialect) error {
		for _, q := range d.allow {
			if err := s.Do(ctx, d.needs.readOnly, q); err != nil {
				return err
			}
		}
		w, err := s.writes(ctx, d)
		if err == nil && w.refused {
			err = errors.New("the server still refuses writes")
		}
		return err
	})
}

// DropClients ends what it can and reports what it could not. MySQL does not allow it to
// end sessions of system users, which cannot write either where super_read_only is on.
func (l *Server) DropClients(ctx context.Context) (ended int, err error) {
	err = l.with(ctx, l.options.Timeout, func(ctx context.Context, s session, d *dialect) error {
		sessions, err := s.Rows(ctx, d.needs.process, d.clients)
		if err != nil {
			return err
		}
		var failed error
		for _, r := range sessions {
			id, ok := r.Number("id")
			if !ok {
				continue
			}
			switch err := s.Do(ctx, d.needs.kill, fmt.Sprintf(`KILL CONNECTION %d`, id)); {
			case err == nil:
				ended++
			case sql.Number(err) == sql.RefusedNoThread, sql.Number(err) == sql.RefusedOwner && d.flavor == replication.MySQL:
			case sql.Number(err) == sql.RefusedOwner:
				failed = errors.New("needs " + d.needs.kill)
			case sql.Number(err) == 0:
				return err
			default:
				failed = err
			}
		}
		if failed != nil {
			return fmt.Errorf("a connection could not be ended: %w", failed)
		}
		return nil
	})
	return ended, err
}

// Awaits compares after the wait too: MariaDB compares sequence numbers only, and says
// that a diverged server has arrived.
func (l *Server) Awaits(ctx context.Context, position string, within time.Duration) (there bool, err error) {
	err = l.with(ctx, within+l.options.Timeout, func(ctx context.Context, s session, d *dialect) error {
		wanted, err := gtid.Told(d.flavor.Notation(), position)
		if err != nil {
			return err
		}
		have, err := s.executed(ctx, d)
		if err != nil {
			return err
		}
		if there, _ = have.AtLeast(wanted); there {
			return nil
		}
		if _, err := s.One(ctx, "", d.await, d.awaited(wanted), within.Seconds()); err != nil {
			return err
		}
		if have, err = s.executed(ctx, d); err != nil {
			return err
		}
		var why string
		if there, why = have.AtLeast(wanted); !there && have.Diverged(wanted) {
			return errors.New(why)
		}
		return nil
	})
	return there, err
}

// executed by the server now.
func (s session) executed(ctx context.Context, d *dialect) (gtid.Position, error) {
	r, err := s.One(ctx, "", d.executed)
	if err != nil {
		return gtid.Position{}, err
	}
	p, err := gtid.Parse(d.flavor.Notation(), r.Text("executed"))
	text, told := r.First("applied")
	if err != nil || !told {
		return p, err
	}
	applied, err := gtid.Parse(d.flavor.Notation(), text)
	return p.Union(applied), err
}

// Detach may be repeated: a server that follows nobody has nothing to forget.
func (l *Server) Detach(ctx context.Context) error {
	return l.with(ctx, changeTimeout, func(ctx context.Context, s session, d *dialect) error {
		followed, err := s.followed(ctx, d)
		if err != nil || followed == nil {
			return err
		}
		if err := s.Do(ctx, d.needs.replica, d.stop); err != nil {
			return err
		}
		if err := s.Do(ctx, d.needs.forget, d.forget); err != nil {
			return err
		}
		switch followed, err = s.followed(ctx, d); {
		case err != nil:
			return err
		case followed != nil:
			return errors.New("the server still follows another")
		}
		return nil
	})
}

// followed is what the server follows now; nil means nobody.
func (s session) followed(ctx context.Context, d *dialect) (*replication.Source, error) {
	rows, err := s.firstOf(ctx, d.needs.source, d.source)
	if err != nil {
		return nil, err
	}
	state := replication.State{Flavor: d.flavor}
	if problem := (answers{source: rows}).sources(&state); problem != "" {
		return nil, errors.New(problem)
	}
	return state.Source, nil
}

// StartFollowing starts what is stopped.
func (l *Server) StartFollowing(ctx context.Context) error {
	return l.with(ctx, changeTimeout, func(ctx context.Context, s session, d *dialect) error {
		return s.Do(ctx, d.needs.replica, d.start)
	})
}

// ElectPrimary is for group replication. It returns when the member is elected.
func (l *Server) ElectPrimary(ctx context.Context, id string) error {
	return l.with(ctx, changeTimeout, func(ctx context.Context, s session, d *dialect) error {
		if d.flavor != replication.MySQL {
			return errors.New("only group replication elects a primary")
		}
		_, err := s.One(ctx, d.needs.group, `SELECT group_replication_set_as_primary(?) AS elected`, id)
		return err
	})
}

// AcknowledgeAs changes nothing where neither half of semi-synchronous replication is on.
// The replica half stays on at a primary: it does no harm, and shows later that it was in
// use.
func (l *Server) AcknowledgeAs(ctx context.Context, primary bool) error {
	return l.with(ctx, changeTimeout, func(ctx context.Context, s session, d *dialect) error {
		rows, err := s.Rows(ctx, "", d.switches)
		if err != nil {
			return err
		}
		v := sql.Pairs(rows)
		names := [2]string{"rpl_semi_sync_source_enabled", "rpl_semi_sync_replica_enabled"}
		if _, ok := v[names[0]]; !ok {
			names = [2]string{"rpl_semi_sync_master_enabled", "rpl_semi_sync_slave_enabled"}
		}
		source, known := v.On(names[0])
		replica, knownToo := v.On(names[1])
		if !known || !knownToo || !source && !replica {
			return nil
		}
		set := func(name string, is, wanted bool) error {
			if is == wanted {
				return nil
			}
			return s.Do(ctx, d.needs.semiSync, `SET GLOBAL `+name+` = `+map[bool]string{true: "1", false: "0"}[wanted])
		}
		if primary {
			return set(names[0], source, true)
		}
		if err := errors.Join(set(names[1], replica, true), set(names[0], source, false)); err != nil {
			return err
		}
		return s.acknowledgeAgain(ctx, d)
	})
}

// acknowledgeAgain restarts a receiver thread that started before the replica half was on:
// only then does it acknowledge.
func (s session) acknowledgeAgain(ctx context.Context, d *dialect) error {
	followed, err := s.followed(ctx, d)
	if err != nil || followed == nil || !followed.Receiving {
		return err
	}
	rows, err := s.Rows(ctx, "", d.counters)
	if err != nil {
		return err
	}
	if on, _ := sql.Pairs(rows).On("rpl_semi_sync_replica_status", "rpl_semi_sync_slave_status"); on {
		return nil
	}
	for _, q := range d.restartIO {
		if err := s.Do(ctx, d.needs.replica, q); err != nil {
			return err
		}
	}
	return nil
}

// Package server talks SQL to one MySQL or MariaDB server. It reads the state of its
// replication and makes the changes of a switchover, each of which may be repeated.
package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// Server is the server on this machine.
type Server struct {
	connection *sql.Connection
	options    Options
	open       sql.Transactions

	mu      sync.Mutex
	started time.Time // of the server, kept: what it tells is in whole seconds
	oldest  []sql.Row // where the oldest log began when that was told last
	log     logged    // what is left out of its log
}

// New makes no connection yet.
func New(o Options) (*Server, error) {
	o.Access = WithDefaults(o.Access)
	if err := o.validate(); err != nil {
		return nil, err
	}
	c, err := sql.Connect(o.Access)
	if err != nil {
		return nil, err
	}
	return &Server{connection: c, options: o}, nil
}

// Close ends all sessions.
func (l *Server) Close() error { return l.connection.Close() }

// answers are what a server said in one look; what it refused is in missing.
type answers struct {
	identity           sql.Row
	switches, counters sql.Row
	origin             []sql.Row
	source, replicas   []sql.Row
	running, locks     []sql.Row
	clones, members    []sql.Row
	grants             []sql.Row
	oldest, end        []sql.Row
	open               sql.Row
	unlogged           string
	missing            []string
}

// Look returns what can be learned. A server that does not answer is no error.
func (l *Server) Look(ctx context.Context) (replication.State, error) {
	bounded, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	now := time.Now()
	a, d, err := l.ask(bounded)
	if ctx.Err() != nil {
		return replication.State{Looked: now}, ctx.Err()
	}
	if err != nil {
		s := replication.State{Looked: now, Down: errors.Is(err, sql.ErrNoServer), Problem: err.Error()}
		return s, nil
	}
	s := a.state(d, now)
	l.steady(&s)
	return s, nil
}

func (l *Server) ask(ctx context.Context) (answers, *dialect, error) {
	s, err := l.session(ctx)
	if err != nil {
		return answers{}, nil, err
	}
	defer s.End(true)
	d, err := s.dialect(ctx, l.options.Flavor)
	if err != nil {
		return answers{}, nil, err
	}
	a, err := s.answers(ctx, d)
	if err == nil {
		err = l.transactions(ctx, s, d, &a)
	}
	if err == nil {
		err = l.leftOut(ctx, s, d, &a)
	}
	if err == nil && a.unlogged != notKnown { // whose session is of no more use
		err = l.beginning(ctx, s, d, &a)
	}
	if err == nil && a.unlogged != notKnown {
		err = s.newest(ctx, d, &a)
	}
	return a, d, err
}

// transactions that are open.
func (l *Server) transactions(ctx context.Context, s session, d *dialect, a *answers) error {
	switch out, err := l.open.Ask(ctx, s.Session, d.needs.process, d.open); {
	case err != nil && sql.Number(err) == 0:
		return err
	case err != nil:
		a.note(err)
	case len(out) == 1:
		a.open = out[0]
	}
	return nil
}

// beginningWithin bounds the question that may hang.
const beginningWithin = time.Second

// beginning is where the oldest log begins, by the newest answer. MariaDB gives it
// under a lock that a commit holds while the one before it waits for a replica's
// acknowledgement, and just after a switchover there is no replica yet that could
// give one: who asked then would know nothing of the server as long as that takes.
// It is the session's last question.
func (l *Server) beginning(ctx context.Context, s session, d *dialect, a *answers) error {
	if waiting, _ := a.counters.Number("rpl_semi_sync_master_wait_sessions"); len(d.oldest) > 0 && waiting == 0 {
		bounded, cancel := context.WithTimeout(ctx, beginningWithin)
		defer cancel()
		out, err := s.firstOf(bounded, d.needs.logs, d.oldest)
		switch {
		case err == nil:
			l.mu.Lock()
			defer l.mu.Unlock()
			l.oldest, a.oldest = out, out
			return nil
		case absent(err):
		case sql.Number(err) != 0:
			a.note(err)
		case bounded.Err() == nil && !errors.Is(err, sql.ErrHangs):
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.oldest = l.oldest
	return ctx.Err()
}

// note keeps what could not be learned, once.
func (a *answers) note(err error) {
	if !slices.Contains(a.missing, err.Error()) {
		a.missing = append(a.missing, err.Error())
	}
}

// answers asks for all of them. It fails only when the server does not answer.
func (s session) answers(ctx context.Context, d *dialect) (answers, error) {
	var a answers
	var err error
	if a.identity, err = s.One(ctx, "", d.identity); err != nil {
		return a, err
	}
	var switches, counters []sql.Row
	for _, q := range []struct {
		into    *[]sql.Row
		needs   string
		queries []string
	}{
		{&switches, "", []string{d.switches}},
		{&counters, "", []string{d.counters}},
		{&a.origin, d.needs.schema, []string{d.origin}},
		{&a.source, d.needs.source, d.source},
		{&a.replicas, d.needs.replicas, d.replicas},
		{&a.running, d.needs.process, []string{d.running}},
		{&a.locks, d.needs.schema, d.locks},
		{&a.clones, d.needs.schema, d.clones},
		{&a.members, d.needs.schema, d.members},
		{&a.grants, "", []string{`SHOW GRANTS`}},
	} {
		if len(q.queries) == 0 {
			continue
		}
		out, err := s.firstOf(ctx, q.needs, q.queries)
		switch {
		case err == nil:
			*q.into = out
		case absent(err):
		case sql.Number(err) == 0:
			return a, err
		default:
			a.note(err)
		}
	}
	a.switches, a.counters = sql.Pairs(switches), sql.Pairs(counters)
	return a, nil
}

// steady keeps the time of the start: it is computed from whole seconds, and no
// two starts are so near to each other.
func (l *Server) steady(s *replication.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch near := s.Started.Sub(l.started).Abs(); {
	case s.Started.IsZero():
	case near <= 2*time.Second:
		s.Started = l.started
	default:
		l.started = s.Started
	}
}

// missing in words.
func missing(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return engines.OneLine("cannot learn all that is needed: " + strings.Join(words, "; "))
}

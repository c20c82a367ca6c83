package mysql

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// Look returns what the local member says of itself.
func (e *Engine) Look(ctx context.Context, fresh bool) ([]byte, error) {
	s := e.newestLook()
	return engines.Tell(ctx, s, fresh || s.Looked.IsZero(), e.local)
}

// local looks at the local server now.
func (e *Engine) local(ctx context.Context) replication.State {
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	s, err := e.server.Look(bounded)
	if err != nil {
		s.Serving, s.Writes = false, replication.WritesUnknown
		s.Problem, _ = engines.Unanswered(ctx, err, e.options.Timeout)
	}
	if s.Looked.IsZero() {
		s.Looked = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.Node == "" {
		s.Node = e.newest.Node
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return s // the caller has gone, which says nothing about the server
	}
	if s.Source != nil && s.Source.Receiving && s.Source.Applying {
		e.ran = s.Started
	}
	if node, domain, ok := replication.DomainOf(s.Source, e.peers()); ok {
		e.domains.Learn(node, domain)
	}
	s.Domains, s.PodDomain = e.domains.Clone(), e.options.Domain
	e.history.Add(s, time.Now(), e.options.MaxLag)
	if s.Serving {
		s.Halted = e.halt(s)
	}
	if s.Writes == replication.Allowed {
		s.Predecessor = e.predecessor
	}
	e.newest = s
	s.Switch = e.openNote(s.Node)
	e.watch(s)
	return s
}

// halt returns since when the server has not replicated as a replica should. A restarted server
// starts again. Callers hold the lock.
func (e *Engine) halt(s replication.State) time.Time {
	if s.Writes == replication.Allowed && s.Source == nil || s.Group != nil || s.Source != nil && s.Source.Receiving && s.Source.Applying {
		e.halted.since = time.Time{}
	} else if e.halted.since.IsZero() || !e.halted.started.Equal(s.Started) {
		e.halted.since = s.Looked
	}
	e.halted.started = s.Started
	return e.halted.since
}

// watch notes that the server allows writes and that this agent is not about to stop them. What an
// earlier agent asked for may take effect until its time is over. Callers hold the lock.
func (e *Engine) watch(s replication.State) {
	now := time.Now()
	if e.watched.IsZero() {
		e.watched = now
	}
	if own := s.Switch != nil && s.Switch.From == s.Node; s.Writes == replication.Allowed && !own && now.Sub(e.watched) > e.options.Limits.StopWithin+2*e.options.Timeout {
		e.opened = true
	}
}

// serving looks at the local server, which has to answer everything.
func (e *Engine) serving(ctx context.Context) (replication.State, error) {
	s := e.local(ctx)
	return s, engines.Unserved(ctx, s.Serving, s.Node, s.Problem)
}

func (e *Engine) newestLook() replication.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.newest
	s.Switch = e.openNote(s.Node)
	return s
}

// Observe looks at the local server, and asks the other agents for their newest looks. They look
// again only before an alarm: the looks of two members are a moment apart, and a switchover fits
// between them.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return engines.ObserveAgain(
		func(fresh bool) (switchover.Input, error) { return e.gather(ctx, task{}, fresh) },
		func(v switchover.Input) engines.Observation { return topology.Observe(v.View) },
		func(_ switchover.Input, o engines.Observation) bool { return o.Health.Verdict != engines.VerdictRed },
	)
}

// Facts returns the facts of the flavor. MySQL 9 starts only on data of 8.4 and later, MariaDB on
// data of any version.
func (e *Engine) Facts() engines.Facts { return FactsOf(e.options.Flavor) }

// FactsOf a flavor. Empty means of MySQL.
func FactsOf(flavor replication.Flavor) engines.Facts {
	f := engines.Facts{Name: string(cmp.Or(flavor, replication.MySQL)), SettleSeconds: 5, Unlisted: true, OwnAgentOnly: true, Topologies: true}
	if flavor != replication.MariaDB {
		f.MaxMajorStep, f.MinSource = 1, map[int]string{9: "8.4.0"}
	}
	return f
}

func (e *Engine) past() topology.Checkpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.history.Old
}

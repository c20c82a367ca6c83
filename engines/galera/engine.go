// Package galera is the adapter for MariaDB Galera Cluster. It speaks SQL to the local server only;
// what the other members say of themselves their agents tell (engines.Peers). It changes nothing in
// any server.
package galera

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
	"github.com/rollcall-dev/rollcall/engines/sql"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Name of the engine.
const Name = "Galera"

// Options say how to reach the local server and the agents of the others. The zero value is a
// server on localhost:3306 without TLS and without a password.
type Options struct {
	web.Access
	// Peers reaches the agents of the other members. Nil means that there are none.
	Peers engines.Peers
	// LongWrites is how long a drain waits for open transactions with changes. 0 means 30 s.
	LongWrites time.Duration
}

func (o Options) withDefaults() Options {
	o.Access = sql.WithDefaults(o.Access)
	o.LongWrites = cmp.Or(o.LongWrites, 30*time.Second)
	return o
}

// Engine is the adapter.
type Engine struct {
	engines.Unchanging

	server  database
	options Options

	mu     sync.Mutex
	newest State
	// before is what was last known of members, listed when they were last in the component, and
	// draining when each claim was first tried.
	before   map[string]Past
	listed   map[string]Listed
	draining map[string]time.Time
}

var _ engines.Peered = (*Engine)(nil)

// New returns an adapter. It connects with the first request.
func New(o Options) (*Engine, error) {
	if o.LongWrites < 0 {
		return nil, errors.New("long writes: must be a positive value")
	}
	s, err := connect(o.Access)
	if err != nil {
		return nil, err
	}
	return newEngine(s, o), nil
}

func newEngine(s database, o Options) *Engine {
	e := &Engine{server: s, options: o.withDefaults(), before: map[string]Past{}, listed: map[string]Listed{}, draining: map[string]time.Time{}}
	e.Unchanging = engines.Unchanging{Engine: Name, Node: e.node}
	return e
}

// Close ends all sessions with the local server.
func (e *Engine) Close() error { return e.server.Close() }

// Facts returns the facts of Galera. A member that is silent is put out after 15 s
// (evs.inactive_timeout); MariaDB starts on data of any older version.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{Name: Name, SettleSeconds: 15, NamedByPod: true, OneAtATime: true}
}

// local looks at the local server now.
func (e *Engine) local(ctx context.Context) State {
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	s, err := e.server.Look(bounded)
	if err != nil {
		s.Serving = false
		s.Problem, _ = engines.Unanswered(ctx, err, e.options.Timeout)
	}
	if s.Looked.IsZero() {
		s.Looked = time.Now()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s.Node = cmp.Or(s.Node, e.newest.Node)
	if errors.Is(ctx.Err(), context.Canceled) {
		return s // the caller has gone, which says nothing about the server
	}
	e.newest = s
	return s
}

// Look returns what the local member says of itself.
func (e *Engine) Look(ctx context.Context, fresh bool) ([]byte, error) {
	e.mu.Lock()
	s := e.newest
	e.mu.Unlock()
	return engines.Tell(ctx, s, fresh || s.Looked.IsZero(), e.local)
}

// gather asks all members, and the local server last.
func (e *Engine) gather(ctx context.Context, fresh bool) (View, error) {
	v := View{Others: engines.OfEach(e.options.Peers, func(peer engines.Peer) Member { return e.ask(ctx, peer, fresh) })}
	sorted.By(v.Others, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Peer.Pod, b.Peer.Pod), cmp.Compare(a.Name(), b.Name()))
	})
	v.Self = Member{Peer: engines.Peer{Alive: true}, State: e.local(ctx), Known: true}
	if err := ctx.Err(); err != nil {
		return View{}, err
	}
	v.Now = time.Now()
	v.Before, v.Listed = e.remember(v)
	return v, nil
}

// ask returns what another member says of itself.
func (e *Engine) ask(ctx context.Context, peer engines.Peer, fresh bool) Member {
	if !peer.Alive {
		return Member{Peer: peer, Why: "its agent is unavailable"}
	}
	told, why := engines.Hear(ctx, e.options.Peers, peer, e.options.Timeout, fresh, func(s State) string {
		if peer.Node != "" && s.Node != "" && s.Node != peer.Node {
			return engines.CallsItself(s.Node)
		}
		return ""
	})
	return Member{Peer: peer, State: told, Known: why == "", Why: why}
}

// remember keeps what members say of themselves, and who is in the component, for the time when they
// are gone.
func (e *Engine) remember(v View) (map[string]Past, map[string]Listed) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range append([]Member{v.Self}, v.Others...) {
		if name := m.Name(); name != "" && m.Serves() && m.State.Primary && (len(e.before) < maxMembers || e.before[name] != Past{}) {
			e.before[name] = Past{Weight: m.State.Weight, Committed: m.State.Committed}
		}
	}
	maps.DeleteFunc(e.listed, func(_ string, l Listed) bool { return v.Now.Sub(l.At) > missedFor })
	if own := v.Self.State; v.Self.Serves() && own.Primary && own.Operational {
		for _, s := range own.Seen {
			if _, known := e.listed[s.Name]; known || len(e.listed) < maxMembers {
				e.listed[s.Name] = Listed{At: v.Now, Arbitrator: s.Address == ""}
			}
		}
	}
	return maps.Clone(e.before), maps.Clone(e.listed)
}

// Observe looks at the local server, and asks the other agents for their newest looks. They look
// again before it is said that the members do not agree or that something is red: the looks of two
// members are up to a second apart, and the view changes in between.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return engines.ObserveAgain(func(fresh bool) (View, error) { return e.gather(ctx, fresh) }, Observe, func(v View, o engines.Observation) bool {
		return !v.Self.Serves() || o.Health.Verdict == engines.VerdictGreen || o.Health.Verdict == engines.VerdictRecoverable
	})
}

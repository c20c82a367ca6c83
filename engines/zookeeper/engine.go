// Package zookeeper is the adapter for ZooKeeper ensembles. It asks the local server; what the other
// servers say of themselves their agents tell (engines.Peers), and of one without an agent its own
// client port. It changes nothing in any server.
package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Name of the engine.
const Name = "ZooKeeper"

const (
	usualPort      = 2181
	usualAdminPort = 8080
	// standaloneNode is the name of a server without an ensemble.
	standaloneNode = "standalone"
)

// Options say how to reach the local server and the agents of the others. The zero value is a
// server on localhost:2181 without TLS, with its admin server on port 8080.
type Options struct {
	web.Access
	// AdminPort is the port of the admin server, which is asked without TLS. 0 means 8080.
	AdminPort int
	// Pod is the name of the pod. A server that does not tell its number is found by it.
	Pod string
	// Peers reaches the agents of the other members. Nil means that there are none.
	Peers engines.Peers
}

func (o Options) withDefaults() Options {
	o.Access = o.Access.WithDefaults(usualPort, 1<<20)
	o.AdminPort = cmp.Or(o.AdminPort, usualAdminPort)
	return o
}

// Engine is the adapter.
type Engine struct {
	engines.Unchanging

	server  ensemble
	options Options
	turn    turn

	mu     sync.Mutex
	newest State
	served bool
}

var _ engines.Peered = (*Engine)(nil)

// New returns an adapter. It connects with the first request.
func New(o Options) (*Engine, error) {
	o = o.withDefaults()
	if err := o.Access.Validate(); err != nil {
		return nil, err
	}
	s, err := connect(o)
	if err != nil {
		return nil, err
	}
	return newEngine(s, o), nil
}

func newEngine(s ensemble, o Options) *Engine {
	e := &Engine{server: s, options: o.withDefaults()}
	e.Unchanging = engines.Unchanging{Engine: Name, Node: e.node}
	return e
}

// Close ends the session with the local server.
func (e *Engine) Close() error { return e.server.Close() }

// Facts returns the facts of ZooKeeper. A server that is silent is put out after syncLimit ticks,
// 10 s as charts set it. 3.4.6 is the oldest version from which 3.5 and later can be reached one by
// one.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{Name: Name, SettleSeconds: 10, MaxMajorStep: 1, OneAtATime: true, MinSource: map[int]string{3: "3.4.6"}}
}

// local looks at the local server now.
func (e *Engine) local(ctx context.Context) State {
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	s, err := e.server.Look(bounded)
	if err != nil {
		var late bool
		s.Serving = false
		if s.Problem, late = engines.Unanswered(ctx, err, e.options.Timeout); late && e.neverServed() && !e.options.TLS.Enabled {
			s.Problem += ": does its client port speak TLS (spec.connection.tls)?"
		}
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
	e.newest, e.served = s, e.served || s.Serving
	if s.Down {
		e.turn.left()
	}
	return s
}

// neverServed reports whether the server has not served since the adapter was made.
func (e *Engine) neverServed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.served
}

// Look returns what the local server says of itself.
func (e *Engine) Look(ctx context.Context, fresh bool) ([]byte, error) {
	e.mu.Lock()
	s := e.newest
	e.mu.Unlock()
	return engines.Tell(ctx, e.withTurn(s), fresh || s.Looked.IsZero(), func(ctx context.Context) State { return e.withTurn(e.local(ctx)) })
}

// withTurn adds how far the local member is with leaving, as late as possible.
func (e *Engine) withTurn(s State) State {
	s.Turn = e.turn.told()
	return s
}

// gather asks all members, and the local server last; then those of its configuration whose agents
// have told nothing.
func (e *Engine) gather(ctx context.Context, fresh bool) (View, error) {
	v := View{Others: engines.OfEach(e.options.Peers, func(peer engines.Peer) Member { return e.ask(ctx, peer, fresh) })}
	sorted.By(v.Others, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Peer.Pod, b.Peer.Pod), byID(a.Name(), b.Name()))
	})
	v.Self = Member{Peer: engines.Peer{Alive: true}, State: e.withTurn(e.local(ctx)), Known: true}
	v.Now = time.Now()
	v.Asked = e.askServers(ctx, v)
	v.Now = time.Now()
	return v, ctx.Err()
}

// ask returns what another member says of itself.
func (e *Engine) ask(ctx context.Context, peer engines.Peer, fresh bool) Member {
	if !peer.Alive {
		return Member{Peer: peer, Why: "its agent is unavailable"}
	}
	told, why := engines.Hear(ctx, e.options.Peers, peer, e.options.Timeout, fresh, func(s State) string {
		switch {
		case !s.sensible():
			return "what its agent tells makes no sense"
		case peer.Node != "" && s.Node != "" && s.Node != peer.Node:
			return engines.CallsItself(s.Node)
		}
		return ""
	})
	return Member{Peer: peer, State: told, Known: why == "", Why: why}
}

// askServers asks the servers of the local configuration whose agents have told nothing: those that
// have no agent yet, and those whose agent is not heard.
func (e *Engine) askServers(ctx context.Context, v View) map[string]Answer {
	silent := assess(v).silent()
	if len(silent) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, min(e.options.Timeout, longestAnswer))
	defer cancel()
	answers := make([]Answer, len(silent))
	var wg sync.WaitGroup
	for i, s := range silent {
		wg.Go(func() { answers[i] = e.server.Ask(bounded, s.Host, s.Client) })
	}
	wg.Wait()
	out := map[string]Answer{}
	for i, s := range silent {
		out[s.Node] = answers[i]
	}
	return out
}

// longestAnswer bounds how long other servers are waited for. One that needs longer is unknown.
const longestAnswer = 2 * time.Second

// Observe looks at the local server, and asks the other agents for their newest looks. They look
// again before it is said that the members do not agree or that something is missing: the looks of
// two members are up to a second apart, and much changes in between.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return engines.ObserveAgain(func(fresh bool) (View, error) { return e.gather(ctx, fresh) }, Observe, func(v View, o engines.Observation) bool {
		return !v.Self.Serves() || o.Health.Verdict == engines.VerdictGreen || o.Health.Verdict == engines.VerdictRecoverable
	})
}

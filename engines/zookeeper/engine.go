// Package zookeeper is the adapter for ZooKeeper ensembles. It asks the local server; what the other
// servers say of themselves their agents tell (engines.Peers), and of one without an agent its own
// client port. It changes nothing in any server.
package zookeeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	server  ensemble
	options Options

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
	return &Engine{server: s, options: o.withDefaults()}
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
		s.Serving, s.Problem = false, engines.OneLine(err.Error())
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			s.Problem = "the server has not answered within " + engines.Duration(e.options.Timeout)
			if e.neverServed() && !e.options.TLS.Enabled {
				s.Problem += ": does its client port speak TLS (spec.connection.tls)?"
			}
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
	if fresh || s.Looked.IsZero() {
		s = e.local(context.WithoutCancel(ctx)) // other callers need it too, and it has its own timeout
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return json.Marshal(s.Told(time.Now()))
}

var errNoSteps = errors.New("members of ZooKeeper ask each other for nothing")

// Step refuses: members do nothing for each other.
func (e *Engine) Step(context.Context, engines.Step) ([]byte, error) { return nil, errNoSteps }

// Repair does nothing.
func (e *Engine) Repair(ctx context.Context) (engines.Progress, error) {
	return engines.Progress{State: engines.ProgressDone}, ctx.Err()
}

// gather asks all members, and the local server last; then those of its configuration whose agents
// have told nothing.
func (e *Engine) gather(ctx context.Context, fresh bool) (View, error) {
	var list []engines.Peer
	if e.options.Peers != nil {
		list = e.options.Peers.List()
	}
	v := View{Others: make([]Member, len(list))}
	var wg sync.WaitGroup
	for i, peer := range list {
		v.Others[i] = Member{Peer: peer, Why: "its agent is unavailable"}
		if peer.Alive {
			wg.Go(func() { v.Others[i] = e.ask(ctx, peer, fresh) })
		}
	}
	wg.Wait()
	sorted.By(v.Others, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Peer.Pod, b.Peer.Pod), byID(a.Name(), b.Name()))
	})
	v.Self = Member{Peer: engines.Peer{Alive: true}, State: e.local(ctx), Known: true}
	v.Now = time.Now()
	v.Asked = e.askServers(ctx, v)
	v.Now = time.Now()
	return v, ctx.Err()
}

// ask returns what another member says of itself.
func (e *Engine) ask(ctx context.Context, peer engines.Peer, fresh bool) Member {
	m := Member{Peer: peer}
	asked := time.Now()
	err := engines.LookAt(ctx, e.options.Peers, peer, e.options.Timeout, fresh, &m.State)
	switch {
	case err != nil:
		return Member{Peer: peer, Why: engines.OneLine(err.Error())}
	case !m.State.sensible():
		return Member{Peer: peer, Why: "what its agent tells makes no sense"}
	case peer.Node != "" && m.State.Node != "" && m.State.Node != peer.Node:
		return Member{Peer: peer, Why: fmt.Sprintf("it calls itself %q", engines.OneLine(m.State.Node))}
	}
	m.Known, m.State = true, m.State.Heard(asked)
	return m
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
	v, err := e.gather(ctx, false)
	if err != nil {
		return engines.Observation{}, err
	}
	o := Observe(v)
	if !v.Self.Serves() || o.Health.Verdict == engines.VerdictGreen || o.Health.Verdict == engines.VerdictRecoverable {
		return o, nil
	}
	if v, err = e.gather(ctx, true); err != nil {
		return engines.Observation{}, err
	}
	return Observe(v), nil
}

package run

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// process is one coordinator, from its start to its end. Its name begins with c.
type process struct {
	w     *world
	name  string
	watch *api.Watch
	ctx   context.Context
	kill  context.CancelFunc
	dead  bool
	board board
	said  string // the last decision
	// finished is since when all is done by its own word. It is zero if it is not.
	finished time.Duration
}

// lead starts a coordinator that has been elected.
func (w *world) lead(behind int) *process {
	w.started++
	p := &process{w: w, name: fmt.Sprintf("c%d", w.started)}
	p.ctx, p.kill = context.WithCancel(context.Background())
	p.watch = w.server.Watch(w.lag, behind)
	p.board = board{p}
	client := w.server.Client(p.name, w)
	cache := coordinator.Cache(p.watch)
	if w.bug != nil {
		client.Careless = w.bug.client
		cache = lens{p.watch, w.bug.cache}
	}
	quiet := slog.New(slog.DiscardHandler)
	hold, err := agents.New(agents.Options{
		Connect: w.hub.Connect(p.name), Jitter: func(d time.Duration) time.Duration { return d }, Logger: quiet,
	})
	if err != nil {
		panic(err)
	}
	c, err := coordinator.New(coordinator.Options{
		Kubernetes: client.Kubernetes(), Clusters: client.Clusters(), Cache: cache, Agents: hold, Board: p.board, Guard: guarding{w},
		Reach: p.reach,
		NewID: p.newID, Logger: quiet,
	})
	if err != nil {
		panic(err)
	}
	w.loop.Log(p.name, "starts")
	w.processes = append(w.processes, p)
	w.leader = p
	go func() { _ = hold.Run(p.ctx) }()
	w.loop.In(time.Millisecond, func() {
		if !p.dead {
			go func() { _ = c.Lead(p.ctx, p) }()
		}
	})
	return p
}

// newID numbers claims. A process makes them one at a time.
func (p *process) newID() string {
	p.w.claims++
	return fmt.Sprintf("%s-%d", p.name, p.w.claims)
}

// crash ends a process. What it has sent is still on its way.
func (p *process) crash() {
	if p.dead {
		return
	}
	p.dead = true
	p.w.loop.Log(p.name, "crashes")
	p.watch.End()
	p.kill()
}

// oneLeader has elections work again: one process leads from now on.
func (w *world) oneLeader() {
	for _, p := range w.processes {
		if p != w.leader {
			p.crash()
		}
	}
	if w.leader.dead {
		w.lead(0)
	}
}

// Bound is the leader's term: requests end with it.
func (p *process) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 10*time.Second)
}

// board shows what a process decides to the oracle.
type board struct{ p *process }

func (b board) Lead()                       {}
func (b board) Follow(string)               {}
func (b board) Remove(coordinator.Key)      {}
func (b board) OnAsk(func(coordinator.Key)) {}

// passTakes is how long a pass takes; a pause follows it.
const passTakes = 40 * time.Millisecond

// guarding is what a process knows of the guard.
type guarding struct{ w *world }

func (g guarding) Subscribe(func(coordinator.Key))         {}
func (g guarding) Lead(ctx context.Context, _ guard.Bound) { <-ctx.Done() }
func (g guarding) State(coordinator.Key) guard.State {
	return guard.State{Enforcing: g.w.scenario.Guarded}
}
func (g guarding) Arm(context.Context, guard.Bound, coordinator.Key) error { return nil }

func (b board) Publish(d status.Decision) {
	// A pass takes its time; what comes meanwhile is seen by the next one together.
	select {
	case <-time.After(passTakes):
	case <-b.p.ctx.Done():
	}
	w := b.p.w
	if w.bug != nil && w.bug.decision != nil {
		w.bug.decision(w, &d)
	}
	w.loop.Ask("board "+b.p.name, func() {
		w.oracle.Epoch(b.p.name, d.Snapshot.Cluster.Status.Epoch)
		w.oracle.Decided(d)
		b.p.say(d)
		if w.observer != nil {
			w.observer.Decided(w.loop.Now(), b.p.name, d)
		}
	})
}

var _ coordinator.Board = board{}
var _ coordinator.Cache = (*api.Watch)(nil)

package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
)

// simAgent is an agent: it carries out the coordinator's order, repairs when it has
// none, and takes the steps that others ask for, one at a time.
type simAgent struct {
	w      *simWorld
	name   string
	server *simServer
	engine *Engine
	alive  bool
	life   int
	since  time.Time
	busy   bool
	// order in hand; undoing: it is being restored.
	order   engines.Order
	undo    []byte
	job     bool
	undoing bool
	cancel  context.CancelFunc // of what is being done
	leaving bool
}

// begin starts an agent that knows nothing.
func (a *simAgent) begin() {
	a.alive, a.since, a.busy, a.cancel = true, time.Now(), false, func() {}
	a.life++
	options := Options{Peers: simPeers{a, a.life}, Limits: switchover.Limits{Quiet: 2 * time.Second}}
	a.w.stays.configure(&options, a.name)
	if a.w.dns {
		options.Domain = ".db.ns.svc"
	}
	a.engine = newEngine(simConn{a, a.life}, options)
	a.engine.each = func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	}
}

func (a *simAgent) end() {
	a.alive, a.busy = false, false
	a.life++
	a.w.note("%s: agent ends", a.name)
}

// turn does one thing, as long as the agent lives.
func (a *simAgent) turn() {
	if !a.alive || a.busy {
		return
	}
	life := a.life
	a.busy = true
	defer func() {
		if a.life == life {
			a.busy = false
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a.cancel = cancel
	var p engines.Progress
	var err error
	switch {
	case a.job && a.undoing:
		p, err = a.engine.Restore(ctx, a.undo)
		if err == nil && p.State == engines.ProgressDone && a.life == life {
			a.job = false
			a.w.restored = a.w.boundaries
		}
	case a.job:
		p, err = a.engine.Drain(ctx, a.order, a.undo)
	default:
		p, err = a.engine.Repair(ctx)
	}
	a.w.note("%s: turn (job %v, undoing %v): %s %s %v", a.name, a.job, a.undoing, p.State, p.Detail, err)
	if a.life == life && a.job && !a.undoing && err == nil && p.State != engines.ProgressRunning {
		a.w.handedOver(a)
	}
}

// simPeers is how an agent reaches the others.
type simPeers struct {
	agent *simAgent
	life  int
}

func (p simPeers) List() []engines.Peer {
	var out []engines.Peer
	for _, a := range p.agent.w.agents {
		if a != p.agent {
			out = append(out, engines.Peer{Pod: a.name, Node: a.name, Alive: a.alive, Since: a.since, Leaving: a.leaving})
		}
	}
	return out
}

func (p simPeers) target(node string) (*simAgent, error) {
	i := slices.IndexFunc(p.agent.w.agents, func(a *simAgent) bool { return a.name == node })
	switch a := p.agent; {
	case a.life != p.life || !a.alive:
		return nil, errDead
	case i < 0:
		return nil, fmt.Errorf("nobody is called %s", node)
	case !a.w.agents[i].alive:
		return nil, errDown
	}
	return p.agent.w.agents[i], nil
}

func (p simPeers) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	p.agent.w.boundary()
	a, err := p.target(node)
	if err != nil {
		return nil, err
	}
	data, err := a.engine.Look(ctx, fresh)
	if p.agent.life != p.life {
		return nil, errDead
	}
	return data, err
}

func (p simPeers) Step(ctx context.Context, node string, step engines.Step) ([]byte, error) {
	w := p.agent.w
	w.delivered = nil
	w.boundary()
	fate := w.delivered
	w.delivered = nil
	a, err := p.target(node)
	if err != nil {
		return nil, err
	}
	w.note("%s asks %s: %s", p.agent.name, node, step.Name)
	if step.Name == stepPromote && w.promoted == 0 {
		w.promoted = w.boundaries
	}
	if fate != nil && fate.kind.late > 0 {
		w.after(fate.kind.late, w.arrival(a, step))
		return nil, errLost
	}
	if fate != nil && fate.kind.lost {
		return nil, errLost
	}
	data, err := a.take(ctx, step)
	w.note("%s answers %s: %s %v", node, step.Name, data, err)
	w.boundary()
	switch {
	case p.agent.life != p.life:
		return nil, errDead
	case w.delivered != nil && (w.delivered.kind.lost || w.delivered.kind.late > 0):
		w.delivered = nil
		return nil, errLost
	}
	return data, err
}

// arrival returns a function that delivers a late step. The step waits while the agent does
// something else.
func (w *simWorld) arrival(a *simAgent, step engines.Step) func() {
	life := a.life
	var arrive func()
	arrive = func() {
		switch {
		case a.life != life:
		case a.busy:
			w.after(20*time.Millisecond, arrive)
		default:
			data, err := a.take(context.Background(), step)
			w.note("%s arrives late at %s: %s %v", step.Name, a.name, data, err)
		}
	}
	return arrive
}

// take a step, if nothing else is being done.
func (a *simAgent) take(ctx context.Context, step engines.Step) ([]byte, error) {
	if a.busy {
		return nil, errBusy
	}
	life := a.life
	a.busy = true
	defer func() {
		if a.life == life {
			a.busy = false
		}
	}()
	data, err := a.engine.Step(ctx, step)
	if a.life != life {
		return nil, cmp.Or(err, errDead)
	}
	return data, err
}

package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Wire connects members of one database in one process as their agents do over the network, with
// one writer at a time on each, bounded times and sizes, and no step after its time. It works in
// virtual time too.
//
// Invariant: an error of Step does not say whether the step was taken, as with agents.
type Wire struct {
	mu      sync.Mutex
	members map[string]*end
	links   map[[2]string]Link
	delays  map[string]time.Duration
	watch   func(from, to string, step engines.Step) Link
	late    sync.WaitGroup
}

const (
	// WireTimeout bounds a call, as the agent's does.
	WireTimeout = 10 * time.Second
	// WireBusy is how long a step waits for another writer, as with the agent.
	WireBusy = 2 * time.Second
)

var errBusy = errors.New("the member does something else at the moment")

// Link is how well one member reaches another.
type Link uint8

// The states of a link.
const (
	Whole Link = iota
	// Cut refuses at once, as a host without the agent does.
	Cut
	// Silent loses what is asked, so nobody answers.
	Silent
	// Deaf delivers what is asked, which is done, but loses the answer.
	Deaf
)

// end is one member on the wire.
type end struct {
	engine  engines.Peered // nil means it has no agent now
	busy    chan struct{}  // one writer
	since   time.Time
	leaving bool
}

// NewWire returns a wire without members.
func NewWire() *Wire {
	return &Wire{members: map[string]*end{}, links: map[[2]string]Link{}, delays: map[string]time.Duration{}}
}

// Connect puts members on the wire, by node. An engine replaces the one that was there. Nil means
// that the member's agent is gone; the member is still listed.
func (w *Wire) Connect(members map[string]engines.Peered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for node, engine := range members {
		e := w.members[node]
		if e == nil {
			e = &end{busy: make(chan struct{}, 1)}
			w.members[node] = e
		}
		e.engine, e.since = engine, time.Now()
	}
}

// Link sets how from reaches to; an empty name stands for all members.
func (w *Wire) Link(from, to string, link Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links[[2]string{from, to}] = link
}

// Delay delays everything that is sent to the node, also if the caller no longer waits for the
// answer.
func (w *Wire) Delay(to string, by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delays[to] = by
}

// Leaving says that the node's pod is being stopped.
func (w *Wire) Leaving(node string, leaving bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members[node].leaving = leaving
}

// Watch calls f for each step before it is sent. What f returns is the link for this step, unless
// it is Whole.
func (w *Wire) Watch(f func(from, to string, step engines.Step) Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch = f
}

// Wait returns when everything that was sent has arrived and is done.
func (w *Wire) Wait() { w.late.Wait() }

// Alone calls f while nothing else writes on the node. Tests call PlanDrain, Drain, Restore and
// Repair in it, as the agent does.
func (w *Wire) Alone(node string, f func()) {
	busy := w.busy(node)
	busy <- struct{}{}
	defer func() { <-busy }()
	f()
}

func (w *Wire) busy(node string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.members[node] == nil {
		w.members[node] = &end{busy: make(chan struct{}, 1)}
	}
	return w.members[node].busy
}

// From returns the peers of the member on the node. It may be called before the members are
// connected.
func (w *Wire) From(node string) engines.Peers { return wired{w, node} }

type wired struct {
	wire *Wire
	from string
}

// List implements engines.Peers. Pods have the names of their nodes.
func (p wired) List() []engines.Peer {
	p.wire.mu.Lock()
	defer p.wire.mu.Unlock()
	var peers []engines.Peer
	for _, node := range slices.Sorted(maps.Keys(p.wire.members)) {
		if node == p.from {
			continue
		}
		e := p.wire.members[node]
		link := p.wire.link(p.from, node)
		peers = append(peers, engines.Peer{
			Pod: node, Node: node, Since: e.since, Leaving: e.leaving,
			Alive: e.engine != nil && link != Cut && link != Silent,
		})
	}
	return peers
}

// Look implements engines.Peers.
func (p wired) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	return p.wire.call(ctx, p.from, node, Whole, func(ctx context.Context, e *end) ([]byte, error) {
		return e.engine.Look(ctx, fresh)
	})
}

// Step implements engines.Peers.
func (p wired) Step(ctx context.Context, node string, step engines.Step) ([]byte, error) {
	if len(step.Body) > engines.MaxStep {
		return nil, fmt.Errorf("step %s has %d bytes; at most %d are allowed", step.Name, len(step.Body), engines.MaxStep)
	}
	step.Body = slices.Clone(step.Body)
	p.wire.mu.Lock()
	watch, link := p.wire.watch, Whole
	p.wire.mu.Unlock()
	if watch != nil {
		link = watch(p.from, node, step)
	}
	return p.wire.call(ctx, p.from, node, link, func(ctx context.Context, e *end) ([]byte, error) {
		select {
		case e.busy <- struct{}{}:
		case <-time.After(WireBusy):
			return nil, errBusy
		}
		defer func() { <-e.busy }()
		if err := engines.InTime(step.NotAfter); err != nil {
			return nil, err
		}
		return e.engine.Step(ctx, step)
	})
}

// link returns the worst link that was set for the two. Callers hold the lock.
func (w *Wire) link(from, to string) Link {
	for _, pair := range [][2]string{{from, to}, {from, ""}, {"", to}, {"", ""}} {
		if link := w.links[pair]; link != Whole {
			return link
		}
	}
	return Whole
}

// call runs the request on the node. What has been sent arrives, whether or not the caller waits.
func (w *Wire) call(ctx context.Context, from, to string, link Link, f func(context.Context, *end) ([]byte, error)) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, WireTimeout)
	defer cancel()
	w.mu.Lock()
	if link == Whole {
		link = w.link(from, to)
	}
	known, delay := w.members[to] != nil, w.delays[to]
	w.mu.Unlock()
	switch {
	case !known:
		return nil, fmt.Errorf("no member is called %q", to)
	case link == Cut:
		return nil, fmt.Errorf("%s does not reach %s", from, to)
	case link == Silent:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	type answer struct {
		body []byte
		err  error
	}
	answered := make(chan answer, 1)
	w.late.Go(func() {
		there, end := context.WithTimeout(context.WithoutCancel(ctx), delay+WireTimeout)
		defer end()
		time.Sleep(delay)
		w.mu.Lock()
		e := *w.members[to]
		w.mu.Unlock()
		if e.engine == nil {
			answered <- answer{err: fmt.Errorf("%s has no agent", to)}
			return
		}
		body, err := f(there, &e)
		if len(body) > engines.MaxStep {
			body, err = nil, fmt.Errorf("%s answered %d bytes; at most %d are allowed", to, len(body), engines.MaxStep)
		}
		answered <- answer{body, err}
	})
	select {
	case a := <-answered:
		if link == Deaf {
			return nil, fmt.Errorf("%s did not hear the answer of %s", from, to)
		}
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

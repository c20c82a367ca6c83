package zookeeper

import (
	"context"

	"github.com/rollcall-dev/rollcall/engines"
)

// node returns the name of the local member, if its server says all that is needed.
func (e *Engine) node(ctx context.Context) (string, error) {
	s := e.local(ctx)
	return s.Node, engines.Unserved(ctx, s.Serving, s.Node, s.Problem)
}

// Drain waits until the member can leave. ZooKeeper has no means to hand leadership over: the others
// elect when the leader stops.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undo []byte) (engines.Progress, error) {
	node, err := e.Planned(ctx, order, undo)
	if err != nil {
		return engines.Progress{}, err
	}
	d := departure{node: node, forGood: order.Kind == engines.Evacuate}
	own := node == e.name()
	if own {
		d.granted = e.turn.begin(order.Claim)
	}
	v, err := e.gather(ctx, true)
	if err == nil {
		d.assessment = assess(v)
	}
	return e.decided(own, d, err)
}

// decided says whether the member may leave, and notes it for the agents of the others.
func (e *Engine) decided(own bool, d departure, err error) (p engines.Progress, _ error) {
	if err == nil {
		p = d.decide()
	}
	if own {
		e.turn.end(p.State == engines.ProgressDone || err != nil && d.granted)
	}
	return p, err
}

// Restore has nothing to undo in the database. Others need no longer wait for the member.
func (e *Engine) Restore(ctx context.Context, undo []byte) (engines.Progress, error) {
	e.turn.stay(engines.ClaimOf(undo))
	return e.Unchanging.Restore(ctx, undo)
}

// name returns the newest known name of the local member.
func (e *Engine) name() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.newest.Node
}

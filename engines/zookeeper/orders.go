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
	v, err := e.gather(ctx, true)
	if err != nil {
		return engines.Progress{}, err
	}
	return departure{assessment: assess(v), node: node, forGood: order.Kind == engines.Evacuate}.decide(), nil
}

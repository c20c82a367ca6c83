// Package solr adapts Apache Solr (SolrCloud, 8.11 and later) to the engines
// contract. It speaks HTTP and JSON with the local node only.
package solr

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
)

// Engine is the adapter. Safe for concurrent use.
type Engine struct {
	options  Options
	api      *api
	observer *observer

	mu        sync.Mutex
	committed string          // the claim for which a commit was made
	balanced  map[string]bool // claims whose balance has ended
}

var _ engines.Engine = (*Engine)(nil)

// New makes an engine; it connects to nothing yet.
func New(options Options) (*Engine, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("solr options: %w", err)
	}
	client, err := newClient(options)
	if err != nil {
		return nil, fmt.Errorf("solr options: %w", err)
	}
	a := &api{client: client, read: options.Timeout, change: options.WriteTimeout}
	return &Engine{options: options, api: a, observer: newObserver(a), balanced: map[string]bool{}}, nil
}

// Facts of Solr.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{
		Name: "Solr",
		// The session timeout of ZooKeeper clients in Solr's default settings: a
		// node that died without a word stays in live_nodes so long.
		SettleSeconds:        30,
		MaxMajorStep:         1,
		NodeDowngradeRefused: "9.10.0",
	}
}

// Observe reads the cluster as the local node sees it.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return e.observer.observe(ctx)
}

// Plan answers which claim and node to undo; what exactly is kept in the database
// itself (see mark), so it fits MaxUndo for any number of shards.
func (e *Engine) Plan(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := checkOrder(order); err != nil {
		return nil, err
	}
	self, err := e.api.identity(ctx)
	if err != nil {
		return nil, err
	}
	return undo{Version: undoVersion, Kind: order.Kind.String(), Claim: order.Claim, Node: subject(order, self.node)}.encode()
}

// Apply does one round of the order's work, for Handoff some 3 s.
func (e *Engine) Apply(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	if err := checkOrder(order); err != nil {
		return engines.Progress{}, err
	}
	planned, err := decodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	self, err := e.api.identity(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	node := subject(order, self.node)
	if err := planned.matches(order, node); err != nil {
		return engines.Progress{}, err
	}
	if order.Kind == engines.Evacuate {
		return e.evacuate(ctx, order, node)
	}
	return e.handoff(ctx, order, node)
}

// subject is the node that the order is about: leaders of any node can be moved
// by asking any other.
func subject(order engines.Order, local string) string {
	return cmp.Or(order.Node, local)
}

func checkOrder(order engines.Order) error {
	if order.Kind != engines.Handoff && order.Kind != engines.Evacuate {
		return fmt.Errorf("%w: kind %s: want Handoff or Evacuate", ErrOrder, order.Kind)
	}
	if order.Node != "" && order.Kind != engines.Handoff {
		return fmt.Errorf("%w: node %s: another node can only be handed over, not emptied", ErrOrder, oneLine(order.Node))
	}
	return checkClaim(order.Claim)
}

// Close releases the connections; calls that follow fail with ErrClosed.
func (e *Engine) Close() error {
	e.api.client.close()
	return nil
}

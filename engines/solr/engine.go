// Package solr adapts Apache Solr (SolrCloud, 8.11 and later) to the engines
// contract. It speaks HTTP and JSON with the local node only.
package solr

import (
	"context"
	"fmt"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
)

// Engine is the adapter. It is safe for concurrent use.
type Engine struct {
	options  Options
	api      *api
	observer *observer

	committed engines.Once

	mu       sync.Mutex
	balanced map[string]bool // claims whose balance has ended
}

var _ engines.Engine = (*Engine)(nil)

// New returns an engine. It does not connect yet.
func New(options Options) (*Engine, error) {
	options = options.withDefaults()
	client, err := options.client()
	if err != nil {
		return nil, fmt.Errorf("solr options: %w", err)
	}
	a := &api{client: client, read: options.Timeout, change: options.WriteTimeout}
	return &Engine{options: options, api: a, observer: newObserver(a), balanced: map[string]bool{}}, nil
}

// Facts returns the facts of Solr.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{
		Name: "Solr",
		// The session timeout of ZooKeeper clients in Solr's default settings: a
		// node that died without a word stays in live_nodes so long.
		SettleSeconds:        30,
		MaxMajorStep:         1,
		OldestLeads:          true, // an older Lucene does not read the segments of a newer one
		NodeDowngradeRefused: "9.10.0",
	}
}

// Observe reads the cluster as the local node sees it.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return e.observer.observe(ctx)
}

// PlanDrain returns which claim and node to undo. The details are in the database itself (see
// mark), so the undo fits MaxUndo for any number of shards.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	self, err := e.api.identity(ctx)
	if err != nil {
		return nil, err
	}
	return order.UndoOn(order.Subject(self.node)).Encode()
}

// Drain does one round of the order's work, for Handoff some 3 s.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	node, err := order.Planned(undoBytes, func() (string, error) {
		self, err := e.api.identity(ctx)
		return self.node, err
	})
	if err != nil {
		return engines.Progress{}, err
	}
	if order.Kind == engines.Evacuate {
		return e.evacuate(ctx, order, node)
	}
	return e.handoff(ctx, order, node)
}

// Close releases the connections. Later calls fail with web.ErrClosed.
func (e *Engine) Close() error {
	e.api.client.Close()
	return nil
}

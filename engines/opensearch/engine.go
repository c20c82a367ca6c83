// Package opensearch adapts OpenSearch (1.x to 3.x) to the engines contract. It
// speaks HTTP and JSON with the local node only.
package opensearch

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// Engine is the adapter. It is safe for concurrent use.
type Engine struct {
	api      *api
	observer *observer

	flushed engines.Once

	mu    sync.Mutex
	moved []string // archived settings that were moved aside and not yet reported
}

var _ engines.SettingChanger = (*Engine)(nil)

// New returns an engine. It does not connect yet.
func New(options Options) (*Engine, error) {
	options = withDefaults(options)
	client, err := web.New(web.Options{Access: options.Access, Server: "opensearch", Connections: 4, Advise: true, Words: errorText})
	if err != nil {
		return nil, fmt.Errorf("opensearch options: %w", err)
	}
	a := &api{client: client, read: options.Timeout, changeTime: options.WriteTimeout}
	return &Engine{api: a, observer: newObserver(a)}, nil
}

// Facts returns the facts of OpenSearch.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{
		Name: "OpenSearch",
		// Three checks of 10 s each, by default, until a node that went without a word
		// is taken out of the cluster; one that is stopped says so.
		SettleSeconds: 30,
		MaxMajorStep:  1,
		OneAtATime:    true, // as its manual and its users expect
		MinSource:     map[int]string{3: "2.19.0"},
		// A node never starts on data that a newer one has written.
		NodeDowngradeRefused: "1.0.0",
	}
}

// Observe reads the cluster as the elected manager told it to the local node.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	return e.observer.observe(ctx)
}

// PlanDrain returns which claim and node to undo. The details are in the database itself (see
// mark).
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := order.Check(); err != nil {
		return nil, err
	}
	self, err := e.api.identity(ctx)
	if err != nil {
		return nil, err
	}
	// An agent that could not undo it must not begin.
	if _, err := e.api.settings(ctx); err != nil {
		return nil, err
	}
	return order.UndoOn(order.Subject(self.name)).Encode()
}

// Drain does one round of the order's work.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	node, err := order.Planned(undoBytes, func() (string, error) {
		self, err := e.api.identity(ctx)
		return self.name, err
	})
	if err != nil {
		return engines.Progress{}, err
	}
	r, err := e.api.reading(ctx, nil, nil)
	if err != nil {
		return engines.Progress{}, err
	}
	if _, one := r.state.byName(node); !one {
		return engines.Progress{State: engines.ProgressRefused, Detail: fmt.Sprintf("not exactly one node of this cluster is called %q", engines.OneLine(node))}, nil
	}
	if strings.ContainsAny(node, ",*") {
		return engines.Progress{State: engines.ProgressRefused, Detail: fmt.Sprintf("the name %q means others too in lists of nodes", engines.OneLine(node))}, nil
	}
	progress, err := e.round(ctx, order, node, r)
	if refused(err) {
		progress, err = engines.Progress{State: engines.ProgressRunning, Detail: "trying again: " + err.Error()}, nil
	}
	return e.tellMoved(progress), err
}

func (e *Engine) round(ctx context.Context, order engines.Order, node string, r *reading) (engines.Progress, error) {
	if order.Kind == engines.Evacuate {
		return e.evacuate(ctx, order, node, r)
	}
	return e.handoff(ctx, order, node, r)
}

// Close releases the connections. Later calls fail with web.ErrClosed.
func (e *Engine) Close() error {
	e.api.client.Close()
	return nil
}

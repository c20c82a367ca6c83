package opensearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// readings are the answers from which an Observation is made. An error means that something could
// not be learned.
type readings struct {
	self      identity
	err       error
	managed   bool // the node follows an elected manager
	lonely    bool // and has followed none for longer than an election takes
	cluster   *reading
	health    health
	dataBytes int64
}

// observation is pure: readings in, facts out, and Unknown for the rest.
func observation(r readings) engines.Observation {
	o := engines.Observation{Node: r.self.name, Version: r.self.version, DataBytes: r.dataBytes}
	switch {
	case errors.Is(r.err, syscall.ECONNREFUSED): // no process, whatever was known before
		return engines.Observation{Member: engines.MembershipNotLive, Health: engines.Health{Reason: r.err.Error()}}
	case r.err != nil:
		o.Health.Reason = r.err.Error()
		return o
	case !r.managed && !r.lonely:
		o.Health.Reason = "the node follows no elected cluster manager, and one may be elected right now"
		return o
	case !r.managed:
		o.Member, o.Health.Reason = engines.MembershipNotLive, "the node follows no elected cluster manager"
		return o
	}
	c := r.cluster
	o.Groups, o.Nodes, o.Health = c.groups(), c.nodes(), c.verdict(r.health)
	if len(c.state.shards) == 0 && r.health.copies > 0 {
		o.Groups, o.Health = nil, engines.Health{Reason: fmt.Sprintf("opensearch counts %d copies and lists none", r.health.copies)}
		return o
	}
	o.Roles, o.Rank = r.self.rolesInWords(), r.self.rank()
	if r.self.id == c.state.elected {
		o.Roles, o.Last = append(o.Roles, roleElected), true
	}
	node, there := c.state.nodes[r.self.id]
	switch id, one := c.state.byName(r.self.name); {
	case !there || node.name != r.self.name:
		o.Member = engines.MembershipNotLive
	case !one || id != r.self.id:
		o.Member, o.Veto = engines.MembershipLive, fmt.Sprintf("several nodes are called %s", engines.OneLine(r.self.name))
	default:
		o.Member = engines.MembershipLive
	}
	for id, n := range c.state.nodes {
		if _, known := c.facts[id]; !known && o.Veto == "" {
			o.Veto = fmt.Sprintf("node %s does not tell its roles and version", engines.OneLine(n.name))
		}
	}
	if c.state.snapshot != "" {
		o.Busy = "a snapshot is being taken: " + c.state.snapshot
	}
	o.Settled = o.Member == engines.MembershipLive && c.caughtUp(r.self.id, r.health)
	return o
}

// rolesInWords returns the roles in the words of the newer versions: version 1 calls its managers
// masters.
func (f nodeFacts) rolesInWords() []string {
	out := make([]string, 0, len(f.roles)+1)
	for _, role := range f.roles {
		if role == "master" {
			role = roleManager
		}
		out = append(out, role)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// caughtUp reports whether every copy on the node serves, and every copy that it left with is back:
// for a moment after a node has joined it has none of them yet. Replicas that OpenSearch could
// place and does not are a matter of the verdict.
func (r *reading) caughtUp(id string, h health) bool {
	takers, later := r.takers(), r.settings.throttled() || h.fetching > 0
	for _, s := range r.state.shards {
		for _, c := range s.copies {
			switch {
			case c.node == id && !c.serves():
				return false
			case c.state == unassigned && c.left == id && (c.primary || c.delayed || later) && !r.surplus(s, c, takers):
				return false
			}
		}
	}
	return true
}

// observer reads, and keeps what need not be read again.
type observer struct {
	api *api

	turn chan struct{} // one observation at a time: they share what follows

	self engines.Cached[identity]
	data engines.Cached[int64]

	cluster   *reading
	processes map[string]string // node id to process, when facts were read

	alone withoutManager
}

const (
	keepIdentity = 30 * time.Second // it changes with the process only
	keepData     = time.Minute
)

func newObserver(a *api) *observer {
	return &observer{api: a, turn: make(chan struct{}, 1)}
}

func (b *observer) observe(ctx context.Context) (engines.Observation, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return engines.Observation{}, ctx.Err()
	}
	r := b.readings(ctx)
	if ctx.Err() != nil {
		return engines.Observation{}, ctx.Err()
	}
	if r.err != nil || !r.managed {
		b.self = engines.Cached[identity]{} // perhaps another process answers now
		b.cluster = nil
	}
	r.lonely = b.alone.look(time.Now(), r.err == nil && !r.managed)
	return observation(r), nil
}

func (b *observer) readings(ctx context.Context) (r readings) {
	var side sync.WaitGroup
	side.Go(func() {
		r.dataBytes = b.data.GetOrZero(keepData, func() (int64, error) { return b.api.dataBytes(ctx) })
	})
	defer side.Wait()
	if r.self, r.err = b.self.Get(keepIdentity, func() (identity, error) { return b.api.identity(ctx) }); r.err != nil {
		return r
	}
	// The node itself comes first: without an elected manager all other calls wait for one.
	local, err := b.api.head(ctx, true)
	if err != nil {
		r.err = err
		return r
	}
	if r.managed = local.elected() != ""; !r.managed {
		return r
	}
	if r.health, r.err = b.api.health(ctx); r.err != nil {
		return r
	}
	r.cluster, r.err = b.read(ctx)
	return r
}

// read asks for the whole state only if it has changed.
func (b *observer) read(ctx context.Context) (*reading, error) {
	now, err := b.api.head(ctx, false)
	if err != nil {
		return nil, err
	}
	if b.cluster != nil && b.cluster.state.id == now.ID && b.cluster.complete() {
		return b.cluster, b.api.explainLater(ctx, b.cluster)
	}
	known := map[string]nodeFacts(nil)
	if b.cluster != nil {
		known = b.cluster.facts
	}
	b.cluster = nil
	next, err := b.api.reading(ctx, known, b.processes)
	if err != nil {
		return nil, err
	}
	if err := b.api.explain(ctx, next); err != nil {
		return nil, err
	}
	b.cluster, b.processes = next, next.processes()
	return next, nil
}

// reading reads all that decisions need. Facts of processes that were there
// before are not asked for again: the call goes to every node.
func (a *api) reading(ctx context.Context, known map[string]nodeFacts, processes map[string]string) (*reading, error) {
	r := &reading{}
	var err error
	// Settings and votes first: they are small, and what they were when the large
	// answer was made is at most a moment older.
	if r.settings, err = a.settings(ctx); err != nil {
		return nil, err
	}
	if r.voting, err = a.voting(ctx); err != nil {
		return nil, err
	}
	if r.state, err = a.state(ctx); err != nil {
		return nil, err
	}
	if known != nil && maps.Equal(processes, r.processes()) {
		if r.facts = known; r.complete() {
			return r, nil
		}
	}
	r.facts, err = a.nodeFacts(ctx, pathNodes)
	return r, err
}

// processes tells one life of a node from the next.
func (r *reading) processes() map[string]string {
	out := make(map[string]string, len(r.state.nodes))
	for id, n := range r.state.nodes {
		out[id] = n.process
	}
	return out
}

// complete reports whether every node has reported its facts.
func (r *reading) complete() bool {
	for id := range r.state.nodes {
		if _, ok := r.facts[id]; !ok {
			return false
		}
	}
	return true
}

package opensearch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// evacuate gives away the node's votes and then excludes copies from the node until none is there.
// It is Done only if no shard names the node as source or target of a copy, the exclusion is in
// force, and the node itself has no shard open.
func (e *Engine) evacuate(ctx context.Context, order engines.Order, node string, r *reading) (engines.Progress, error) {
	progress, err := e.handVotes(ctx, order, node, r)
	if err != nil || progress.State != engines.ProgressDone {
		return progress, err
	}
	id, _ := r.state.byName(node)
	left := r.state.hosted(id)
	if stuck, err := e.keptFrom(ctx, r, id); err != nil {
		return engines.Progress{}, err
	} else if len(stuck) > 0 {
		return engines.Progress{State: engines.ProgressRefused, Detail: "no other node could take a copy of " + engines.Some(stuck)}, nil
	}
	running := func(detail string) engines.Progress {
		return engines.Progress{State: engines.ProgressRunning, Detail: detail, Total: left}
	}
	if nowhere := r.unserved(id); len(nowhere) > 0 {
		return running("what is to be kept may be on the disk of this node alone; no copy serves of " + engines.Some(nowhere)), nil
	}
	if !slices.Contains(r.settings.excluded(), node) || r.settings.othersOnly(order.Claim, node) {
		if err := e.exclude(ctx, order, node, r.settings); err != nil {
			return engines.Progress{}, fmt.Errorf("keep copies away from %s: %w", node, err)
		}
		return running(fmt.Sprintf("%d copies are to be moved", left)), nil
	}
	if left > 0 {
		detail := fmt.Sprintf("%d copies are still on the node", left)
		if r.settings.throttled() {
			detail += ", and allocation is held back: " + settingAllocation + " is " + engines.OneLine(r.settings.effective(settingAllocation))
		}
		return running(detail), nil
	}
	open, err := e.api.ownShards(ctx, id)
	if err != nil {
		return engines.Progress{}, err
	}
	if open > 0 {
		return running(fmt.Sprintf("the node itself still has %d copies open", open)), nil
	}
	return engines.Progress{State: engines.ProgressDone, Detail: progress.Detail}, nil
}

// unserved returns shards without a serving copy whose data may be on the node's disk: which node
// has them is known only when they are allocated again. The exclusion waits for that too, as it
// could prevent it.
func (r *reading) unserved(id string) []string {
	if f, known := r.facts[id]; known && !f.holdsData() {
		return nil
	}
	var out []string
	for _, s := range r.state.shards {
		p, there := s.primary()
		fresh := there && p.state == unassigned && p.why == "INDEX_CREATED" // no node ever had it
		if !fresh && !slices.ContainsFunc(s.copies, shardCopy.serves) {
			out = append(out, s.String())
		}
	}
	return out
}

// keptFrom returns shards whose copies on the node have nowhere to go. Indices that expand to all
// nodes do not count: OpenSearch wants one copy fewer as soon as the node is excluded.
func (e *Engine) keptFrom(ctx context.Context, r *reading, id string) ([]string, error) {
	stuck := r.homeless(id)
	if len(stuck) == 0 {
		return nil, nil
	}
	least, err := e.api.autoExpanding(ctx)
	if err != nil {
		return nil, err
	}
	excluded, others := r.settings.excluded(), 0
	for other, n := range r.state.nodes {
		f, known := r.facts[other]
		others += count(other != id && !slices.Contains(excluded, n.name) && (!known || f.takesCopies()))
	}
	var out []string
	for _, s := range stuck {
		if replicas, expands := least[s.index]; !expands || replicas >= others {
			out = append(out, s.String())
		}
	}
	return out, nil
}

// homeless returns shards of which every node that takes copies has one already.
func (r *reading) homeless(id string) []shard {
	excluded := r.settings.excluded()
	var out []shard
	for _, s := range r.state.shards {
		if !s.on(id) || slices.ContainsFunc(s.copies, func(c shardCopy) bool { return c.node == id && c.target != "" }) {
			continue
		}
		room := false
		for other, n := range r.state.nodes {
			f, known := r.facts[other]
			room = room || other != id && !s.on(other) && !slices.Contains(excluded, n.name) && (!known || f.holdsData())
		}
		if !room {
			out = append(out, s)
		}
	}
	return out
}

// othersOnly reports whether the node is excluded for other claims of ours, which will end the
// exclusion.
func (s settings) othersOnly(claim, node string) bool {
	ours, others := false, false
	for _, m := range s.marks() {
		if m.What != votes && m.Entry == node {
			ours, others = ours || m.Claim == claim, others || m.Claim != claim
		}
	}
	return others && !ours
}

// exclude adds the node to the names that allocation excludes, with its mark, in
// one change. The list counts as a whole at one level, so it is extended there.
func (e *Engine) exclude(ctx context.Context, order engines.Order, node string, now settings) error {
	what, level := copiesPersistent, now.persistent
	if _, there := now.transient[settingExclude]; there {
		what, level = copiesTransient, now.transient
	}
	m := mark{Claim: order.Claim, Node: node, What: what, Entry: node}
	persistent, transient := changes{m.key(): new(m.String())}, changes{}
	names := entries(level[settingExclude])
	if !slices.Contains(names, node) {
		names = append(names, node)
	}
	value := strings.Join(names, ",")
	if what == copiesTransient {
		transient.set(settingExclude, value)
	} else {
		persistent.set(settingExclude, value)
	}
	return e.write(ctx, order.NotAfter, persistent, transient)
}

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

var (
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("engine is closed")
	// ErrTooLate means that a write was due after Order.NotAfter.
	ErrTooLate = errors.New("too late to start a change")
)

// Engine is one agent's access to one node.
type Engine struct {
	cluster *Cluster
	node    string
	closed  atomic.Bool
}

var _ engines.Engine = (*Engine)(nil)

// Engine makes an engine for the node; several for one node are several agents.
func (c *Cluster) Engine(nodeName string) *Engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mustNode(nodeName)
	return &Engine{cluster: c, node: nodeName}
}

// Facts returns the facts of the database; it notices a lost member at once.
func (e *Engine) Facts() engines.Facts {
	return engines.Facts{Name: "Memory", MaxMajorStep: 1, EvacuatesOthers: true}
}

// Close makes every later call fail.
func (e *Engine) Close() error {
	e.closed.Store(true)
	return nil
}

// Observe returns the whole cluster; of a node that is stopped, only that.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	if err := e.enter(ctx, Call{Op: Observe}); err != nil {
		return engines.Observation{}, err
	}
	c := e.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	o := c.observation(e.node)
	if c.garble != nil {
		c.garble(e.node, &o)
	}
	return o, nil
}

func (c *Cluster) observation(self string) engines.Observation {
	n := c.nodes[self]
	if n.state != engines.MembershipLive {
		return engines.Observation{Member: n.state, Health: engines.Health{Reason: "the node does not answer"}}
	}
	o := engines.Observation{
		Node: self, Version: n.version, Member: engines.MembershipLive, Roles: slices.Clone(n.roles), Last: n.last,
		Busy: n.busy, Veto: n.veto, DataBytes: n.dataBytes, Settled: true, Health: engines.Health{Verdict: engines.VerdictGreen},
	}
	for name, other := range c.nodes {
		o.Nodes = append(o.Nodes, engines.Node{Name: name, Address: name + ":1", State: other.state})
	}
	slices.SortFunc(o.Nodes, func(a, b engines.Node) int { return cmp.Compare(a.Name, b.Name) })
	for _, g := range c.groups {
		out := engines.Group{ID: g.id, Kind: engines.GroupShard, NeedsLeader: true}
		active := 0
		for _, m := range g.members {
			out.Members = append(out.Members, engines.Member{
				ID: m.node, Node: m.node, State: m.state, Leader: g.leader == m.node, Eligible: true,
			})
			out.Moving = out.Moving || m.state == engines.MemberMoving
			if m.state == engines.MemberActive {
				active++
			} else if m.node == self {
				o.Settled = false
			}
		}
		switch {
		case active == 0:
			o.Health = engines.Health{Verdict: engines.VerdictRed, Reason: "no active copy of " + g.id}
		case active < len(g.members) && o.Health.Verdict == engines.VerdictGreen:
			o.Health = engines.Health{Verdict: engines.VerdictRecoverable, Reason: "a copy is missing of " + g.id}
		}
		o.Groups = append(o.Groups, out)
	}
	return o
}

// undo is small, because the database itself has the marks.
type undo struct {
	Kind  string `json:"kind"`
	Claim string `json:"claim"`
	Node  string `json:"node"`
}

// PlanDrain returns which marks Drain will set.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := e.enter(ctx, Call{Op: PlanDrain, Order: order}); err != nil {
		return nil, err
	}
	if err := check(order); err != nil {
		return nil, err
	}
	return json.Marshal(undo{Kind: order.Kind.String(), Claim: order.Claim, Node: e.subject(order)})
}

func check(order engines.Order) error {
	if order.Kind != engines.Handoff && order.Kind != engines.Evacuate {
		return fmt.Errorf("order: kind %s: must be Handoff or Evacuate", order.Kind)
	}
	if order.Claim == "" {
		return errors.New("order: no claim")
	}
	return nil
}

// subject is the node that the order is about.
func (e *Engine) subject(order engines.Order) string { return cmp.Or(order.Node, e.node) }

// Drain does Options.Step changes.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	if err := e.enter(ctx, Call{Op: Drain, Order: order}); err != nil {
		return engines.Progress{}, err
	}
	u, err := decodeUndo(undoBytes)
	if err == nil {
		err = check(order)
	}
	if err != nil {
		return engines.Progress{}, err
	}
	if u.Claim != order.Claim || u.Node != e.subject(order) || u.Kind != order.Kind.String() {
		return engines.Progress{}, fmt.Errorf("undo of %s %s on %s does not belong to this order", u.Kind, u.Claim, u.Node)
	}
	if err := e.throttle(ctx, order); err != nil {
		return engines.Progress{}, err
	}
	change := e.handOver
	if order.Kind == engines.Evacuate {
		change = e.moveOff
	}
	steps := e.cluster.options.Step
	for n := 0; steps == 0 || n < steps; n++ {
		var left int
		var refused string
		e.cluster.locked(func() { left, refused = e.remaining(order) })
		if refused != "" {
			return engines.Progress{State: engines.ProgressRefused, Detail: refused}, nil
		}
		if left == 0 {
			return engines.Progress{State: engines.ProgressDone}, nil
		}
		if err := e.write(ctx, order.NotAfter); err != nil {
			return engines.Progress{}, err
		}
		e.cluster.locked(func() { change(order) })
	}
	var left int
	e.cluster.locked(func() { left, _ = e.remaining(order) })
	if left == 0 {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	return engines.Progress{State: engines.ProgressRunning, Detail: fmt.Sprintf("%d left", left), Total: left}, nil
}

// remaining counts what is left to do, and tells why nothing can be done.
func (e *Engine) remaining(order engines.Order) (left int, refused string) {
	c := e.cluster
	c.settle()
	for _, g := range c.groups {
		if order.Kind == engines.Handoff {
			if g.leader == e.subject(order) && c.successor(g, order) != "" {
				left++
			}
			continue
		}
		for _, m := range g.members {
			if m.node != e.subject(order) {
				continue
			}
			left++
			if c.newHome(g) == "" {
				refused = "no other live node can take a copy of " + g.id
			}
		}
	}
	return left, refused
}

// handOver gives one group another leader, and marks it.
func (e *Engine) handOver(order engines.Order) {
	c := e.cluster
	for _, g := range c.groups {
		if g.leader != e.subject(order) {
			continue
		}
		if to := c.successor(g, order); to != "" {
			c.marks[mark{order.Claim, e.subject(order), g.id}] = true
			g.leader = to
			return
		}
	}
}

// successor is on an eligible node if there is one, and else on none that has given the
// group away itself for a claim that is open.
func (c *Cluster) successor(g *group, order engines.Order) string {
	fallback := ""
	for _, m := range g.members {
		if m.node == g.leader || m.state != engines.MemberActive || c.nodes[m.node].state != engines.MembershipLive {
			continue
		}
		if slices.Contains(order.Eligible, m.node) {
			return m.node
		}
		if fallback == "" && !c.givenAwayBy(m.node, g) {
			fallback = m.node
		}
	}
	return fallback
}

func (c *Cluster) givenAwayBy(node string, g *group) bool {
	for m := range c.marks {
		if m.node == node && m.group == g.id {
			return true
		}
	}
	return false
}

// moveOff moves one copy to a live node that has none of its group.
func (e *Engine) moveOff(order engines.Order) {
	c := e.cluster
	for _, g := range c.groups {
		for _, m := range g.members {
			if m.node != e.subject(order) {
				continue
			}
			if to := c.newHome(g); to != "" {
				m.node, m.state = to, engines.MemberActive
				if g.leader == e.subject(order) {
					g.leader = to
				}
				return
			}
		}
	}
}

func (c *Cluster) newHome(g *group) string {
	best := ""
	for name, n := range c.nodes {
		taken := slices.ContainsFunc(g.members, func(m *copyOf) bool { return m.node == name })
		if n.state == engines.MembershipLive && !taken && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// Restore removes the marks of the claim, one write each.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	if err := e.enter(ctx, Call{Op: Restore}); err != nil {
		return engines.Progress{}, err
	}
	u, err := decodeUndo(undoBytes)
	if err != nil {
		return engines.Progress{}, err
	}
	err = e.unmark(ctx, func(m mark) bool { return m.claim == u.Claim && m.node == u.Node })
	if err != nil {
		return engines.Progress{}, err
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// Sweep removes this node's marks of claims that are not open.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	if err := e.enter(ctx, Call{Op: Sweep}); err != nil {
		return err
	}
	return e.unmark(ctx, func(m mark) bool { return m.node == e.node && !slices.Contains(keep, m.claim) })
}

func (e *Engine) unmark(ctx context.Context, ours func(mark) bool) error {
	for {
		var next *mark
		e.cluster.locked(func() {
			for m := range e.cluster.marks {
				if ours(m) {
					next = &m
				}
			}
		})
		if next == nil {
			return nil
		}
		if err := e.write(ctx, time.Time{}); err != nil {
			return err
		}
		e.cluster.locked(func() { delete(e.cluster.marks, *next) })
	}
}

func decodeUndo(data []byte) (undo, error) {
	var u undo
	if err := json.Unmarshal(data, &u); err != nil {
		return u, fmt.Errorf("undo bytes: %w", err)
	}
	if u.Claim == "" || u.Node == "" {
		return u, errors.New("undo bytes: no claim or no node")
	}
	return u, nil
}

// enter is the start of each operation: closed, recorded, hooked, answering.
func (e *Engine) enter(ctx context.Context, call Call) error {
	if e.closed.Load() {
		return ErrClosed
	}
	call.Node = e.node
	e.cluster.locked(func() { e.cluster.calls = append(e.cluster.calls, call) })
	if err := e.intercept(ctx, call); err != nil {
		return err
	}
	down := false
	e.cluster.locked(func() { down = e.cluster.nodes[e.node].state != engines.MembershipLive })
	if down && call.Op != Observe {
		return fmt.Errorf("%s: node %s does not answer", call.Op, e.node)
	}
	return nil
}

func (e *Engine) write(ctx context.Context, notAfter time.Time) error {
	if !notAfter.IsZero() && time.Now().After(notAfter) {
		return ErrTooLate
	}
	return e.intercept(ctx, Call{Node: e.node, Op: Write})
}

func (e *Engine) intercept(ctx context.Context, call Call) error {
	var hook Hook
	e.cluster.locked(func() { hook = e.cluster.hook })
	if hook != nil {
		if err := hook(ctx, call); err != nil {
			return err
		}
	}
	return ctx.Err()
}

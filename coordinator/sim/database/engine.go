package database

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Answers is what becomes of the answers of one member, for as long as it is set.
type Answers uint8

const (
	Right Answers = iota
	// Hung means that nothing is answered.
	Hung
	// Broken means that every answer is an error.
	Broken
	// Stale means that the answers of when it began are repeated.
	Stale
	// Partial means that half of the groups are missing.
	Partial
	// Garbled means that names and states make no sense.
	Garbled
)

// Engine is one agent's access to the member in its pod.
type Engine struct {
	d       *Database
	node    string
	answers Answers
	stale   *engines.Observation
	// gaveUp is when somebody last gave up waiting for an answer.
	gaveUp time.Time
}

var _ engines.SettingChanger = (*Engine)(nil)

// Engine returns an engine for the member in a pod.
func (d *Database) Engine(pod string) *Engine {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nodeOf(pod)
	return &Engine{d: d, node: NodeName(pod)}
}

// Answer sets what becomes of the answers.
func (e *Engine) Answer(a Answers) {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	e.answers, e.stale = a, nil
	if a == Stale {
		o := e.d.observation(e.node)
		e.stale = &o
	}
}

// Answering reports whether the answers are right.
func (e *Engine) Answering() bool {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	return e.answers == Right
}

var errBroken = errors.New("500 internal server error")

// enter waits for the answer of a member, which takes a moment where it changes something.
func (e *Engine) enter(ctx context.Context, what string, slow bool) error {
	e.d.mu.Lock()
	answers, gaveUp := e.answers, e.gaveUp
	if e.d.nodes[e.node].frozen {
		answers = Hung
	}
	e.d.mu.Unlock()
	switch answers {
	case Hung:
		<-ctx.Done()
		e.d.mu.Lock()
		defer e.d.mu.Unlock()
		e.gaveUp = time.Now()
		return ctx.Err()
	case Broken:
		return errBroken
	}
	// Who has given up asks again at once: that there was no answer is told before there is one.
	if time.Now().Equal(gaveUp) {
		time.Sleep(time.Microsecond)
	}
	if !slow {
		return ctx.Err()
	}
	return e.d.loop.Call(ctx, "db "+e.node+" "+what, func(answer func()) {
		e.d.loop.In(e.d.loop.Between(2*time.Millisecond, 20*time.Millisecond), answer)
	})
}

// Facts of the database.
func (e *Engine) Facts() engines.Facts {
	if e.d.galera != nil {
		return engines.Facts{Name: "Simulated", SettleSeconds: 15, MaxMajorStep: 1, OneAtATime: true}
	}
	return engines.Facts{Name: "Simulated", SettleSeconds: 30, MaxMajorStep: 1}
}

// Close does nothing.
func (e *Engine) Close() error { return nil }

// Observe returns what the register has.
func (e *Engine) Observe(ctx context.Context) (engines.Observation, error) {
	if err := e.enter(ctx, "observe", false); err != nil {
		if e.unanswered() {
			return engines.Observation{Member: engines.MembershipNotLive, Health: engines.Health{Reason: err.Error()}}, nil
		}
		return engines.Observation{}, err
	}
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	if e.stale != nil {
		return *e.stale, nil
	}
	o := e.d.observation(e.node)
	switch e.answers {
	case Partial:
		o.Groups = o.Groups[:len(o.Groups)/2]
	case Garbled:
		for i := range o.Groups {
			for m := range o.Groups[i].Members {
				o.Groups[i].Members[m].State = engines.MemberState(9)
			}
		}
		o.Health = engines.Health{}
	}
	return o, nil
}

// unanswered reports whether the member is one whose silence is taken for not being a member.
func (e *Engine) unanswered() bool {
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	n := e.d.nodes[e.node]
	return n.frozen && !n.silent
}

// observation is what a member tells. d.mu is held.
func (d *Database) observation(self string) engines.Observation {
	n := d.nodes[self]
	if !n.up {
		return engines.Observation{Member: engines.MembershipNotLive, Health: engines.Health{Reason: "connection refused"}}
	}
	if d.galera != nil {
		return d.memberSays(self)
	}
	o := engines.Observation{
		Node: self, Rank: n.rank, Version: n.version, Member: engines.MembershipLive, Busy: n.busy, Veto: n.veto, Settled: true,
		Health: engines.Health{Verdict: engines.VerdictGreen}, Groups: make([]engines.Group, 0, len(d.shards)), Nodes: make([]engines.Node, 0, len(d.names)),
	}
	if !n.listed {
		o.Member = engines.MembershipNotLive
	}
	if d.overseer == self {
		o.Roles, o.Last = []string{"overseer"}, true
	}
	for _, name := range d.names {
		state := engines.MembershipNotLive
		if d.nodes[name].listed {
			state = engines.MembershipLive
		}
		o.Nodes = append(o.Nodes, engines.Node{Name: name, Address: name[:len(name)-len("_solr")], State: state})
	}
	for _, s := range d.shards {
		g := engines.Group{ID: s.id, Kind: s.kind(), MinAvailable: s.least, NeedsLeader: true, Members: make([]engines.Member, 0, len(s.copies))}
		active := 0
		for _, r := range s.copies {
			if d.hollow && slices.ContainsFunc(d.marks, func(m Mark) bool { return m.Node == r.node && m.Shard == excluded }) {
				continue
			}
			state := r.state
			if !d.nodes[r.node].listed {
				state = engines.MemberDown
			}
			g.Members = append(g.Members, engines.Member{ID: r.id, Node: r.node, State: state, Leader: s.leader == r.node, Eligible: true})
			if state == engines.MemberActive {
				active++
			} else if r.node == self && !r.givenUp(state) {
				o.Settled = false
			}
		}
		switch {
		case active == 0, active < s.least:
			o.Health = engines.Health{Verdict: engines.VerdictRed, Reason: "no active copy of " + s.id}
		case active < len(s.copies) && o.Health.Verdict == engines.VerdictGreen:
			o.Health = engines.Health{Verdict: engines.VerdictRecoverable, Reason: "a copy is missing of " + s.id}
		}
		o.Groups = append(o.Groups, g)
	}
	if d.acks > 0 {
		d.replicated(self, &o)
	}
	return o
}

// undo names what to take back.
type undo struct {
	Claim string `json:"claim"`
	Node  string `json:"node"`
}

// PlanDrain returns which marks will be set.
func (e *Engine) PlanDrain(ctx context.Context, order engines.Order) ([]byte, error) {
	if err := e.enter(ctx, "plan", true); err != nil {
		return nil, err
	}
	if order.Kind != engines.Handoff && order.Kind != engines.Evacuate {
		return nil, fmt.Errorf("order: kind %s: must be Handoff or Evacuate", order.Kind)
	}
	return json.Marshal(undo{order.Claim, e.leaver(order)})
}

// leaver is whose duties an order is about: those of another member, if it names one.
func (e *Engine) leaver(order engines.Order) string { return cmp.Or(order.Node, e.node) }

// Drain hands all shards over, one after the other.
func (e *Engine) Drain(ctx context.Context, order engines.Order, undoBytes []byte) (engines.Progress, error) {
	if err := e.enter(ctx, "apply", true); err != nil {
		return engines.Progress{}, err
	}
	var u undo
	if err := json.Unmarshal(undoBytes, &u); err != nil || u.Claim != order.Claim || u.Node != e.leaver(order) {
		return engines.Progress{}, fmt.Errorf("undo bytes %q do not belong to claim %s", undoBytes, order.Claim)
	}
	if err := e.throttle(ctx, order); err != nil {
		return engines.Progress{}, err
	}
	if e.d.galera != nil {
		return ask(ctx, e, "may leave", func() engines.Progress { return e.d.mayLeave(e.leaver(order)) })
	}
	var writes engines.Writes
	left, err := ask(ctx, e, "hand over", func() (left int) {
		left, writes = e.d.handOver(e.leaver(order), order)
		return left
	})
	if err == nil && order.Kind == engines.Evacuate && e.d.moves {
		var copies int
		copies, err = ask(ctx, e, "evacuate", func() int { return e.d.evacuate(e.leaver(order), order.Claim) })
		left += copies
	}
	switch {
	case err != nil:
		return engines.Progress{}, err
	case order.Kind == engines.Evacuate && !e.d.moves && e.d.hosts(e.leaver(order)):
		return engines.Progress{State: engines.ProgressRefused, Detail: "no other member can take its copies"}, nil
	case left > 0:
		return engines.Progress{State: engines.ProgressRunning, Detail: fmt.Sprintf("%d left", left), Total: left, Writes: writes}, nil
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// ask has the loop change the database, and answers what it found.
func ask[T any](ctx context.Context, e *Engine, what string, change func() T) (T, error) {
	var out T
	err := e.d.loop.Call(ctx, "db "+e.node+" "+what, func(answer func()) {
		unlock := e.d.change()
		out = change()
		unlock()
		answer()
	})
	return out, err
}

// handOver begins to hand over what the node leads, and answers how much is left, and what becomes of
// the writes of a primary. d.mu is held.
func (d *Database) handOver(self string, order engines.Order) (left int, writes engines.Writes) {
	keeps := order.KeepWrites && d.acks > 0
	for _, s := range d.shards {
		if s.leader != self {
			continue
		}
		if d.fixed != "" {
			if left += d.lacking(s); keeps {
				left, writes = max(left, 1), keptWrites(left == 0)
			}
			continue
		}
		to := d.successor(s, order)
		if to == "" && d.acks > 0 {
			left++ // until one can
		}
		if keeps && !s.handing {
			left, writes = max(left, 1), keptWrites(to != "")
			continue
		}
		if to == "" {
			continue // nobody can take over
		}
		left++
		mark := Mark{order.Claim, self, s.id}
		if !slices.Contains(d.marks, mark) {
			d.marks = append(d.marks, mark)
			d.loop.Log("db", "%s hands %s over to %s for %s", PodName(self), s.id, PodName(to), order.Claim)
		}
		if s.handing {
			continue
		}
		s.handing, s.stops = true, ""
		if order.Epoch > 0 {
			s.stops = self
		}
		d.loop.In(d.handoverTime(), func() {
			defer d.change()()
			s.handing, s.stops = false, ""
			if s.leader == self && s.serves(to) {
				s.leader = to
				d.handovers++
			}
		})
	}
	return left, writes
}

// hosts reports whether a member has copies. They are never moved here.
func (d *Database) hosts(self string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.shards, func(s *shard) bool {
		return slices.ContainsFunc(s.copies, func(r *replica) bool { return r.node == self })
	})
}

func (d *Database) successor(s *shard, order engines.Order) string {
	fallback := ""
	for _, r := range s.copies {
		if r.node == s.leader || !r.active {
			continue
		}
		if len(order.Eligible) == 0 || slices.Contains(order.Eligible, r.node) {
			return r.node
		}
		if fallback == "" && d.acks == 0 {
			fallback = r.node
		}
	}
	return fallback
}

// Restore takes the marks of the claim back.
func (e *Engine) Restore(ctx context.Context, undoBytes []byte) (engines.Progress, error) {
	if err := e.enter(ctx, "restore", true); err != nil {
		return engines.Progress{}, err
	}
	var u undo
	if err := json.Unmarshal(undoBytes, &u); err != nil || u.Claim == "" {
		return engines.Progress{}, fmt.Errorf("undo bytes %q: no claim", undoBytes)
	}
	_, err := ask(ctx, e, "unmark "+u.Claim, func() bool {
		for _, s := range e.d.shards {
			if s.stops == u.Node {
				s.stops = "" // it takes writes again until the role moves
			}
		}
		return !e.d.NoRestore && e.d.unmark(func(m Mark) bool { return m.Claim == u.Claim && m.Node == u.Node })
	})
	if err != nil {
		return engines.Progress{}, err
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// Sweep undoes what was left on this member. What keeps data off it belongs to its claim alone.
func (e *Engine) Sweep(ctx context.Context, keep []string) error {
	if err := e.enter(ctx, "sweep", true); err != nil {
		return err
	}
	_, err := ask(ctx, e, "sweep", func() bool {
		return !e.d.NoSweep && e.d.unmark(func(m Mark) bool { return m.Node == e.node && m.Shard != excluded && !slices.Contains(keep, m.Claim) })
	})
	return err
}

// unmark removes marks. d.mu is held.
func (d *Database) unmark(ours func(Mark) bool) bool {
	var gone []Mark
	d.marks = slices.DeleteFunc(d.marks, func(m Mark) bool {
		if !ours(m) {
			return false
		}
		gone = append(gone, m)
		return true
	})
	d.include(gone)
	return len(gone) > 0
}

package mysql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// simKind is one way to break something. Most of it comes back later.
type simKind struct {
	name string
	do   func(w *simWorld, b *simBreak)
	// lost means that the request that is under way, or its answer, does not arrive; late: the
	// request arrives that much later.
	lost bool
	late time.Duration
	// forever means that the broken part does not come back, so that no member may be left that
	// allows writes.
	forever bool
	// forgets: the order, or what the driver's agent knew of it, is lost.
	forgetsOrder, forgetsTry bool
}

func (k *simKind) String() string { return k.name }

// simBreak is one at one boundary.
type simBreak struct {
	kind *simKind
	at   int
	hit  bool
}

func (b simBreak) String() string { return fmt.Sprintf("%s at %d", b.kind, b.at) }

func (w *simWorld) endAgent(i int, back time.Duration) {
	a := w.agents[i]
	a.end()
	if back > 0 {
		w.after(back, func() {
			if !a.alive && !a.server.gone {
				a.begin()
			}
		})
	}
}

func (w *simWorld) crashServer(i int, back time.Duration) {
	s := w.list[i]
	if !s.up {
		return
	}
	s.crash()
	if back > 0 {
		w.after(back, func() {
			if !s.up && !s.gone {
				s.boot()
			}
		})
	}
}

// hangServer keeps it from answering its agent; clients and replicas notice nothing.
func (w *simWorld) hangServer(i int, back time.Duration) {
	s := w.list[i]
	s.hung = true
	w.after(back, func() { s.hung = false })
}

// goOn has all agents that are not busy take turns, and clients and replicas go on after
// each round.
func (w *simWorld) goOn(rounds, ticks int) {
	if w.inside {
		return
	}
	w.inside = true
	defer func() { w.inside = false }()
	for range rounds {
		for _, a := range w.agents {
			a.turn()
		}
		for range ticks {
			w.tick()
		}
	}
}

// kinds returns the kinds of breaks of a handover by db-0.
func kinds(members int) []*simKind {
	out := []*simKind{
		{name: "the driver's agent dies and comes back", forgetsTry: true, do: func(w *simWorld, _ *simBreak) { w.endAgent(0, 2*time.Second) }},
		{name: "the driver's pod dies and comes back", do: func(w *simWorld, _ *simBreak) {
			w.crashServer(0, 15*time.Second)
			w.endAgent(0, 15*time.Second)
		}},
		{name: "the driver's pod dies for ever", forever: true, do: func(w *simWorld, _ *simBreak) {
			w.crashServer(0, 0)
			w.endAgent(0, 0)
			w.list[0].gone = true
		}},
		{name: "the driver's server restarts", do: func(w *simWorld, _ *simBreak) { w.crashServer(0, 4*time.Second) }},
		{name: "the driver's server hangs", do: func(w *simWorld, _ *simBreak) { w.hangServer(0, 8*time.Second) }},
		{name: "the driver's agent dies, its server lives, nobody orders any more", forgetsTry: true, do: func(w *simWorld, _ *simBreak) {
			w.endAgent(0, 40*time.Second)
		}},
		{name: "the coordinator is gone", forgetsOrder: true, do: func(w *simWorld, _ *simBreak) {
			for _, a := range w.agents {
				a.job = false
			}
		}},
		{name: "all agents restart", forgetsTry: true, do: func(w *simWorld, _ *simBreak) {
			for i := range w.agents {
				w.endAgent(i, 3*time.Second)
			}
		}},
		{name: "the order is taken back", do: func(w *simWorld, _ *simBreak) {
			w.agents[0].undoing = true
			w.agents[0].cancel()
		}},
		{name: "the message is lost", lost: true},
		{name: "the message comes after 2 s", late: 2 * time.Second},
		{name: "the message comes after 15 s", late: 15 * time.Second},
		{name: "the message comes after 50 s", late: 50 * time.Second},
		{name: "everybody repairs", do: func(w *simWorld, _ *simBreak) { w.goOn(1, 0) }},
		{name: "everybody else goes on for a while", do: func(w *simWorld, _ *simBreak) { w.goOn(4, 10) }},
		{name: "stopping writes does not work in time", do: func(w *simWorld, _ *simBreak) { w.busyOnce = true }},
	}
	for i := 1; i < members; i++ {
		name := fmt.Sprintf("member %d", i)
		out = append(out,
			&simKind{name: name + "'s agent dies and comes back", do: func(w *simWorld, _ *simBreak) { w.endAgent(i, 5*time.Second) }},
			&simKind{name: name + "'s agent dies for long", do: func(w *simWorld, _ *simBreak) { w.endAgent(i, 60*time.Second) }},
			&simKind{name: name + "'s server restarts", do: func(w *simWorld, _ *simBreak) { w.crashServer(i, 4*time.Second) }},
			&simKind{name: name + "'s server hangs", do: func(w *simWorld, _ *simBreak) { w.hangServer(i, 8*time.Second) }},
			&simKind{name: name + "'s server hangs for long", do: func(w *simWorld, _ *simBreak) { w.hangServer(i, 70*time.Second) }},
			&simKind{name: name + "'s pod restarts", do: func(w *simWorld, _ *simBreak) {
				w.crashServer(i, 20*time.Second)
				w.endAgent(i, 20*time.Second)
			}},
			&simKind{name: name + " is being stopped", do: func(w *simWorld, _ *simBreak) {
				w.agents[i].leaving = true
				w.after(30*time.Second, func() { w.agents[i].leaving = false })
			}},
		)
	}
	for _, k := range out {
		if k.do == nil {
			k.do = func(w *simWorld, b *simBreak) { w.delivered = b }
		}
	}
	return out
}

// orderHandover gives db-0's agent the order, as a coordinator does.
func (w *simWorld) orderHandover() {
	a := w.agents[0]
	a.order = engines.Order{Kind: engines.Handoff, Claim: "claim-1", NotAfter: time.Now().Add(3 * time.Minute)}
	w.ordered = len(a.server.log)
	undo, err := a.engine.PlanDrain(context.Background(), a.order)
	if err != nil {
		panic(err)
	}
	a.undo, a.job = undo, true
}

// handedOver: the order is done or refused. The pod is restarted, then the order is
// restored.
func (w *simWorld) handedOver(a *simAgent) {
	w.note("%s handed over; its pod is restarted", a.name)
	w.leavesInPlace(a)
	a.undoing = true
	a.end()
	a.server.crash()
	w.after(5*time.Second, func() {
		if !a.server.gone {
			a.server.boot()
			a.begin()
		}
	})
}

// run goes on until nothing changes any more, and judges the end.
func (w *simWorld) run() {
	w.orderHandover()
	calm := 0
	for round := 0; round < 1500 && calm < 14 && len(w.violations) == 0; round++ {
		before := w.picture()
		time.Sleep(250 * time.Millisecond)
		w.tick()
		w.runLater()
		if a := w.agents[0]; a.job && !a.undoing && time.Now().After(a.order.NotAfter) {
			w.note("the coordinator takes the order back")
			a.undoing = true
		}
		for _, a := range w.agents {
			a.turn()
		}
		calm++
		if w.picture() != before || len(w.later) > 0 || w.agents[0].job && w.agents[0].alive {
			calm = 0
		}
	}
	w.judge()
}

// picture is what must not change any more at the end.
func (w *simWorld) picture() string {
	var b strings.Builder
	for i, s := range w.list {
		if n := w.agents[i].engine.newestLook().Switch; n != nil {
			fmt.Fprint(&b, w.ticks) // it ends by its time
		}
		fmt.Fprint(&b, s.name, s.up, s.writes, s.source, s.threads, len(s.relay) == 0, w.agents[i].alive, w.agents[i].life, ";")
	}
	return b.String()
}

// judge: one member allows writes, all that live follow it, it has all that was
// acknowledged, and nobody waits for anything.
func (w *simWorld) judge() {
	var primary *simServer
	living, ended := 0, false
	for i, s := range w.list {
		if s.up && w.agents[i].alive {
			living++
		}
		if s.up && s.writes == replication.Allowed && !(w.stays.writableReplicas && i > 0) {
			primary = s
		}
	}
	var order, try bool
	for _, b := range w.breaks {
		ended = ended || b.hit && b.kind.forever
		order, try = order || b.hit && b.kind.forgetsOrder, try || b.hit && b.kind.forgetsTry
	}
	// Nobody can tell any more who made it read-only.
	ended = ended || order && try && w.list[0].writes == replication.RefusedBySQL
	if primary == nil {
		// Who is to be the new primary when one is lost for good is not decided here.
		if !ended {
			w.violate("nobody allows writes at the end")
		}
		return
	}
	for i, s := range w.list {
		if s != primary && s.up && w.agents[i].alive && (s.source != primary.name || s.connected() == nil) {
			w.violate("%s does not follow %s at the end", s.name, primary.name)
		}
	}
	if len(w.waiting) > 0 && living > w.acks {
		w.violate("%d commits wait for ever", len(w.waiting))
	}
	for _, n := range sortedKeys(w.acked) {
		if !containsTxn(primary.log, w.acked[n]) {
			w.violate("the acknowledged transaction %v is lost", w.acked[n])
			break
		}
	}
	for i, a := range w.agents {
		if n := a.engine.newestLook().Switch; a.alive && n != nil && (n.Promoting || n.From == a.name) {
			w.violate("db-%d has a switchover noted at the end", i)
		}
	}
	if w.agents[0].job && w.agents[0].alive && w.list[0].up {
		w.violate("the order is not restored at the end")
	}
}

func containsTxn(log []txn, t txn) bool {
	for _, o := range log {
		if o == t {
			return true
		}
	}
	return false
}

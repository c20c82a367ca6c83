package mysql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
)

var (
	errDead = errors.New("the agent has ended")
	errLost = errors.New("the answer was lost")
	errBusy = errors.New("the agent is busy")
)

// simSetup is one kind of database.
type simSetup struct {
	flavor    replication.Flavor
	members   int
	acks      int // 0: no semi-synchronous replication
	losesTail bool
	skipStart bool
	silent    int  // ticks before anybody writes; negative: nobody ever does
	dns       bool // agents know the domain of their pods from the beginning
}

func (s simSetup) String() string {
	return fmt.Sprintf("%s/%d members/acks %d/loses tail %v/skip start %v/silent %d", s.flavor, s.members, s.acks, s.losesTail, s.skipStart, s.silent)
}

// simWorld is a database of a few members, their agents, a client that writes all
// the time and notes what was acknowledged, and the oracle. It runs in one
// goroutine, in virtual time: one list of breaks is one run.
type simWorld struct {
	simSetup
	list     []*simServer
	servers  map[string]*simServer
	agents   []*simAgent
	ticks    int
	n        int
	busyOnce bool
	// keepsSource: servers stop their replication, and refuse to forget its source.
	keepsSource bool

	boundaries int
	breaks     []simBreak
	later      []simLater
	delivered  *simBreak // what happens to the request that is sent now
	inside     bool

	acked      map[int]txn
	waiting    map[int]txn // written, not acknowledged, by n
	violations []string
	tells      bool // every event is kept
	log        []string
	restored   int // boundary at which the order was
	promoted   int // boundary at which somebody was first told to take over
	start      time.Time
}

type simLater struct {
	at time.Time
	do func()
}

func newWorld(setup simSetup, tells bool, breaks ...simBreak) *simWorld {
	w := &simWorld{tells: tells, simSetup: setup, servers: map[string]*simServer{}, acked: map[int]txn{}, waiting: map[int]txn{}, breaks: breaks, start: time.Now()}
	for i := range setup.members {
		s := &simServer{w: w, name: fmt.Sprintf("db-%d", i), id: i, up: true, started: time.Now(), writes: replication.RefusedAtStart, pace: 1 + 2*i}
		if i == 0 {
			s.writes, s.semiSource = replication.Allowed, setup.acks > 0
		} else {
			s.source, s.threads, s.semiSelf = "db-0", true, setup.acks > 0
		}
		w.list = append(w.list, s)
		w.servers[s.name] = s
	}
	for _, s := range w.list {
		a := &simAgent{w: w, name: s.name, server: s}
		w.agents = append(w.agents, a)
		a.begin()
	}
	for range 10 {
		w.tick()
	}
	return w
}

func (w *simWorld) nextN() int { w.n++; return w.n }

func (w *simWorld) note(format string, args ...any) {
	if !w.tells {
		return
	}
	w.log = append(w.log, fmt.Sprintf("%8s #%d ", time.Since(w.start).Round(time.Millisecond), w.boundaries)+fmt.Sprintf(format, args...))
}

func (w *simWorld) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	if len(w.violations) < 5 {
		w.violations = append(w.violations, text)
	}
}

// tick lets clients write and replication go on, and looks at the invariants.
func (w *simWorld) tick() {
	w.ticks++
	var allowing []string
	for _, s := range w.list {
		if s.up && s.writes == replication.Allowed {
			allowing = append(allowing, s.name)
			if w.ticks%3 == 0 && w.n < 80 && w.writing() {
				t := s.write()
				w.waiting[t.n] = t
			}
		}
	}
	if len(allowing) > 1 {
		w.violate("two allow writes: %s", strings.Join(allowing, ", "))
	}
	for _, s := range w.list {
		if s.up && s.writes == replication.RefusedBySQL && s.privileged > 0 && w.writing() {
			t := s.write()
			w.waiting[t.n] = t
		}
		s.replicate()
	}
	w.acknowledge()
	if w.ticks%4 == 0 {
		for _, s := range w.list {
			s.durable = len(s.log)
		}
	}
}

// writing: the database is not one that nobody has used yet.
func (w *simWorld) writing() bool { return w.silent >= 0 && w.ticks > w.silent }

// acknowledge tells clients about what enough have; a commit whose server has
// crashed or refuses writes is never acknowledged.
func (w *simWorld) acknowledge() {
	for n, t := range w.waiting {
		s := w.list[t.origin]
		if !s.up || !slices.Contains(s.log, t) {
			delete(w.waiting, n)
			continue
		}
		acks := 0
		for _, other := range w.list {
			if other != s && other.up && other.semiSelf && other.source == s.name && (slices.Contains(other.log, t) || slices.Contains(other.relay, t)) {
				acks++
			}
		}
		if s.semiSource && acks < w.acks {
			continue
		}
		delete(w.waiting, n)
		w.acked[n] = t
	}
}

// opens is called when a server is about to allow writes: it must have all that was
// acknowledged.
func (w *simWorld) opens(s *simServer) {
	if s.writes == replication.Allowed {
		return
	}
	for _, n := range sortedKeys(w.acked) {
		if !slices.Contains(s.log, w.acked[n]) {
			w.violate("%s allows writes without the acknowledged transaction %v", s.name, w.acked[n])
			return
		}
	}
}

func sortedKeys(m map[int]txn) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// boundary is a point between two effects: time goes on, and something may break.
func (w *simWorld) boundary() {
	time.Sleep(5 * time.Millisecond)
	w.boundaries++
	w.tick()
	for i := range w.breaks {
		if b := &w.breaks[i]; b.at == w.boundaries {
			w.note("BREAK %s", b.kind)
			b.hit = true
			b.kind.do(w, b)
		}
	}
	w.runLater()
}

func (w *simWorld) after(d time.Duration, do func()) {
	w.later = append(w.later, simLater{time.Now().Add(d), do})
}

func (w *simWorld) runLater() {
	for i := 0; i < len(w.later); i++ {
		if l := w.later[i]; !time.Now().Before(l.at) {
			w.later = slices.Delete(w.later, i, i+1)
			l.do()
			i = -1
		}
	}
}

// simAgent is an agent: it carries out the coordinator's order, tends when it has
// none, and takes the steps that others ask for, one at a time.
type simAgent struct {
	w      *simWorld
	name   string
	server *simServer
	engine *Engine
	alive  bool
	life   int
	since  time.Time
	busy   bool
	// order in hand; undoing: it is being restored.
	order   engines.Order
	undo    []byte
	job     bool
	undoing bool
	cancel  context.CancelFunc // of what is being done
	leaving bool
}

// begin starts an agent that knows nothing.
func (a *simAgent) begin() {
	a.alive, a.since, a.busy, a.cancel = true, time.Now(), false, func() {}
	a.life++
	options := Options{Peers: simPeers{a, a.life}, Limits: switchover.Limits{Quiet: 2 * time.Second}}
	if a.w.dns {
		options.Domain = ".db.ns.svc"
	}
	a.engine = newEngine(simConn{a, a.life}, options)
	a.engine.each = func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	}
}

func (a *simAgent) end() {
	a.alive, a.busy = false, false
	a.life++
	a.w.note("%s: agent ends", a.name)
}

// turn does one thing, as long as the agent lives.
func (a *simAgent) turn() {
	if !a.alive || a.busy {
		return
	}
	life := a.life
	a.busy = true
	defer func() {
		if a.life == life {
			a.busy = false
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a.cancel = cancel
	var p engines.Progress
	var err error
	switch {
	case a.job && a.undoing:
		p, err = a.engine.Restore(ctx, a.undo)
		if err == nil && p.State == engines.Done && a.life == life {
			a.job = false
			a.w.restored = a.w.boundaries
		}
	case a.job:
		p, err = a.engine.Apply(ctx, a.order, a.undo)
	default:
		p, err = a.engine.Tend(ctx)
	}
	a.w.note("%s: turn (job %v, undoing %v): %s %s %v", a.name, a.job, a.undoing, p.State, p.Detail, err)
	if a.life == life && a.job && !a.undoing && err == nil && p.State != engines.Running {
		a.w.handedOver(a)
	}
}

// simPeers is how an agent reaches the others.
type simPeers struct {
	agent *simAgent
	life  int
}

func (p simPeers) List() []engines.Peer {
	var out []engines.Peer
	for _, a := range p.agent.w.agents {
		if a != p.agent {
			out = append(out, engines.Peer{Pod: a.name, Node: a.name, Alive: a.alive, Since: a.since, Leaving: a.leaving})
		}
	}
	return out
}

func (p simPeers) target(node string) (*simAgent, error) {
	i := slices.IndexFunc(p.agent.w.agents, func(a *simAgent) bool { return a.name == node })
	switch a := p.agent; {
	case a.life != p.life || !a.alive:
		return nil, errDead
	case i < 0:
		return nil, fmt.Errorf("nobody is called %s", node)
	case !a.w.agents[i].alive:
		return nil, errDown
	}
	return p.agent.w.agents[i], nil
}

func (p simPeers) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	p.agent.w.boundary()
	a, err := p.target(node)
	if err != nil {
		return nil, err
	}
	data, err := a.engine.Look(ctx, fresh)
	if p.agent.life != p.life {
		return nil, errDead
	}
	return data, err
}

func (p simPeers) Step(ctx context.Context, node string, step engines.Step) ([]byte, error) {
	w := p.agent.w
	w.delivered = nil
	w.boundary()
	fate := w.delivered
	w.delivered = nil
	a, err := p.target(node)
	if err != nil {
		return nil, err
	}
	w.note("%s asks %s: %s", p.agent.name, node, step.Name)
	if step.Name == stepPromote && w.promoted == 0 {
		w.promoted = w.boundaries
	}
	if fate != nil && fate.kind.late > 0 {
		w.after(fate.kind.late, w.arrival(a, step))
		return nil, errLost
	}
	if fate != nil && fate.kind.lost {
		return nil, errLost
	}
	data, err := a.take(ctx, step)
	w.note("%s answers %s: %s %v", node, step.Name, data, err)
	w.boundary()
	switch {
	case p.agent.life != p.life:
		return nil, errDead
	case w.delivered != nil && (w.delivered.kind.lost || w.delivered.kind.late > 0):
		w.delivered = nil
		return nil, errLost
	}
	return data, err
}

// arrival of a late step; it waits while the agent does something else.
func (w *simWorld) arrival(a *simAgent, step engines.Step) func() {
	life := a.life
	var arrive func()
	arrive = func() {
		switch {
		case a.life != life:
		case a.busy:
			w.after(20*time.Millisecond, arrive)
		default:
			data, err := a.take(context.Background(), step)
			w.note("%s arrives late at %s: %s %v", step.Name, a.name, data, err)
		}
	}
	return arrive
}

// take a step, if nothing else is being done.
func (a *simAgent) take(ctx context.Context, step engines.Step) ([]byte, error) {
	if a.busy {
		return nil, errBusy
	}
	life := a.life
	a.busy = true
	defer func() {
		if a.life == life {
			a.busy = false
		}
	}()
	data, err := a.engine.Step(ctx, step)
	if a.life != life {
		return nil, cmp.Or(err, errDead)
	}
	return data, err
}

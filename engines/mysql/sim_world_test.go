package mysql

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
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
	acks      int // 0 means no semi-synchronous replication
	losesTail bool
	skipStart bool
	silent    int  // ticks before anybody writes; negative means nobody ever does
	dns       bool // agents know the domain of their pods from the beginning
	stays     simStays
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
	// keepsSource means that servers stop their replication, and refuse to forget its source.
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
	ordered    int // transactions that the primary had when it was ordered
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
		s := &simServer{w: w, name: w.nameOf(i), id: i, up: true, started: time.Now(), writes: replication.RefusedAtStart, pace: 1 + 2*i}
		if i == 0 {
			s.writes, s.semiSource = replication.Allowed, setup.acks > 0
		} else {
			s.source, s.threads, s.semiSelf = w.nameOf(0), true, setup.acks > 0
			s.writes = w.startsAs(i)
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
		if s.up && s.writes == replication.Allowed && !(s.id > 0 && w.stays.writableReplicas) {
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

// writing reports whether the database is not one that nobody has used yet.
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

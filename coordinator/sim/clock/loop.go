// Package clock runs a simulated world: one loop that alone changes it, in virtual time, while the
// code under test runs beside it in goroutines of its own.
//
// A Loop works inside a bubble of testing/synctest. It lets time advance only when every goroutine
// of the bubble waits, serves their requests sorted by name, and draws all random numbers itself.
// So a run depends on its seed and nothing else, as long as what a goroutine asks for does not
// depend on another that runs at the same instant.
package clock

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// Loop is the one goroutine that changes the world.
type Loop struct {
	// Rand begins again with every event and every request, from the seed, the time and the name of
	// the request: what one draws does not depend on how many others there were.
	Rand *rand.Rand
	// After is called after every event.
	After func()
	// Heard is called with every line of the log.
	Heard func(who, what string)

	seed    uint64
	chances *rand.PCG
	start   time.Time
	events  queue
	counted uint64
	stopped bool
	log     []byte
	course  uint64
	twins   map[string]any
	twinsAt time.Duration

	mu    sync.Mutex
	asked []ask
	poke  chan struct{}
}

type ask struct {
	key string
	do  func()
}

// New makes a loop that starts now.
func New(seed uint64) *Loop {
	chances := rand.NewPCG(seed, 0)
	return &Loop{Rand: rand.New(chances), seed: seed, chances: chances, start: time.Now(), twins: map[string]any{}, poke: make(chan struct{}, 1)}
}

// begin is the start of an event, or of a request by its name.
func (l *Loop) begin(name string) {
	name, _, _ = strings.Cut(name, Apart)
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))
	l.chances.Seed(l.seed, sum.Sum64()^uint64(l.Now())*0x9e3779b97f4a7c15)
}

// Now is the time since the start.
func (l *Loop) Now() time.Duration { return time.Since(l.start) }

// Between draws a duration from low to high, to the nanosecond, so that hardly
// ever two things happen at once.
func (l *Loop) Between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(l.Rand.Int64N(int64(high-low)))
}

// Chance is true in so many of a hundred draws.
func (l *Loop) Chance(percent int) bool { return l.Rand.IntN(100) < percent }

// In makes the loop call do after d. Only the loop may call it.
func (l *Loop) In(d time.Duration, do func()) {
	l.counted++
	l.events.push(event{at: l.Now() + max(0, d), order: l.counted, do: do})
}

// Apart begins the part of a key that tells requests of one name apart. They are done in
// its order, and have the same chances.
const Apart = "\x00"

// Ask makes the loop call do at this very instant. Anybody may call it. Requests of one instant are
// served in the order of their keys.
func (l *Loop) Ask(key string, do func()) {
	l.mu.Lock()
	l.asked = append(l.asked, ask{key, do})
	l.mu.Unlock()
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// Call is for goroutines of the code under test: it asks the loop to begin
// something and waits until that is answered, or ctx ends. What is asked for at the
// instant at which ctx ends was never asked: whether a goroutine has heard of the end by
// then is nobody's choice.
func (l *Loop) Call(ctx context.Context, key string, begin func(answer func())) error {
	done := make(chan struct{})
	l.Ask(key, func() {
		if ctx.Err() == nil {
			begin(func() { close(done) })
		}
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop ends Run.
func (l *Loop) Stop() { l.stopped = true }

// Run carries events out until Stop is called or there are none.
func (l *Loop) Run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !l.stopped {
		l.answer()
		if l.stopped || len(l.events) == 0 {
			return
		}
		if wait := l.events[0].at - l.Now(); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-l.poke:
			}
			continue
		}
		e := l.events.pop()
		l.course = (l.course ^ uint64(e.at)) * 0x100000001b3
		l.begin("")
		e.do()
		l.after()
	}
}

// answer serves requests until every goroutine waits.
func (l *Loop) answer() {
	for {
		synctest.Wait()
		l.mu.Lock()
		asked := l.asked
		l.asked = nil
		l.mu.Unlock()
		if len(asked) == 0 {
			return
		}
		slices.SortStableFunc(asked, func(a, b ask) int { return cmp.Compare(a.key, b.key) })
		for _, a := range asked {
			l.begin(a.key)
			a.do()
		}
		l.after()
	}
}

func (l *Loop) after() {
	if l.After != nil {
		l.After()
	}
}

// Log adds a line to the run's log. Only the loop may call it.
func (l *Loop) Log(who, format string, args ...any) {
	at := l.Now()
	l.log = fmt.Appendf(l.log, "%5d.%09d %-8s ", at/time.Second, at%time.Second, who)
	begin := len(l.log)
	l.log = fmt.Appendf(l.log, format, args...)
	if l.Heard != nil {
		l.Heard(who, string(l.log[begin:]))
	}
	l.log = append(l.log, '\n')
}

// Text returns the log so far.
func (l *Loop) Text() []byte { return l.log }

// Course returns a digest of when all events were: most of them are in no log.
func (l *Loop) Course() uint64 { return l.course }

type event struct {
	at    time.Duration
	order uint64
	do    func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.order < o.order }

// queue is a heap: nothing comes before its parent, which is at half its place.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	at := len(h) - 1
	for up := (at - 1) / 2; at > 0 && e.before(h[up]); up = (at - 1) / 2 {
		h[at], at = h[up], up
	}
	h[at] = e
	*q = h
}

func (q *queue) pop() event {
	h := *q
	first, last := h[0], h[len(h)-1]
	h[len(h)-1] = event{}
	h = h[:len(h)-1]
	for at := 0; len(h) > 0; {
		down := 2*at + 1
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if down >= len(h) || !h[down].before(last) {
			h[at] = last
			break
		}
		h[at], at = h[down], down
	}
	*q = h
	return first
}

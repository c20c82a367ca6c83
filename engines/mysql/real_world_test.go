package mysql

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
)

// realWorld is a database of real servers whose agents run all the time, a client
// that writes all the time, and somebody who watches that never two servers allow
// writes. Whatever changes something is a boundary, before and after.
type realWorld struct {
	t       *testing.T
	ctx     context.Context
	servers []*mysqltest.Server
	wire    *enginetest.Wire
	client  *steady
	began   time.Time
	back    sync.WaitGroup // of what comes back later
	running sync.WaitGroup

	mu         sync.Mutex
	agents     []*realAgent
	gone       []*realAgent // to be closed
	at         func(actor int, what string) (lost bool)
	story      []string
	told       []string // the story before that
	violations []string
}

func newRealWorld(t *testing.T, flavor mysqltest.Flavor, o mysqltest.Options) *realWorld {
	o.Flavor, o.Servers = flavor, 3
	return newRealWorldOf(t, mysqltest.Start(t, o))
}

func newRealWorldOf(t *testing.T, servers []*mysqltest.Server) *realWorld {
	w := &realWorld{t: t, ctx: t.Context(), wire: enginetest.NewWire(), began: time.Now(), servers: servers}
	w.agents = make([]*realAgent, len(w.servers))
	for i := range w.servers {
		w.startAgent(i, realJob{})
	}
	_ = mysqltest.Table(t, w.servers[0])
	w.client = newSteady(w)
	w.running.Go(w.watch)
	for i := range w.servers {
		w.running.Go(func() { w.live(i) })
	}
	t.Cleanup(func() { // after t.Context() has ended
		w.running.Wait()
		w.back.Wait()
		w.wire.Wait()
		for _, a := range append(w.gone, w.agents...) {
			_ = a.engine.Close()
		}
	})
	return w
}

func (w *realWorld) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.story = append(w.story, fmt.Sprintf("%8s ", time.Since(w.began).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (w *realWorld) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.note("VIOLATION: %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violations = append(w.violations, text)
}

// startAgent starts one that knows nothing but its job.
func (w *realWorld) startAgent(i int, job realJob) {
	o := realOptions(w.servers[i])
	a := &realAgent{i: i, w: w, job: job, cancel: func() {}}
	o.Peers = realPeers{w.wire.From(w.servers[i].Address()), a}
	o.Limits.Quiet, o.Limits.RetryAfter, o.Limits.Patience = time.Second, time.Second, 20*time.Second
	o.MaxLag = 2 * time.Second
	l, err := server.New(serverOptions(o))
	if err != nil {
		w.violate("%v", err)
		return
	}
	a.engine = newEngine(realServer{l, a}, o)
	a.engine.each = func(n int, f func(int)) {
		for i := range n {
			f(i)
		}
	}
	w.mu.Lock()
	w.agents[i] = a
	w.mu.Unlock()
	w.wire.Connect(map[string]engines.Peered{w.servers[i].Address(): a.engine})
}

func (w *realWorld) agent(i int) *realAgent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agents[i]
}

// restartAgent ends one, and starts another a moment later, with the job that it
// finds then.
func (w *realWorld) restartAgent(i int, later time.Duration, phase realPhase) {
	a := w.agent(i)
	if !a.ended.CompareAndSwap(false, true) {
		return
	}
	w.note("%s: agent ends", w.servers[i].Name)
	w.wire.Connect(map[string]engines.Peered{w.servers[i].Address(): nil})
	a.mu.Lock()
	a.cancel()
	job := a.job
	a.mu.Unlock()
	if job.phase != repairs {
		job.phase = phase
	}
	w.mu.Lock()
	w.gone = append(w.gone, a)
	w.mu.Unlock()
	w.later(later, func() { w.startAgent(i, job) })
}

func (w *realWorld) restartServer(i int, later time.Duration) {
	if w.servers[i].Ended() {
		return
	}
	w.note("%s is killed", w.servers[i].Name)
	w.servers[i].Kill()
	w.later(later, func() {
		w.note("%s is started", w.servers[i].Name)
		w.servers[i].Start()
		w.servers[i].AwaitUp()
	})
}

func (w *realWorld) later(d time.Duration, do func()) {
	w.back.Go(func() {
		engines.Sleep(w.ctx, d)
		do()
	})
}

// allows asks the server itself.
func (w *realWorld) allows(i int) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 2*time.Second)
	defer cancel()
	var refuses bool
	err := w.servers[i].Root().QueryRowContext(ctx, "SELECT @@read_only").Scan(&refuses)
	return err == nil && !refuses
}

// alone is called when a server has begun to allow writes: no other does.
func (w *realWorld) alone(i int) {
	for j := range w.servers {
		if j != i && w.allows(j) && w.allows(i) && w.allows(j) {
			w.violate("%s and %s both allow writes", w.servers[i].Name, w.servers[j].Name)
		}
	}
}

// watch sees also what no agent did.
func (w *realWorld) watch() {
	for engines.Sleep(w.ctx, 50*time.Millisecond) {
		for i := range w.servers {
			if w.allows(i) {
				w.alone(i)
			}
		}
	}
}

func (w *realWorld) writers() []int {
	var out []int
	for i := range w.servers {
		if w.allows(i) {
			out = append(out, i)
		}
	}
	return out
}

// unrest says what is not at its end yet; "": all is.
func (w *realWorld) unrest() string {
	for i := range w.servers {
		a := w.agent(i)
		a.mu.Lock()
		idle, last := a.idle && !a.ended.Load(), a.last
		a.mu.Unlock()
		if !idle {
			return w.servers[i].Name + " does something: " + last
		}
	}
	now := w.writers()
	if len(now) != 1 {
		return fmt.Sprintf("%v allow writes", now)
	}
	for i, s := range w.servers {
		if i != now[0] {
			if why := follows(s, w.servers[now[0]]); why != "" {
				return why
			}
		}
	}
	return ""
}

// follows says what is missing.
func follows(s, primary *mysqltest.Server) string {
	rows := s.Rows("SHOW REPLICA STATUS")
	if len(rows) != 1 {
		return s.Name + " follows nobody"
	}
	r := rows[0]
	threads := r["Replica_IO_Running"] + r["Slave_IO_Running"] + r["Replica_SQL_Running"] + r["Slave_SQL_Running"]
	port := r["Source_Port"] + r["Master_Port"]
	if threads == "YesYes" && port == fmt.Sprint(primary.Port) {
		return ""
	}
	return fmt.Sprintf("%s follows %s (not %d), threads %s", s.Name, port, primary.Port, threads)
}

// rest waits until nothing changes any more and judges the end; it answers who
// allows writes.
func (w *realWorld) rest(what string) int {
	w.t.Helper()
	w.back.Wait()
	why := w.unrest()
	for deadline := time.Now().Add(3 * time.Minute); why != "" && time.Now().Before(deadline); why = w.unrest() {
		time.Sleep(20 * time.Millisecond)
	}
	if why != "" {
		w.violate("no rest: %s", why)
	}
	w.good(what)
	primary := w.writers()[0]
	w.client.more(w)
	w.client.check(w, primary)
	w.good(what)
	w.mu.Lock()
	gone := w.gone
	w.gone, w.told, w.story = nil, w.story, nil
	w.mu.Unlock()
	w.wire.Wait()
	for _, a := range gone {
		_ = a.engine.Close()
	}
	return primary
}

func (w *realWorld) good(what string) {
	w.t.Helper()
	w.mu.Lock()
	violations, story := w.violations, strings.Join(w.story, "\n")
	w.mu.Unlock()
	if len(violations) > 0 {
		w.t.Fatalf("%s: %v\n%s", what, violations, story)
	}
}

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
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

// realAgent is one life of an agent: past its end it changes and learns nothing.
type realAgent struct {
	i      int
	w      *realWorld
	engine *Engine
	ended  atomic.Bool

	mu     sync.Mutex
	cancel context.CancelFunc // of what is being done
	job    realJob
	last   string
	idle   bool
}

// realJob is what an agent has been ordered, as it would read it from its disk.
type realJob struct {
	phase realPhase
	order engines.Order
	undo  []byte
	after realPhase // when it is done
}

type realPhase uint8

const (
	tends realPhase = iota
	applies
	restores
)

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
	_ = table(t, w.servers[0])
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
	o.Limits.Quiet, o.Limits.RetryAfter, o.Limits.Patience = time.Second, time.Second, 10*time.Second
	o.MaxLag = 2 * time.Second
	l, err := newLocal(o)
	if err != nil {
		w.violate("%v", err)
		return
	}
	a.engine = newEngine(realServer{l, a}, l.options)
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
	if job.phase != tends {
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
		sleep(w.ctx, d)
		do()
	})
}

// order gives an agent a job that is done soon.
func (a *realAgent) order(job realJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.job, a.idle = job, false
}

// interrupt ends a round of tending, as an agent does for a step.
func (a *realAgent) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.job.phase == tends {
		a.cancel()
	}
}

// carriedOut waits until the agent's order is.
func (w *realWorld) carriedOut(i int) {
	w.t.Helper()
	eventually(w.t, func() bool {
		a := w.agent(i)
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.job.phase == tends
	})
}

// live is the loop of the agents of one member, one after the other.
func (w *realWorld) live(i int) {
	for sleep(w.ctx, 40*time.Millisecond) {
		if a := w.agent(i); !a.ended.Load() {
			w.wire.Alone(w.servers[i].Address(), a.turn)
		}
	}
}

func (a *realAgent) turn() {
	ctx, cancel := context.WithTimeout(a.w.ctx, time.Minute)
	defer cancel()
	a.mu.Lock()
	a.cancel = cancel
	job := a.job
	a.mu.Unlock()
	if a.ended.Load() {
		return
	}
	var p engines.Progress
	var err error
	switch job.phase {
	case applies:
		p, err = a.engine.Apply(ctx, job.order, job.undo)
	case restores:
		p, err = a.engine.Restore(ctx, job.undo)
	default:
		p, err = a.engine.Tend(ctx)
	}
	if a.ended.Load() {
		return
	}
	text := fmt.Sprintf("%s: turn %d: %s %s %v", a.w.servers[a.i].Name, job.phase, p.State, p.Detail, err)
	a.mu.Lock()
	told := text == a.last
	a.last = text
	finished := err == nil && p.State != engines.Running && a.job.phase == job.phase
	a.idle = finished && job.phase == tends
	if finished && job.phase != tends {
		a.job.phase, a.job.after = a.job.after, tends
	}
	a.mu.Unlock()
	if !told {
		a.w.note("%s", text)
	}
}

var errEnded = errors.New("the agent has ended")

// around is where an agent may end: before it does something, or when it is done
// and before it hears of it.
func (a *realAgent) around(what string, do func() error) error {
	for _, moment := range []string{" before", " after"} {
		if a.ended.Load() {
			return errEnded
		}
		a.w.mu.Lock()
		at := a.w.at
		a.w.mu.Unlock()
		lost := at != nil && at(a.i, what+moment)
		if a.ended.Load() {
			return errEnded
		}
		if lost {
			return errLost
		}
		if moment == " after" {
			break
		}
		if err := do(); err != nil {
			a.w.note("%s %s: %v", a.w.servers[a.i].Name, what, err)
			return err
		}
		a.w.note("%s %s", a.w.servers[a.i].Name, what)
	}
	return nil
}

// realServer is a real one, as an agent that may end reaches it.
type realServer struct {
	*local
	a *realAgent
}

func (s realServer) look(ctx context.Context) (State, error) {
	if s.a.ended.Load() {
		return State{}, errEnded
	}
	return s.local.look(ctx)
}

func (s realServer) stopWrites(ctx context.Context, within time.Duration) error {
	return s.a.around("stopWrites", func() error { return s.local.stopWrites(ctx, within) })
}

func (s realServer) allowWrites(ctx context.Context) error {
	return s.a.around("allowWrites", func() error {
		err := s.local.allowWrites(ctx)
		s.a.w.alone(s.a.i)
		return err
	})
}

func (s realServer) dropClients(ctx context.Context) (ended int, err error) {
	err = s.a.around("dropClients", func() (err error) { ended, err = s.local.dropClients(ctx); return err })
	return ended, err
}

func (s realServer) awaits(ctx context.Context, position string, within time.Duration) (there bool, err error) {
	err = s.a.around("awaits", func() (err error) { there, err = s.local.awaits(ctx, position, within); return err })
	return there, err
}

func (s realServer) detach(ctx context.Context) error {
	return s.a.around("detach", func() error { return s.local.detach(ctx) })
}

func (s realServer) follow(ctx context.Context, host string, port int, demoted bool) error {
	return s.a.around("follow", func() error { return s.local.follow(ctx, host, port, demoted) })
}

func (s realServer) startFollowing(ctx context.Context) error {
	return s.a.around("startFollowing", func() error { return s.local.startFollowing(ctx) })
}

func (s realServer) electPrimary(ctx context.Context, id string) error {
	return s.a.around("electPrimary", func() error { return s.local.electPrimary(ctx, id) })
}

func (s realServer) acknowledgeAs(ctx context.Context, primary bool) error {
	return s.a.around("acknowledgeAs", func() error { return s.local.acknowledgeAs(ctx, primary) })
}

// realPeers are the others, as an agent that may end reaches them.
type realPeers struct {
	engines.Peers
	a *realAgent
}

func (p realPeers) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	if p.a.ended.Load() {
		return nil, errEnded
	}
	return p.Peers.Look(ctx, node, fresh)
}

func (p realPeers) Step(ctx context.Context, node string, step engines.Step) (body []byte, err error) {
	to := slices.IndexFunc(p.a.w.servers, func(s *mysqltest.Server) bool { return s.Address() == node })
	err = p.a.around(fmt.Sprintf("asks %d: %s", to, step.Name), func() (err error) {
		p.a.w.agent(to).interrupt()
		body, err = p.Peers.Step(ctx, node, step)
		return err
	})
	return body, err
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
	for sleep(w.ctx, 50*time.Millisecond) {
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
	for deadline := time.Now().Add(time.Minute); why != "" && time.Now().Before(deadline); why = w.unrest() {
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

// steady is a client that writes numbers all the time, to whatever server takes
// them, and notes those that were acknowledged.
type steady struct {
	mu      sync.Mutex
	acked   []int
	gap     time.Duration // the longest between two of them
	newest  time.Time
	checked int
	count   int
}

func newSteady(w *realWorld) *steady {
	c := &steady{newest: time.Now()}
	var at []*sql.DB
	for _, s := range w.servers {
		at = append(at, s.Open(mysqltest.AppUser, mysqltest.AppPassword, "app"))
	}
	w.running.Go(func() {
		to := 0
		for n := 1; w.ctx.Err() == nil; n++ {
			ctx, end := context.WithTimeout(w.ctx, 2*time.Second)
			err := insertIn(ctx, at[to], n)
			end()
			if err != nil {
				to = (to + 1) % len(at)
				sleep(w.ctx, 5*time.Millisecond)
				continue
			}
			c.mu.Lock()
			c.acked = append(c.acked, n)
			c.count++
			c.gap, c.newest = max(c.gap, time.Since(c.newest)), time.Now()
			c.mu.Unlock()
			sleep(w.ctx, 5*time.Millisecond)
		}
	})
	return c
}

func insertIn(ctx context.Context, db *sql.DB, n int) error {
	_, err := db.ExecContext(ctx, "INSERT INTO numbers VALUES (?)", n)
	return err
}

// more waits until writes are acknowledged again.
func (c *steady) more(w *realWorld) {
	w.t.Helper()
	was := c.total()
	for deadline := time.Now().Add(30 * time.Second); c.total() < was+3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.violate("nothing is acknowledged any more")
			return
		}
	}
}

func (c *steady) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// longest gap since it was asked for last.
func (c *steady) longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	gap := c.gap
	c.gap = 0
	return gap
}

// check looks on all servers for all that was acknowledged since the last time.
func (c *steady) check(w *realWorld, primary int) {
	w.t.Helper()
	c.mu.Lock()
	acked := c.acked
	c.acked = nil
	c.mu.Unlock()
	for i, s := range w.servers {
		if i != primary {
			s.AwaitExecuted(w.servers[primary])
		}
		there := map[string]bool{}
		for _, row := range s.Rows(fmt.Sprintf("SELECT n FROM app.numbers WHERE n > %d", c.checked)) {
			there[row["n"]] = true
		}
		for _, n := range acked {
			if !there[fmt.Sprint(n)] {
				w.violate("the acknowledged write %d is not on %s", n, s.Name)
				return
			}
		}
	}
	require.NotEmpty(w.t, acked)
	c.checked = acked[len(acked)-1]
}

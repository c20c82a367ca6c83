// Package mysql adapts MySQL and MariaDB to the engines contract. It speaks SQL to the local server
// only. It reaches other members through their agents.
package mysql

import (
	"io"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

var (
	_ engines.Peered = (*Engine)(nil)
	_ database       = (*server.Server)(nil)
)

// Engine is the adapter. Look and Observe may be called at any time; the agent calls the
// methods that change something one at a time. Invariant: the local server begins to allow
// writes in three places only: takeBack (its own switchover was given up), takeOver (it
// was told to), and open (all members are known and no other could).
type Engine struct {
	server  database
	options Options
	// each calls f n times at once, or in turn in tests that enumerate.
	each func(n int, f func(i int))

	memory
}

// memory is what an agent knows and loses when it restarts.
type memory struct {
	mu sync.Mutex
	// newest look at the local server.
	newest replication.State
	// note is the switchover that this member takes part in.
	note *replication.Switch
	// never is the last try of another member that ended before this member was asked to take over.
	never *replication.Switch
	// over are the newest tries of each primary that were given up. Their late steps are refused.
	over map[string]time.Time
	// domains that follow members' names in the addresses that replicas use.
	domains replication.Domains
	// resolved says which names resolve here.
	resolved map[string]resolution
	// again is when a failed switchover is tried again, failed why it failed, inARow how many have
	// failed in a row.
	again  time.Time
	failed string
	inARow int
	// ran is the start time of the server whose replication was seen running.
	ran time.Time
	// upstream is the member that the local server follows.
	upstream topology.Upstream
	// halted is reported as State.Halted, of the server that started then.
	halted struct{ since, started time.Time }
	// predecessor is reported as State.Predecessor.
	predecessor string
	// history is the history of the local server while it follows nobody.
	history topology.History
	// watched is the time of the first look, or of the last attempt to stop writes here. opened
	// means that the server was seen to allow writes well after that, without a switchover of its
	// own, so that somebody else has stopped writes if they stop next.
	watched time.Time
	opened  bool
	// fixed is the fixed primary that was seen last.
	fixed topology.Fixed
	// wanted is what the replicas must have before the local server restarts in place.
	wanted struct {
		claim     string
		began, at time.Time
		state     replication.State
	}
	// asked is the claim for which the other manager was called.
	asked string
}

// newEngine returns an engine for a server that is already connected.
func newEngine(s database, options Options) *Engine {
	return &Engine{server: s, options: options.withDefaults(), each: atOnce, memory: memory{over: map[string]time.Time{}, domains: replication.Domains{}, resolved: map[string]resolution{}}}
}

// interrupted notes that an action here may have left replication stopped by accident. Replication
// is then started again as after a restart of the server.
func (e *Engine) interrupted() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ran = time.Time{}
}

func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// closing notes that this agent is about to stop writes itself.
func (e *Engine) closing() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened, e.watched = false, time.Now()
}

// closedElsewhere reports whether the server was seen to allow writes, and it was not this agent
// that has stopped them since.
func (e *Engine) closedElsewhere() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened
}

// stays returns the primary that keeps its role, as far as this member knows; empty means none.
func (e *Engine) stays() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.options.Primary == engines.Switchover:
		return ""
	case e.fixed.Name == "" && e.options.Primary == engines.RestartInPlace:
		return "the primary"
	}
	return e.fixed.Name
}

// openNote returns a copy of the note, and forgets one of another member's switchover
// whose time is over. Callers hold the lock.
func (e *Engine) openNote(own string) *replication.Switch {
	n := e.note
	if n == nil {
		return nil
	}
	if n.From != own && !n.Promoting && time.Now().After(n.Until) {
		e.note, e.never = nil, n
		return nil
	}
	c := *n
	return &c
}

// keep stores a switchover as the note; nil means none.
func (e *Engine) keep(s *replication.Switch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note = nil
	if s != nil {
		c := *s
		e.note = &c
	}
}

// New returns an adapter. It connects with the first request.
func New(o Options) (*Engine, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	l, err := server.New(serverOptions(o))
	if err != nil {
		return nil, err
	}
	if o.Resolve == nil {
		o.Resolve = lookUp
	}
	return newEngine(l, o), nil
}

// Close ends all sessions with the local server.
func (e *Engine) Close() error {
	if c, ok := e.server.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

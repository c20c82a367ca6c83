package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/rollcall-dev/rollcall/agent/door"
	"github.com/rollcall-dev/rollcall/agent/term"
	"github.com/rollcall-dev/rollcall/agent/trust"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Agents holds what the agents of all clusters say. It is safe for concurrent use.
type Agents struct {
	opts        Options
	connections trust.Connections
	subscribers []func(Key)
	running     sync.WaitGroup

	// mu guards everything below, and everything in clusters and what they hold. It is never held
	// while waiting.
	mu       sync.Mutex
	ctx      context.Context // of Run; nil before Run
	clusters map[Key]*cluster
	// held is the sum of the ledgers of all clusters.
	held int

	refused *prometheus.CounterVec
	delayed prometheus.Counter
	// large are turns for large messages before they are complete; decoding is a turn for complete
	// ones.
	large    *turns
	decoding chan struct{}
}

type cluster struct {
	key       Key
	following Following
	// agents by pod UID.
	agents map[string]*agent
	// slots are for handshakes.
	slots chan struct{}
	// large is the cluster's turn for a large message. bytes limits what is read from its agents.
	large chan struct{}
	bytes *rate.Limiter

	ledger ledger
	shared
	// nodes is the membership that was reported last.
	nodes []*rollcallv1.MemberNode
	// entries are those of the newest roster, by the UIDs of their pods.
	entries map[string]*rollcallv1.RosterEntry
}

// agent is the connection to one pod's agent, and what it said last.
type agent struct {
	cluster *cluster
	// target does not change, except its zone, which is kept separately.
	target Target
	zone   string
	since  time.Time
	conn   agentConn

	// received is the newest report while reports are followed or have been requested since.
	received Received
	// heard is how far its reports have come. It stays when received is dropped.
	heard heard
	// clock is that of its newest run. behind is by how much its node's wall clock is behind ours.
	clock  term.Clock
	behind term.Least
	roster ReceivedRoster
	// problems says by stream why there is none. It is nil without any.
	problems map[string]string
	// refusals says by stream why the last message was not accepted. refusalTold is true if people
	// were informed.
	refusals    map[string]string
	refusalTold bool
	// delayTold is true if people were informed that its messages wait.
	delayTold bool
	// lately is the same for people, for an hour.
	lately door.Refusals
	// rosterFailed is when its roster stream failed last.
	rosterFailed time.Time

	// Functions that stop the running streams; nil means none.
	stopReports, stopRoster context.CancelFunc
	allGroups               bool
}

// New returns Agents that follow nothing.
func New(opts Options) (*Agents, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	a := &Agents{opts: opts, clusters: map[Key]*cluster{}, refused: newRefused(), delayed: newDelayed(),
		large: newTurns(), decoding: make(chan struct{}, 1)}
	if opts.Registerer != nil {
		for _, c := range []prometheus.Collector{newAges(a), newSkews(a), a.delayed, a.refused} {
			if err := opts.Registerer.Register(c); err != nil {
				return nil, fmt.Errorf("register metrics of agents: %w", err)
			}
		}
	}
	return a, nil
}

// Subscribe calls f with the key of each cluster of which an agent said something, possibly many
// times and concurrently. f must return at once. Subscribe must be called before Run.
func (a *Agents) Subscribe(f func(Key)) { a.subscribers = append(a.subscribers, f) }

// Run holds the streams until ctx ends, and returns when all of them have ended.
func (a *Agents) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.mu.Lock()
	if a.ctx != nil {
		a.mu.Unlock()
		return errors.New("agents: Run was called twice")
	}
	a.ctx = ctx
	for _, c := range a.clusters {
		a.hold(c)
	}
	a.mu.Unlock()

	<-ctx.Done()
	a.mu.Lock()
	for key := range a.clusters {
		a.forget(key)
	}
	a.mu.Unlock()
	a.running.Wait()
	return nil
}

// Follow says what to hold for a cluster from now on. It replaces the previous call.
func (a *Agents) Follow(key Key, following Following) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx != nil && a.ctx.Err() != nil {
		return
	}
	c := a.clusters[key]
	if c == nil {
		c = &cluster{
			key: key, agents: map[string]*agent{}, slots: make(chan struct{}, handshakes),
			large: make(chan struct{}, largePerCluster), bytes: rate.NewLimiter(bytesPerSecond, bytesAtOnce),
			ledger: ledger{refs: map[any]int{}}, shared: newShared(),
		}
		a.clusters[key] = c
		a.large.follow(key.Namespace, 1)
	}
	if following.Reports && !c.following.Reports {
		for _, g := range c.agents {
			g.since = time.Now()
		}
	}
	c.following = following
	c.following.Agents = nil // each is kept separately

	want := map[string]Target{}
	for _, t := range following.Agents {
		want[t.UID] = t
	}
	for uid, g := range c.agents {
		if t, ok := want[uid]; !ok || t.IP != g.target.IP {
			g.close()
			a.drop(g)
			delete(c.agents, uid)
		} else {
			g.zone = t.Zone
		}
	}
	for uid, t := range want {
		if c.agents[uid] == nil && t.IP != "" {
			c.agents[uid] = &agent{cluster: c, target: t, zone: t.Zone, since: time.Now()}
		}
	}
	a.hold(c)
}

// Idle drops the reports of a cluster's agents until Follow asks for them again.
func (a *Agents) Idle(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.clusters[key]; c != nil {
		c.following.Reports = false
		a.hold(c)
	}
}

// Forget closes all streams to a cluster's agents and drops what they said.
func (a *Agents) Forget(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(key)
}

func (a *Agents) forget(key Key) {
	c := a.clusters[key]
	if c == nil {
		return
	}
	for _, g := range c.agents {
		g.close()
	}
	a.held -= c.ledger.bytes
	delete(a.clusters, key)
	a.large.follow(key.Namespace, -1)
}

// State returns what the agents of a cluster said last.
func (a *Agents) State(key Key) State {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clusters[key]
	if c == nil {
		return State{Reports: map[string]Received{}, Problems: map[string]string{}}
	}
	s := State{Problems: map[string]string{}}
	if c.following.Reports {
		s.Reports = make(map[string]Received, len(c.agents))
	} else {
		s.Reports = map[string]Received{}
	}
	for uid, g := range c.agents {
		if g.received.Report != nil {
			s.Reports[uid] = g.received
		}
		if skew := g.told(); skew != 0 {
			if s.Skews == nil {
				s.Skews = map[string]time.Duration{}
			}
			s.Skews[uid] = skew
		}
		if g.roster.Roster != nil {
			s.Rosters = append(s.Rosters, g.roster)
		}
		if refused := g.refusedText(); refused != "" {
			if s.Refused == nil {
				s.Refused = map[string]string{}
			}
			s.Refused[uid] = refused
		}
		for _, problem := range g.problems {
			// The report stream's, if both have one.
			if s.Problems[uid] == "" || problem == g.problems[reports] {
				s.Problems[uid] = problem
			}
		}
	}
	slices.SortFunc(s.Rosters, func(x, y ReceivedRoster) int {
		return cmp.Or(cmp.Compare(x.Pod, y.Pod), cmp.Compare(x.UID, y.UID))
	})
	return s
}

// hold starts and stops streams as following requires. mu is held.
func (a *Agents) hold(c *cluster) {
	if a.ctx == nil || a.ctx.Err() != nil {
		return
	}
	now := time.Now()
	var targets []Target
	for _, g := range c.agents {
		t := g.target
		t.Zone = g.zone
		targets = append(targets, t)
	}
	failing := func(t Target) bool {
		at := c.agents[t.UID].rosterFailed
		return !at.IsZero() && now.Sub(at) < 6*a.opts.BackoffMax
	}
	if !c.following.Reports {
		c.nodes = nil
	}
	speaks := map[string]bool{}
	wanted := a.opts.Witnesses
	if !c.following.Reports {
		wanted = a.opts.IdleWitnesses
	}
	for _, t := range witnesses(targets, failing, wanted) {
		speaks[t.UID] = true
	}
	for uid, g := range c.agents {
		handed := func() {}
		if g.stopReports != nil && (!c.following.Reports || g.allGroups != c.following.AllGroups) {
			if c.following.Reports {
				handed = sync.OnceFunc(a.use(&g.conn)) // the stream that follows gets its connection
			}
			g.stopReports()
			g.stopReports = nil
			delete(g.problems, reports)
		}
		if !c.following.Reports {
			a.release(c, g.received.Report)
			g.received = Received{}
		}
		if g.stopReports == nil && c.following.Reports {
			all := c.following.AllGroups
			g.allGroups = all
			g.stopReports = a.start(func(ctx context.Context) { a.followReports(ctx, g, all, handed) })
		}
		if g.stopRoster != nil && !speaks[uid] {
			g.stopRoster()
			a.release(c, g.roster.Roster)
			g.stopRoster, g.roster = nil, ReceivedRoster{}
			delete(g.problems, rosters)
		}
		if g.stopRoster == nil && speaks[uid] {
			g.stopRoster = a.start(func(ctx context.Context) { a.followRoster(ctx, g) })
		}
	}
}

func (a *Agents) start(f func(context.Context)) context.CancelFunc {
	ctx, cancel := context.WithCancel(a.ctx)
	a.running.Go(func() {
		defer cancel()
		f(ctx)
	})
	return cancel
}

// close ends the streams. What they still deliver is dropped. mu is held.
func (g *agent) close() {
	if g.stopReports != nil {
		g.stopReports()
	}
	if g.stopRoster != nil {
		g.stopRoster()
	}
	g.stopReports, g.stopRoster = nil, nil
	g.conn.close()
}

func (a *Agents) changed(key Key) {
	for _, f := range a.subscribers {
		f(key)
	}
}

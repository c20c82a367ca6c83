package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	"github.com/rollcall-dev/rollcall/engines"
)

// Key names a DatabaseCluster.
type Key = kube.Key

// Cache is what Kubernetes says, kept current: a kube.Cache.
type Cache interface {
	// Clusters returns the keys of all DatabaseClusters, in order.
	Clusters() []Key
	// Claims counts the open claims of all DatabaseClusters.
	Claims() map[Key]int
	// Cluster returns false while not everything about a cluster is known.
	Cluster(key Key) (kube.ClusterObjects, bool)
	// Missing says what is not known about a cluster. It is empty if everything is.
	Missing(key Key) string
	Subscribe(f func(Key))
}

// Board shows decisions to others: a status.Board.
type Board interface {
	Lead()
	Follow(leader string)
	Publish(d status.Decision)
	Remove(key Key)
	OnAsk(f func(Key))
}

// Guard makes Kubernetes refuse that others remove pods: a guard.Guard.
type Guard interface {
	Subscribe(f func(Key))
	Lead(ctx context.Context, bound guard.Bound)
	State(key Key) guard.State
	Arm(ctx context.Context, bound guard.Bound, key Key) error
}

// Options are the options of a Coordinator. All without a default are required.
type Options struct {
	// Kubernetes and Clusters are for what the leader writes and reads live.
	Kubernetes kubernetes.Interface
	Clusters   v1alpha1.Clients
	// Cache and Agents must not be running yet: New subscribes to both.
	Cache  Cache
	Agents *agents.Agents
	Board  Board
	// Provision creates what a database cluster's pods need before they can report, and returns
	// when it must be called again at the latest (zero if there is no such time). It is also called
	// when the object's spec, its pools or Authorities change. Default: nothing.
	Provision func(ctx context.Context, objects kube.ClusterObjects) (time.Time, error)
	// Authorities is closed when the certificate authorities change after the
	// call. Default: they do not.
	Authorities func() <-chan struct{}
	// Reach opens the database of the pod that has an address, over the pod network, for what must
	// be done while no pod has an agent. Default: as anybody could, without credentials.
	Reach func(ctx context.Context, spec model.Spec, ip string) (engines.Engine, error)
	// Guard makes Kubernetes refuse that others remove pods. It must not be running yet. Default:
	// nothing is guarded.
	Guard Guard
	// MaxRestarts bounds the restarts in flight across all clusters; 0 = no limit.
	MaxRestarts int
	// FirstLooks bounds the agents whose reports are followed only to find that
	// there is nothing to do. Default: 250.
	FirstLooks int
	// Rested is called each time a database has no work any more and its reports are no longer
	// followed. It must return at once. Default: nothing.
	Rested func()
	// NewID makes the ids of claims. Default: random.
	NewID   func() string
	Metrics *Metrics
	Logger  *slog.Logger
}

func (o *Options) validate() error {
	if o.Kubernetes == nil || o.Clusters == nil || o.Cache == nil || o.Agents == nil || o.Board == nil {
		return errors.New("coordinator: Kubernetes, Clusters, Cache, Agents and Board are required")
	}
	if o.Provision == nil {
		o.Provision = func(context.Context, kube.ClusterObjects) (time.Time, error) { return time.Time{}, nil }
	}
	if o.Authorities == nil {
		o.Authorities = func() <-chan struct{} { return nil }
	}
	if o.Reach == nil {
		o.Reach = func(_ context.Context, spec model.Spec, ip string) (engines.Engine, error) {
			return plainAdapter(spec, ip)
		}
	}
	if o.MaxRestarts < 0 {
		return errors.New("coordinator: MaxRestarts is negative: must be a number, or 0 for no limit")
	}
	if o.FirstLooks == 0 {
		o.FirstLooks = agentsAtOnce
	}
	if o.Rested == nil {
		o.Rested = func() {}
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// Term is a leader's term. It bounds every request that is sent in its name.
type Term interface {
	Bound(ctx context.Context) (context.Context, context.CancelFunc)
}

// Coordinator leads all database clusters while it is elected.
type Coordinator struct {
	options Options
	fleet   *fleet
	turns   *turns

	mu       sync.Mutex
	sessions map[Key]*session
	// changed asks Lead to compare the sessions with the DatabaseClusters.
	changed chan struct{}
}

// New wires a Coordinator to its sources.
func New(options Options) (*Coordinator, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	c := &Coordinator{options: options, sessions: map[Key]*session{}, changed: make(chan struct{}, 1)}
	c.fleet = newFleet(options.MaxRestarts, options.Cache.Claims, c.maxUnavailable, c.wakeAll)
	c.turns = newTurns(options.FirstLooks, c.wake)
	options.Cache.Subscribe(c.objectsChanged)
	options.Agents.Subscribe(c.hint)
	options.Board.OnAsk(c.lookAt)
	if options.Guard != nil {
		options.Guard.Subscribe(c.wake)
	}
	return c, nil
}

// maxUnavailable returns how many pods of a cluster can be going: the known ones, and one more of
// each StatefulSet, which may be missing just now. It returns false while they are not known.
func (c *Coordinator) maxUnavailable(key Key) (int, bool) {
	objects, known := c.options.Cache.Cluster(key)
	return len(objects.Pods) + len(objects.Pools), known
}

// Lead works for all database clusters until ctx, the term, ends. It returns when everything that
// it started has ended.
func (c *Coordinator) Lead(ctx context.Context, term Term) error {
	var running sync.WaitGroup
	defer running.Wait()
	c.options.Board.Lead()
	defer c.options.Board.Follow("")
	if c.options.Guard != nil {
		running.Go(func() { c.options.Guard.Lead(ctx, term.Bound) })
	}
	authorities := c.options.Authorities()
	for {
		c.follow(ctx, term, &running)
		select {
		case <-ctx.Done():
			return nil
		case <-c.changed:
		case <-authorities:
			authorities = c.options.Authorities()
			c.provisionAll()
		}
	}
}

func (c *Coordinator) provisionAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		s.stale.Store(true)
		s.wake()
	}
}

// follow starts a session for each DatabaseCluster that has none. A session
// ends by itself when its DatabaseCluster is gone.
func (c *Coordinator) follow(ctx context.Context, term Term, running *sync.WaitGroup) {
	for _, key := range c.options.Cache.Clusters() {
		c.mu.Lock()
		if c.sessions[key] != nil {
			c.mu.Unlock()
			continue
		}
		s := newSession(c.options, c.fleet, c.turns, key, term)
		c.sessions[key] = s
		c.mu.Unlock()
		running.Go(func() {
			s.run(ctx)
			c.ended(key)
		})
	}
}

// ended forgets a session. Its DatabaseCluster may have come back, under another UID, so the list
// is read again.
func (c *Coordinator) ended(key Key) {
	c.mu.Lock()
	delete(c.sessions, key)
	c.mu.Unlock()
	c.fleet.forget(key)
	c.options.Agents.Forget(key)
	c.turns.leave(time.Now(), key)
	c.options.Board.Remove(key)
	c.compare()
}

// session returns the session of a DatabaseCluster, or nil if it is not led.
func (c *Coordinator) session(key Key) *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[key]
}

func (c *Coordinator) objectsChanged(key Key) {
	if s := c.session(key); s != nil {
		s.hint()
		return
	}
	c.compare()
}

func (c *Coordinator) wake(key Key) {
	if s := c.session(key); s != nil {
		s.wake()
	}
}

func (c *Coordinator) hint(key Key) {
	if s := c.session(key); s != nil {
		s.hint()
	}
}

// lookAt follows the reports of an idle cluster's agents for a while.
func (c *Coordinator) lookAt(key Key) {
	if s := c.session(key); s != nil {
		s.asked.Store(true)
		s.wake()
	}
}

func (c *Coordinator) wakeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		s.wake()
	}
}

func (c *Coordinator) compare() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// pause waits. It returns false if ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 10 * time.Second
	// together is how many database clusters are written for in parallel: few, because the rollouts
	// share the limit of requests.
	together = 4
	// userEvery is how often to find out as which user the controllers act.
	userEvery = 10 * time.Minute
)

// Options are the options of a Guard.
type Options struct {
	// Kubernetes is required.
	Kubernetes kubernetes.Interface
	// Cache is required, and must not be running yet.
	Cache *kube.Cache
	// Rearmed is called for each database cluster whose guard had expired and refuses again.
	// Default: nothing.
	Rearmed    func(key kube.Key, uid string)
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

func (o *Options) validate() error {
	if o.Kubernetes == nil || o.Cache == nil {
		return errors.New("guard: Kubernetes and Cache are required")
	}
	if o.Rearmed == nil {
		o.Rearmed = func(kube.Key, string) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// Bound gives a request a deadline within the leader's term.
type Bound func(context.Context) (context.Context, context.CancelFunc)

// Guard keeps labels and budgets as they should be while it leads, and always knows what Kubernetes
// refuses. It is safe for concurrent use.
type Guard struct {
	options Options
	metrics *metrics
	watches *watches
	told    func(kube.Key)

	// asked is true if it is known as which user the controllers act, oneUser if they all act as
	// one.
	asked, oneUser atomic.Bool

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[kube.Key] // nil unless it leads
	states map[kube.Key]State
}

// New returns a Guard that knows nothing until Watch runs.
func New(options Options) (*Guard, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	g := &Guard{options: options, metrics: newMetrics(options.Registerer), watches: newWatches(options.Kubernetes),
		told: func(kube.Key) {}, states: map[kube.Key]State{}}
	options.Cache.Subscribe(g.look)
	return g, errors.Join(
		onChange(g.watches.budgets, func(b *Budget) { g.lookAll(b.Namespace) }),
		onChange(g.watches.pods, func(l *labelled) { g.look(l.key()) }),
		onChange(g.watches.policies, func(*admissionPolicy) { g.lookAll("") }),
		onChange(g.watches.bindings, func(*binding) { g.admissionChanged() }),
	)
}

// Subscribe sets the function that is called with the key of each cluster whose State has changed.
// It must be called before Watch, and f must return at once.
func (g *Guard) Subscribe(f func(kube.Key)) { g.told = f }

// Watch keeps the Guard informed until ctx ends. Every coordinator calls it.
func (g *Guard) Watch(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range g.watches.all() {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	ticker := time.NewTicker(userEvery)
	defer ticker.Stop()
	for {
		g.askUser(ctx)
		if !g.asked.Load() {
			// Without an answer nothing is enforced, so this is retried soon.
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(time.Second):
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Synced reports whether everything is known, except the pods of new clusters.
func (g *Guard) Synced() bool {
	return g.asked.Load() && g.watches.synced() && g.options.Cache.KnowsClusters()
}

// Lead writes what is missing until ctx, the leader's term, ends.
func (g *Guard) Lead(ctx context.Context, bound Bound) {
	if !cache.WaitForCacheSync(ctx.Done(), g.Synced) {
		return
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[kube.Key](time.Second, time.Minute))
	g.mu.Lock()
	g.queue = queue
	g.mu.Unlock()
	defer g.ended()
	w := newWriter(g, bound)
	var running sync.WaitGroup
	defer running.Wait()
	defer queue.ShutDown()
	for range together {
		running.Go(func() { w.work(ctx, queue) })
	}
	for _, key := range g.known() {
		queue.Add(key)
	}
	<-ctx.Done()
}

// ended forgets what only a leader knows.
func (g *Guard) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = nil
	for key := range g.states {
		g.metrics.forget(key)
	}
	clear(g.states)
}

// State returns what Kubernetes refuses now. It is empty until that is known, and while this
// coordinator does not lead.
func (g *Guard) State(key kube.Key) State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.states[key]
}

// Armed reports whether labels have an effect, because there is a usable policy.
func (g *Guard) Armed() bool { return g.Synced() && g.admission().Usable() }

func (g *Guard) admission() Admission {
	a := g.watches.admission()
	a.OneUser = g.oneUser.Load()
	return a
}

// known returns the keys of all known clusters.
func (g *Guard) known() []kube.Key {
	keys := g.options.Cache.Clusters()
	for _, object := range g.watches.pods.GetStore().List() {
		if l := object.(*kube.Entry[labelled]).Facts; l != nil {
			keys = append(keys, l.key())
		}
	}
	return keys
}

// look queues a cluster, if this coordinator leads.
func (g *Guard) look(key kube.Key) { g.lookAfter(key, 0) }

func (g *Guard) lookAfter(key kube.Key, wait time.Duration) {
	g.mu.Lock()
	queue := g.queue
	g.mu.Unlock()
	if queue != nil {
		queue.AddAfter(key, wait)
	}
}

// lookAll queues all clusters of a namespace, or of all namespaces for an empty name.
func (g *Guard) lookAll(namespace string) {
	for _, key := range g.options.Cache.Clusters() {
		if namespace == "" || namespace == key.Namespace {
			g.look(key)
		}
	}
}

func (g *Guard) admissionChanged() {
	g.metrics.expired.Set(0)
	if g.watches.admission().Expired {
		g.metrics.expired.Set(1)
	}
	g.lookAll("")
}

// facts returns the facts of a cluster. It returns false while they are not all known, and without
// a DatabaseCluster.
func (g *Guard) facts(key kube.Key) (Facts, bool) {
	objects, ok := g.options.Cache.Cluster(key)
	if !ok || !g.Synced() {
		return Facts{}, false
	}
	return Facts{Objects: objects, Admission: g.admission(), Budgets: g.watches.budgetsIn(key.Namespace)}, true
}

// note keeps a state, and calls the subscriber if it has changed.
func (g *Guard) note(key kube.Key, state State) {
	g.mu.Lock()
	was, known := g.states[key]
	g.states[key] = state
	g.metrics.show(key, state)
	g.mu.Unlock()
	if known && was.same(state) {
		return
	}
	if state.Why != "" {
		g.options.Logger.Warn("the guard does not enforce", "cluster", key.String(), "why", state.Why)
	} else {
		g.options.Logger.Info("guard", "cluster", key.String(), "enforcing", state.Enforcing)
	}
	g.told(key)
}

func (g *Guard) forget(key kube.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.states, key)
	g.metrics.forget(key)
}

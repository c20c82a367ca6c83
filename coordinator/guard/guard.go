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
	// together is how many database clusters are written for at once: few, because
	// whoever rolls shares the limit of requests.
	together = 4
	// userEvery is how often it is asked as whom the controllers act.
	userEvery = 10 * time.Minute
)

// Options of a Guard.
type Options struct {
	// Kubernetes is required.
	Kubernetes kubernetes.Interface
	// Cache is required, and must not be running yet.
	Cache *kube.Cache
	// Rearmed is told of each database cluster whose guard had expired and refuses
	// again. Default: nobody is.
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

// Guard keeps labels and budgets as they should be, while it leads, and knows
// at all times what Kubernetes refuses. Its methods may be called from anywhere.
type Guard struct {
	options Options
	metrics *metrics
	watches *watches
	told    func(kube.Key)

	// asked: it is known as whom the controllers act; oneUser: all as one.
	asked, oneUser atomic.Bool

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[kube.Key] // nil unless it leads
	states map[kube.Key]State
}

// New makes a Guard that knows nothing until Watch runs.
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

// Subscribe has f called with the key of each cluster whose State has changed.
// It must be called before Watch, and f must return at once.
func (g *Guard) Subscribe(f func(kube.Key)) { g.told = f }

// Watch knows what there is until ctx ends. Every coordinator does that.
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
			// Without an answer nothing is enforced, so this one is asked again soon.
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

// Synced reports whether everything is known, apart from the pods of clusters that are new.
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

// ended forgets what is known only to whoever leads.
func (g *Guard) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = nil
	for key := range g.states {
		g.metrics.forget(key)
	}
	clear(g.states)
}

// State is what Kubernetes refuses now. It is empty until it is known, and while
// this coordinator does not lead.
func (g *Guard) State(key kube.Key) State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.states[key]
}

// Armed reports whether labels mean something, because there is a policy that heeds them.
func (g *Guard) Armed() bool { return g.Synced() && g.admission().Usable() }

func (g *Guard) admission() Admission {
	a := g.watches.admission()
	a.OneUser = g.oneUser.Load()
	return a
}

// known are all keys that something is known of.
func (g *Guard) known() []kube.Key {
	keys := g.options.Cache.Clusters()
	for _, object := range g.watches.pods.GetStore().List() {
		if l := object.(*kube.Entry[labelled]).Facts; l != nil {
			keys = append(keys, l.key())
		}
	}
	return keys
}

// look has a cluster looked at, if this coordinator leads.
func (g *Guard) look(key kube.Key) { g.lookAfter(key, 0) }

func (g *Guard) lookAfter(key kube.Key, wait time.Duration) {
	g.mu.Lock()
	queue := g.queue
	g.mu.Unlock()
	if queue != nil {
		queue.AddAfter(key, wait)
	}
}

// lookAll has all clusters of a namespace looked at; of all with the empty name.
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

// facts of a cluster; false while they are not all known, and without a
// DatabaseCluster.
func (g *Guard) facts(key kube.Key) (Facts, bool) {
	objects, ok := g.options.Cache.Cluster(key)
	if !ok || !g.Synced() {
		return Facts{}, false
	}
	return Facts{Objects: objects, Admission: g.admission(), Budgets: g.watches.budgetsIn(key.Namespace)}, true
}

// note keeps a state and tells of it when it is another.
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

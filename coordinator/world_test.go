package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const namespace = "prod"

// world is an API server with a StatefulSet controller and a kubelet, and
// database clusters with an agent in each pod.
type world struct {
	t      testing.TB
	began  time.Time
	server *kubetest.Server
	admin  *kubetest.Client

	mu       sync.Mutex
	dbs      map[string]*database
	byIP     map[string]*member
	nextIP   int
	removals []string
	// guarded: coordinators have a guard.
	guarded bool
	// hangs are requests of coordinators that are not answered before released is closed.
	hangs    func(kubetest.Call) bool
	released chan struct{}
	// provision is what coordinators do for a cluster's pods; nil: nothing.
	provision func(Key) error
	// stuck are pods whose objects stay when they are deleted.
	stuck map[string]bool
	// onClient may change a coordinator's access to the API server.
	onClient func(*kubetest.Client)
	// deaf are the revisions whose agents' ports refuse.
	deaf map[string]bool
	// firstLooks of coordinators; 0: their default.
	firstLooks int
	// answered is when an agent was last asked for its report, and gave it.
	answered time.Time
	// watching counts the open report streams, mostWatching how many there were at once.
	watching, mostWatching int
}

// database is one cluster: pods of one or more pools, with one shard on all of
// them that hold data.
type database struct {
	w        *world
	name     string
	uid      string
	engine   model.Engine
	pools    []*pool
	replicas int           // of all pools
	start    time.Duration // from container start to live
	broken   map[string]bool
	members  map[string]*member // by pod
	applied  map[string]string  // claim -> pod UID
	leader   string
	hung     bool // agents take orders and do not answer
	bare     bool // new pods get no agent
	// unreadyOn is the revision whose pods join and never become Ready.
	unreadyOn string

	// stranded are the pods that find no node, by name.
	stranded   map[string]types.UID
	excluded   map[string]string // pod -> claim that keeps data away from it
	allocation string            // a setting of the whole database; empty: it has none
	writes     int               // how often prepares changed it
	old        string            // the pod whose agent knows of no such setting

	// said is what somebody in between makes of a pod's report; nil: nobody is.
	said func(pod string, r *rollcallv1.Report) *rollcallv1.Report
	// heard is the epoch that agents have heard of and believe; older orders are refused.
	heard   int64
	refused int // for that
	late    int // orders that were not in time
	// rumour is the epoch in the headline of a member that is no pod.
	rumour int64
}

// pool is a StatefulSet.
type pool struct {
	name     string
	replicas int
	update   string
	rank     int32
	empty    bool // its pods hold no data
	manages  bool // nor do these, and one of them is elected
}

func (p *pool) pod(ordinal int) string { return fmt.Sprintf("%s-%d", p.name, ordinal) }

// member is one pod: its part of the database, and its agent.
type member struct {
	rollcallv1.UnimplementedAgentServiceServer
	db       *database
	pool     *pool
	pod      string
	uid      types.UID
	revision string
	live     bool
	stopping bool
	settled  time.Time
	sequence uint64
	// restarted is when the agent did, last.
	restarted time.Time
	drain     rollcallv1.Drain
	claim     string
	listener  *bufconn.Listener
	server    *grpc.Server
	changed   map[chan struct{}]struct{}
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, began: time.Now(), server: kubetest.New(), dbs: map[string]*database{}, byIP: map[string]*member{}}
	w.server.Removed = w.removed
	w.admin = w.server.Client(nil)
	for i := range 3 {
		_, err := w.admin.Kubernetes.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node%d", i), Labels: map[string]string{"topology.kubernetes.io/zone": fmt.Sprintf("z%d", i)},
		}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	return w
}

// add makes a database whose pods run v1 and whose template is v1.
func (w *world) add(name string, replicas int) *database { return w.addWith(name, replicas, false) }

// addWith can make the pods without agents, as they are before Rollcall comes.
func (w *world) addWith(name string, replicas int, bare bool) *database {
	return w.addPools(name, model.Solr, bare, &pool{name: name, replicas: replicas})
}

// addPools makes a database of several StatefulSets.
func (w *world) addPools(name string, engine model.Engine, bare bool, pools ...*pool) *database {
	db := &database{bare: bare, w: w, name: name, engine: engine, pools: pools, start: 5 * time.Second,
		broken: map[string]bool{}, members: map[string]*member{}, applied: map[string]string{}, excluded: map[string]string{}}
	one := model.Count(1)
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}}
	cluster.Spec.Engine = engine
	cluster.Spec.Policy.MaxUnavailable = &one
	cluster.Spec = cluster.Spec.WithDefaults()
	made, err := w.admin.Clusters.DatabaseClusters(namespace).Create(w.t.Context(), cluster, metav1.CreateOptions{})
	require.NoError(w.t, err)
	db.uid = string(made.UID)
	for _, p := range pools {
		p.update = "v1"
		db.replicas += p.replicas
		db.createSet(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dbs[name] = db
	for _, p := range pools {
		for i := range p.replicas {
			db.goLive(db.create(p, p.pod(i)))
		}
	}
	return db
}

func (db *database) createSet(p *pool) {
	labels := map[string]string{"app": db.name, "pool": p.name}
	template := maps.Clone(labels)
	template[v1alpha1.LabelCluster] = db.name
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.name, UID: types.UID("set-" + p.name), Generation: 1,
			Labels: map[string]string{v1alpha1.LabelCluster: db.name}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(p.replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template:            corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template}, Spec: podSpec("")},
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			PodManagementPolicy: appsv1.ParallelPodManagement,
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, UpdateRevision: "v1", CurrentRevision: "v1"},
	}
	_, err := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace).Create(db.w.t.Context(), set, metav1.CreateOptions{})
	require.NoError(db.w.t, err)
}

func podSpec(node string) corev1.PodSpec {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.PodSpec{NodeName: node,
		InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer, Image: "agent:dev", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: "db", Image: "db:9.9.0"}},
	}
}

// create makes a pod on the update revision and its agent. mu is held.
func (db *database) create(p *pool, pod string) *member {
	w := db.w
	w.nextIP++
	ip := fmt.Sprintf("10.0.%d.%d", w.nextIP/250, w.nextIP%250+1)
	ordinal := int(pod[len(pod)-1] - '0')
	yes := true
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod, CreationTimestamp: metav1.Now(),
			Labels: map[string]string{"app": db.name, "pool": p.name, v1alpha1.LabelCluster: db.name, "controller-revision-hash": p.update},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: p.name,
				UID: types.UID("set-" + p.name), Controller: &yes}}},
		Spec:   podSpec(fmt.Sprintf("node%d", ordinal%3)),
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip},
	}
	if db.bare {
		object.Spec.InitContainers = nil
		delete(object.Labels, v1alpha1.LabelCluster)
	}
	setState(object, db.broken[p.update], false)
	made, err := w.admin.Kubernetes.CoreV1().Pods(namespace).Create(context.Background(), object, metav1.CreateOptions{})
	if err != nil {
		w.t.Errorf("create %s: %v", pod, err)
		return nil
	}
	m := &member{db: db, pool: p, pod: pod, uid: made.UID, revision: p.update, drain: rollcallv1.Drain_DRAIN_NONE, changed: map[chan struct{}]struct{}{}}
	m.listen(!db.bare)
	db.members[pod], w.byIP[ip] = m, m
	return m
}

// listen is the start of the pod's agent, if it has one. mu is held.
func (m *member) listen(agent bool) {
	server, listener := grpc.NewServer(), bufconn.Listen(64<<10)
	if agent {
		rollcallv1.RegisterAgentServiceServer(server, m)
	}
	go func() { _ = server.Serve(listener) }()
	m.server, m.listener = server, listener
}

// strand takes a pod's node away: nothing of it runs any more.
func (db *database) strand(name string) {
	w := db.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := db.members[name]
	pod, _ := w.server.Pod(namespace, name)
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now()}}}
	pods := w.admin.Kubernetes.CoreV1().Pods(namespace)
	made, err := pods.Update(context.Background(), pod, metav1.UpdateOptions{})
	if err == nil {
		made.Status = pod.Status
		_, err = pods.UpdateStatus(context.Background(), made, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Errorf("strand %s: %v", name, err)
	}
	m.live, db.stranded = false, map[string]types.UID{name: m.uid}
	if db.leader == name {
		db.leader = ""
	}
	go m.server.Stop()
	db.told()
}

// setState writes what the kubelet would: running, or crashing again and again; ready or not.
func setState(pod *corev1.Pod, broken, ready bool) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	db := corev1.ContainerStatus{Name: "db", State: running, Ready: ready, Started: &ready}
	if broken {
		db.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		db.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
		db.RestartCount = 3
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{db}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, State: running, Ready: true, Started: new(true)}}
	is := corev1.ConditionFalse
	if ready {
		is = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: is, LastTransitionTime: metav1.Now()},
	}
}

// goLive makes a pod Ready and a member of its database. mu is held.
func (db *database) goLive(m *member) {
	m.live, m.settled = true, time.Now()
	if db.leader == "" && db.mayLead(m) {
		db.leader = m.pod
	}
	if pod, ok := db.w.server.Pod(namespace, m.pod); ok && pod.UID == m.uid {
		setState(pod, false, m.revision != db.unreadyOn)
		if _, err := db.w.admin.Kubernetes.CoreV1().Pods(namespace).UpdateStatus(context.Background(), pod, metav1.UpdateOptions{}); err != nil {
			db.w.t.Errorf("%s Ready: %v", m.pod, err)
		}
	}
	db.told()
}

// mayLead: managers lead where there are any, else who holds data.
func (db *database) mayLead(m *member) bool {
	return m.pool.manages || !m.pool.empty && !slices.ContainsFunc(db.pools, func(p *pool) bool { return p.manages })
}

// told wakes all report streams. mu is held.
func (db *database) told() {
	for _, m := range db.members {
		for c := range m.changed {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// removed is the kubelet and the StatefulSet controller.
func (w *world) removed(pod *corev1.Pod) {
	w.mu.Lock()
	db := w.dbs[pod.Labels["app"]]
	m := db.members[pod.Name]
	w.removals = append(w.removals, pod.Name+" "+m.revision)
	m.stopping = true
	w.mu.Unlock()
	go func() {
		time.Sleep(2 * time.Second)
		w.mu.Lock()
		m.live = false
		if db.leader == m.pod {
			db.leader = ""
			for _, name := range slices.Sorted(keys(db.members)) {
				if other := db.members[name]; other.live && db.mayLead(other) && db.leader == "" {
					db.leader = name
				}
			}
		}
		db.told()
		delete(db.members, m.pod)
		w.mu.Unlock()
		m.server.Stop()
		if w.stuck[pod.Name] {
			return
		}
		w.server.EndPod(namespace, pod.Name, pod.UID)
		time.Sleep(time.Second)
		w.mu.Lock()
		next := db.create(m.pool, pod.Name)
		w.mu.Unlock()
		time.Sleep(db.start)
		w.mu.Lock()
		defer w.mu.Unlock()
		if next != nil && db.members[next.pod] == next && !next.stopping && !db.broken[next.revision] {
			db.goLive(next)
		}
	}()
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// roll makes a new template in every pool.
func (db *database) roll(revision string) {
	for _, p := range db.pools {
		db.rollPool(p, revision)
	}
}

func (db *database) rollPool(p *pool, revision string) {
	db.w.mu.Lock()
	p.update = revision
	db.w.mu.Unlock()
	sets := db.w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
	set, err := sets.Get(context.Background(), p.name, metav1.GetOptions{})
	require.NoError(db.w.t, err)
	set.Generation++
	set, err = sets.Update(context.Background(), set, metav1.UpdateOptions{})
	require.NoError(db.w.t, err)
	set.Status.ObservedGeneration, set.Status.UpdateRevision = set.Generation, revision
	_, err = sets.UpdateStatus(context.Background(), set, metav1.UpdateOptions{})
	require.NoError(db.w.t, err)
}

// gone are the pods that were removed so far, each with its revision.
func (w *world) gone() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.removals)
}

func (w *world) whileClaimed() string {
	for _, db := range w.dbs {
		if c := db.object(); c != nil && len(c.Status.Claims) > 0 {
			return " while claimed"
		}
	}
	return ""
}

// left is what agents have applied and not undone, by claim.
func (db *database) left() map[string]string {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	return maps.Clone(db.applied)
}

// hang lets the agents take orders and not answer, or answer again.
func (db *database) hang(hung bool) {
	db.w.mu.Lock()
	defer db.w.mu.Unlock()
	db.hung = hung
}

// process is one coordinator, without an election.
type process struct {
	board  *status.Board
	guard  *guard.Guard
	client *kubetest.Client
	stop   context.CancelFunc
	done   chan struct{}

	// decided counts decisions.
	decided atomic.Int64

	mu     sync.Mutex
	writes map[string]int
	lists  int
	// sequence of the writes, each with " while claimed" when it was sent after a claim.
	sequence []string
}

func (p *process) Decided(*status.Decision, status.Decision) { p.decided.Add(1) }

func (p *process) Gone(Key) {}

type noTerm struct{}

func (noTerm) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (w *world) start() *process {
	p := &process{done: make(chan struct{}), writes: map[string]int{}}
	p.board = status.NewBoard(p)
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
		if w.hangs != nil && w.hangs(c) {
			<-w.released
			return nil, errors.New("the connection was lost")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.Verb == "list" {
			p.lists++
		}
		if c.Write() {
			p.writes[c.Verb+" "+c.Resource]++
			p.sequence = append(p.sequence, c.Verb+" "+c.Resource+w.whileClaimed())
		}
		return nil, nil
	})
	if w.onClient != nil {
		w.onClient(p.client)
	}
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	if testing.Short() {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	cache, err := kube.New(kube.Options{Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Logger: log})
	require.NoError(w.t, err)
	streams, err := agents.New(agents.Options{Plaintext: true, Logger: log, Dial: func(ctx context.Context, address string) (net.Conn, error) {
		ip, _, _ := net.SplitHostPort(address)
		w.mu.Lock()
		m := w.byIP[ip]
		if m == nil || w.deaf[m.revision] {
			w.mu.Unlock()
			return nil, errors.New("connection refused")
		}
		listener := m.listener
		w.mu.Unlock()
		return listener.DialContext(ctx)
	}})
	require.NoError(w.t, err)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(w.t.Context())
	p.stop = stop
	if w.guarded {
		p.guard, err = guard.New(guard.Options{Kubernetes: p.client.Kubernetes, Cache: cache, Logger: log})
		require.NoError(w.t, err)
		running.Go(func() { _ = p.guard.Watch(ctx) })
	}
	o := Options{Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Cache: cache, Agents: streams, Board: p.board, Logger: log, FirstLooks: w.firstLooks}
	if p.guard != nil {
		o.Guard = p.guard
	}
	if w.provision != nil {
		o.Provision = func(_ context.Context, objects kube.ClusterObjects) (time.Time, error) {
			return time.Time{}, w.provision(Key{Namespace: objects.Cluster.Namespace, Name: objects.Cluster.Name})
		}
	}
	c, err := New(o)
	require.NoError(w.t, err)
	running.Go(func() { _ = cache.Run(ctx) })
	running.Go(func() { _ = streams.Run(ctx) })
	running.Go(func() {
		for w.guarded && !p.guard.Synced() && ctx.Err() == nil { // as the election waits
			time.Sleep(100 * time.Millisecond)
		}
		_ = c.Lead(ctx, noTerm{})
	})
	go func() {
		running.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) end() {
	p.stop()
	<-p.done
}

// total of writes so far, other than Events.
func (p *process) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, count := range p.writes {
		n += count
	}
	return n
}

// listed counts the lists so far.
func (p *process) listed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists
}

// object is the DatabaseCluster; nil when it is gone.
func (db *database) object() *v1alpha1.DatabaseCluster {
	cluster, _ := db.w.server.Cluster(namespace, db.name)
	return cluster
}

func (db *database) status() v1alpha1.Status {
	cluster, ok := db.w.server.Cluster(namespace, db.name)
	require.True(db.w.t, ok)
	return cluster.Status
}

// stop ends all agents, so that nothing outlives the test.
func (w *world) end() {
	time.Sleep(10 * time.Second) // kubelets finish
	w.stopAgents()
}

func (w *world) stopAgents() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, db := range w.dbs {
		for _, m := range db.members {
			m.server.Stop()
		}
	}
}

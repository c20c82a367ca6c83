package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
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
	// guarded is true if coordinators have a guard.
	guarded bool
	// hangs are requests of coordinators that are not answered before released is closed.
	hangs    func(kubetest.Call) bool
	released chan struct{}
	// provision is what coordinators do for a cluster's pods. It is nil if nothing.
	provision func(Key) error
	// stuck are pods whose objects stay when they are deleted.
	stuck map[string]bool
	// written is called after each write of a coordinator. It is nil if nobody looks.
	written func(kubetest.Call)
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
	writes     int               // how often drains changed it
	old        string            // the pod whose agent knows of no such setting

	// onePrimary is true if the leader alone takes the writes. labels is what is seen of that.
	onePrimary bool
	// fixed is the only pod that may lead. It is empty if several may.
	fixed string
	// nameless is true if a fixed primary does not know which replicas it has.
	nameless bool
	labels   labelOracle

	// said is what somebody in between makes of a pod's report. It is nil if nobody is.
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

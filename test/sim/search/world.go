package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

const (
	namespace, database      = "prod", "search"
	revisionLabel            = "controller-revision-hash"
	oldRevision, newRevision = "v1", "v2"
	// members is what the database knows about live members.
	members = "the members"
	// answers stands for how many answers may still be lost, all for whatever there is.
	answers = "answers"
	all     = "all"
	look    = "look at"
	// retry is when a leader tries again to write a status whose answer was lost.
	retry = 100 * time.Millisecond
)

var (
	everyPod   = append([]string{members}, names...)
	names      = []string{"s-0", "s-1", "s-2"}
	errNoAgent = errors.New("no agent is there")
)

// world is a database of three pods, of which one may be unavailable, with one shard on all of
// them, two leaders, and the oracle.
type world struct {
	server   *apiserver.Server
	careless Careless
	leaders  []*leader
	live     map[types.UID]bool
	heard    map[string]int64 // highest epoch that each agent has heard of
	prepared map[string]bool

	// claimed are the claims that were ever written, by UID and epoch.
	claimed map[string]bool
	// removed counts removals by pod name; epochs has the leader of each epoch.
	removed map[string]int
	epochs  map[int64]string
	highest int64
	wrong   string

	// versions are digests of each object and its writers.
	versions map[string]digest
	began    time.Time
	// losses and terms are how many answers may still be lost, and how often a
	// leader may take over.
	losses, terms int

	mu      sync.Mutex
	pending []*request
	floats  []*request
}

func newWorld(o Options) *world {
	w := &world{
		server: apiserver.New(), careless: o.Careless, losses: o.Losses, terms: o.Terms,
		live: map[types.UID]bool{}, heard: map[string]int64{}, prepared: map[string]bool{}, claimed: map[string]bool{},
		removed: map[string]int{}, epochs: map[int64]string{}, versions: map[string]digest{}, began: time.Now(),
	}
	one := model.Count(1)
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: database, UID: "u", Generation: 1}}
	cluster.Spec.Engine = model.Solr
	cluster.Spec.Policy.MaxUnavailable = &one
	cluster.Spec = cluster.Spec.WithDefaults()
	w.server.Put(apiserver.Clusters, cluster)
	for _, name := range names {
		w.start(name, oldRevision)
	}
	for _, name := range []string{"A", "B"} {
		l := &leader{w: w, name: name, notify: make(chan struct{}, 1), cached: cluster}
		l.pods, l.live, l.shown = w.pods(), maps.Clone(w.live), w.podsDigest()
		w.leaders = append(w.leaders, l)
	}
	return w
}

// The objects are never changed, so they may be kept.
func (w *world) cluster() *v1alpha1.DatabaseCluster {
	return apiserver.Get[*v1alpha1.DatabaseCluster](w.server, apiserver.Clusters, namespace, database)
}

// pod returns a pod, which always exists but may be stopping.
func (w *world) pod(name string) *corev1.Pod {
	return apiserver.Get[*corev1.Pod](w.server, apiserver.Pods, namespace, name)
}

func (w *world) pods() map[string]*corev1.Pod {
	pods := map[string]*corev1.Pod{}
	for _, name := range names {
		pods[name] = w.pod(name)
	}
	return pods
}

// start makes a pod of a revision, in place of one that has stopped, and a member of it.
func (w *world) start(name, revision string) {
	w.server.Drop(apiserver.Pods, namespace, name)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels: map[string]string{revisionLabel: revision, v1alpha1.LabelGuard: v1alpha1.GuardClosed}}}
	if err := w.server.Create(apiserver.Pods, pod); err != nil {
		panic(err)
	}
	w.live[pod.UID] = true
}

func (w *world) accuse(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// tookOver is called when a leader has raised the epoch and touched the pods.
func (w *world) tookOver(l *leader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other, ok := w.epochs[l.epoch]; ok {
		w.accuse("%s leads in epoch %d, which is %s's", l.name, l.epoch, other)
	}
	w.epochs[l.epoch] = l.name
	w.highest = max(w.highest, l.epoch)
}

// serve carries out a request of a leader.
func (w *world) serve(l *leader, epoch int64, r apiserver.Call) (runtime.Object, error) {
	w.server.Removing = func(removal apiserver.Removal) { w.judge(l, epoch, removal.Pod) }
	answer, err := w.server.Serve(r)
	if cluster, ok := answer.(*v1alpha1.DatabaseCluster); ok {
		for _, claim := range cluster.Status.Claims {
			w.claimed[fmt.Sprint(claim.UID, " in ", claim.Epoch)] = true
		}
	}
	return answer, err
}

// judge checks a removal that was carried out.
func (w *world) judge(l *leader, epoch int64, pod *corev1.Pod) {
	name := pod.Name
	w.live[pod.UID] = false
	w.change(members, l.history, "less "+name)
	w.removed[name]++
	covered := false
	for _, claim := range w.cluster().Status.Claims {
		covered = covered || claim.UID == string(pod.UID)
	}
	away := 0
	for _, p := range w.pods() {
		if p.DeletionTimestamp != nil || !w.live[p.UID] {
			away++
		}
	}
	touched, _, _ := strings.Cut(pod.Annotations[act.AnnotationEpoch], " ")
	by, _ := strconv.ParseInt(touched, 10, 64)
	switch {
	case away > 1:
		w.accuse("%d pods are unavailable, and 1 may be", away)
	case w.removed[name] > 1 || pod.Labels[revisionLabel] == newRevision:
		w.accuse("%s was removed although it had gone for this revision", name)
	case by > epoch:
		w.accuse("%s was removed in epoch %d after epoch %d touched it", name, epoch, by)
	case w.highest > epoch:
		w.accuse("%s was removed in epoch %d after epoch %d had taken over", name, epoch, w.highest)
	case !w.claimed[fmt.Sprint(string(pod.UID), " in ", epoch)]:
		w.accuse("%s was removed in epoch %d, which never claimed it", name, epoch)
	case !covered:
		w.accuse("%s was removed while no claim on it was open", name)
	case !w.prepared[string(pod.UID)]:
		w.accuse("%s was removed unprepared", name)
	case pod.Labels[v1alpha1.LabelGuard] != v1alpha1.GuardOpen:
		w.accuse("%s was removed with its guard closed", name)
	}
}

// back acts as the kubelet and the StatefulSet controller: a pod that was stopping has stopped, and
// the recreated pod is a member.
func (w *world) back(name string) {
	w.start(name, newRevision)
	w.change(name, digest{}, "back")
	w.change(members, digest{}, "and "+name)
}

// run runs the leaders until ctx ends.
func (w *world) run(ctx context.Context) *sync.WaitGroup {
	var running sync.WaitGroup
	for _, l := range w.leaders {
		running.Go(func() { l.run(ctx) })
	}
	return &running
}

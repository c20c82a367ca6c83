package act

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

const (
	namespace = "prod"
	name      = "search"
	revision  = "controller-revision-hash"
)

// world is a database of three pods with one shard on all of them, an API
// server, a StatefulSet controller with a kubelet, and an oracle that notes
// whatever must never be.
type world struct {
	t      *testing.T
	server *kubetest.Server
	pods   []string

	mu        sync.Mutex
	update    string
	live      map[types.UID]bool // members of the database
	broken    map[string]bool    // revisions whose pods never start
	applied   map[string]string  // claim -> pod UID: changes in the database
	handedOff []string           // who was relieved by whom
	undone    map[string]int
	removed   map[string]int // by pod name
	drained   map[string]bool
	epochs    map[string]int64 // highest epoch that each agent has heard of
	wrong     []string         // what the oracle saw
	fresh     int
	frozen    bool // agents do not answer
	// hidden is true if nothing is shown of the StatefulSet, which has lost its label or is gone.
	hidden  bool
	verdict model.Verdict
	// guard is the label of new pods; enforced: Kubernetes keeps those that are closed.
	guard    string
	enforced bool
	// maxUnavailable is how many may be, where it is more than one.
	maxUnavailable int
	// byForce is true if pods may go undrained, because a person said so.
	byForce bool
	// set is the controller of a StatefulSet that rolls its pods itself. It is nil if OnDelete.
	set *controller

	// disks keep the pods' data. It is nil if pods have no volume claims.
	disks *disks

	// stranded are the pods that find no node, by UID: nothing of them runs, and others
	// can empty them. nil: nobody empties others.
	stranded map[types.UID]bool

	// bare are the pods that have no agent yet, by UID, while others have.
	bare map[types.UID]bool
	// bareNext is true if the next pod comes without one.
	bareNext bool
	// agentless is true if no pod has an agent any more.
	agentless bool
	// plain is true if the database asks for no credentials.
	plain bool
	// setting is a setting of the whole database that drains write. It is nil if there is none.
	setting *setting

	// handed is the UID of a pod that somebody has made the leader again, though it is drained.
	handed   string
	handings int // how often an agent was asked about that

	// onLook may change what is seen.
	onLook func(*model.Snapshot)
	// onDrain may replace what an agent answers.
	onDrain func(to effect.Target, order effect.Order) (effect.Progress, error)
}

func newWorld(t *testing.T) *world {
	w := bareWorld(t)
	for _, pod := range w.pods {
		w.create(pod, "v1", true)
	}
	return w
}

// bareWorld has no pods yet.
func bareWorld(t *testing.T) *world {
	w := &world{
		t: t, server: kubetest.New(), pods: []string{"s-0", "s-1", "s-2"}, update: "v2",
		live: map[types.UID]bool{}, broken: map[string]bool{}, applied: map[string]string{}, undone: map[string]int{},
		guard: v1alpha1.GuardClosed, enforced: true, verdict: model.VerdictGreen, removed: map[string]int{}, drained: map[string]bool{}, epochs: map[string]int64{},
	}
	w.server.Removed = w.podRemoved
	admin := w.server.Client(nil)
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}}
	one := model.Count(1)
	cluster.Spec.Engine = model.Solr
	cluster.Spec.Policy.MaxUnavailable = &one
	cluster.Spec = cluster.Spec.WithDefaults()
	_, err := admin.Clusters.DatabaseClusters(namespace).Create(t.Context(), cluster, metav1.CreateOptions{})
	require.NoError(t, err)
	return w
}

func (w *world) create(pod, rev string, live bool) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod, Labels: map[string]string{revision: rev, v1alpha1.LabelCluster: name}},
		Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer}}}}
	if w.guard != "" {
		object.Labels[v1alpha1.LabelGuard] = w.guard
	}
	w.mu.Lock()
	bare := w.bareNext
	if w.agentless || bare {
		object.Spec.InitContainers = nil
	}
	w.bareNext = false
	w.mu.Unlock()
	if w.disks != nil {
		w.disks.attach(object)
	}
	// What the world knows of a pod is known from the moment at which the API server has it.
	w.mu.Lock()
	defer w.mu.Unlock()
	made, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Create(context.Background(), object, metav1.CreateOptions{})
	if err != nil {
		w.accuse("create %s: %v", pod, err)
		return
	}
	w.live[made.UID] = live
	if bare {
		w.bare[made.UID] = true
	}
	if w.disks != nil {
		w.disks.use(made)
	}
}

// podRemoved is the kubelet and the StatefulSet controller.
func (w *world) podRemoved(pod *corev1.Pod) {
	w.mu.Lock()
	w.removed[pod.Name]++
	w.live[pod.UID] = false
	w.judge(pod)
	w.mu.Unlock()
	go func() {
		time.Sleep(2 * time.Second)
		w.server.EndPod(namespace, pod.Name, pod.UID)
		if w.disks != nil {
			w.disks.detach(pod)
		}
		if w.set != nil {
			return
		}
		time.Sleep(time.Second)
		w.mu.Lock()
		rev := w.update
		w.mu.Unlock()
		w.start(pod.Name, rev)
	}()
}

// start makes a pod, which is live after five seconds if its revision works.
func (w *world) start(pod, rev string) {
	w.create(pod, rev, false)
	time.Sleep(5 * time.Second)
	w.mu.Lock()
	defer w.mu.Unlock()
	if next, ok := w.server.Pod(namespace, pod); ok && !w.broken[rev] {
		w.live[next.UID] = next.DeletionTimestamp == nil
	}
}

func (w *world) snapshotNow() model.Snapshot {
	cluster, _ := w.server.Cluster(namespace, name)
	return w.snapshot(cluster)
}

// snapshot is what a coordinator would make of the world.
func (w *world) snapshot(cluster *v1alpha1.DatabaseCluster) model.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := model.Snapshot{
		Version: model.Version, Now: model.At(time.Now()),
		Cluster: model.Cluster{
			Namespace: namespace, Name: name, UID: string(cluster.UID), Spec: cluster.Spec,
			Status: model.Status{Epoch: cluster.Status.Epoch, Claims: cluster.Status.Claims, Initialized: true},
			Paused: cluster.Annotations[v1alpha1.AnnotationPaused] == "true", Window: model.WindowState{Open: true},
			Engine: model.EngineFacts{MaxMajorStep: 1}, GuardEnforcing: w.enforced,
		},
		Pools: []model.Pool{{Name: "s", Replicas: int32(len(w.pods)), Revision: w.update, Observed: true,
			Management: model.ManagementParallel, Strategy: model.StrategyOnDelete}},
		Health: model.Health{Verdict: w.verdict},
	}
	if w.hidden {
		s.Pools = nil
		return s
	}
	if w.set != nil {
		s.Pools[0] = w.set.pool(s.Pools[0], cluster.Spec.Update.RollingUpdate)
	}
	group := model.Group{ID: "books/1", Kind: model.GroupShard, NeedsLeader: true}
	for i, pod := range w.pods {
		p := model.Pod{Name: pod, Pool: "s", Ordinal: int32(i), Node: "n", Zone: "z", Agent: true, EstimateSeconds: 8,
			Since: model.At(time.Now().Add(-time.Second)), Phase: model.PodPhaseMissing, Guard: model.GuardNone}
		object, ok := w.server.Pod(namespace, pod)
		state := model.MemberDown
		if ok {
			p.UID, p.Revision = string(object.UID), object.Labels[revision]
			p.Phase = model.PodPhaseStarted
			switch object.Labels[v1alpha1.LabelGuard] {
			case v1alpha1.GuardClosed:
				p.Guard = model.GuardClosed
			case v1alpha1.GuardOpen:
				p.Guard = model.GuardOpen
			}
			p.Report = &model.Report{UID: p.UID, Self: true, Fresh: true, Member: model.MembershipNotLive}
			if w.live[object.UID] {
				p.Phase, p.Report.Member, p.Report.Settled, state = model.PodPhaseReady, model.MembershipLive, true, model.MemberActive
			} else if w.broken[p.Revision] {
				p.Phase, p.Problem = model.PodPhaseFailed, model.ProblemCrashLoop
			}
			if w.drained[p.UID] {
				p.Report.Drain = model.DrainDone
			}
			if object.DeletionTimestamp != nil {
				p.Phase = model.PodPhaseTerminating
			}
			if w.frozen {
				p.Report = nil
			}
			if w.stranded[object.UID] && object.DeletionTimestamp == nil {
				p.Phase, p.Problem, p.Report, p.Node = model.PodPhasePending, model.ProblemUnschedulable, nil, ""
			}
		}
		if ok && w.bare[object.UID] {
			p.Agent, p.Report.Self = false, false
		}
		if w.agentless {
			p.Agent, p.Report, p.Since = false, nil, model.At(time.Now().Add(-time.Minute)) // and so soaked
		}
		if w.disks != nil {
			w.disks.tell(&p)
		}
		s.Pods = append(s.Pods, p)
		if w.disks != nil && !w.disks.holds(object) {
			continue
		}
		leads := w.handed == "" && !w.drained[p.UID] && state == model.MemberActive && !slices.ContainsFunc(group.Members, func(m model.Member) bool { return m.Leader })
		group.Members = append(group.Members, model.Member{ID: "core_" + pod, Pod: pod, State: state, Eligible: true, Leader: leads || p.UID == w.handed})
	}
	if !w.agentless { // else nobody tells of any
		s.Groups = []model.Group{group}
	}
	if w.onLook != nil {
		w.onLook(&s)
	}
	return s
}

// versions are the pods' resourceVersions, by UID.
func (w *world) versions() map[string]string {
	out := map[string]string{}
	for _, pod := range w.pods {
		if p, ok := w.server.Pod(namespace, pod); ok {
			out[string(p.UID)] = p.ResourceVersion
		}
	}
	return out
}

// done reports whether all pods run the update revision and are back, and nothing is open.
func (w *world) done() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	cluster, _ := w.server.Cluster(namespace, name)
	for _, pod := range w.pods {
		p, ok := w.server.Pod(namespace, pod)
		if !ok || p.DeletionTimestamp != nil || p.Labels[revision] != w.update || !w.live[p.UID] {
			return false
		}
	}
	if w.disks != nil && !w.disks.done() {
		return false
	}
	return len(cluster.Status.Claims)+len(cluster.Status.ClusterSettings)+len(cluster.Status.PendingRestores) == 0 && (w.set == nil || w.set.done())
}

func (w *world) describe() string {
	cluster, _ := w.server.Cluster(namespace, name)
	plan := policy.Decide(w.snapshot(cluster))
	var b strings.Builder
	fmt.Fprintf(&b, "claims %+v\n%s", cluster.Status.Claims, plan.Text())
	return b.String()
}

package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
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

	mu       sync.Mutex
	update   string
	live     map[types.UID]bool // members of the database
	broken   map[string]bool    // revisions whose pods never start
	applied  map[string]string  // claim -> pod UID: changes in the database
	relieved []string           // who was relieved by whom
	undone   map[string]int
	removed  map[string]int // by pod name
	prepared map[string]bool
	epochs   map[string]int64 // highest epoch that each agent has heard of
	wrong    []string         // what the oracle saw
	fresh    int
	frozen   bool // agents do not answer
	verdict  policy.Verdict

	// onPrepare may replace what an agent answers.
	onPrepare func(to Target, order Order) (Progress, error)
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, server: kubetest.New(), pods: []string{"s-0", "s-1", "s-2"}, update: "v2",
		live: map[types.UID]bool{}, broken: map[string]bool{}, applied: map[string]string{}, undone: map[string]int{},
		verdict: policy.Green, removed: map[string]int{}, prepared: map[string]bool{}, epochs: map[string]int64{},
	}
	w.server.Removed = w.podRemoved
	admin := w.server.Client(nil)
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}}
	one := policy.Count(1)
	cluster.Spec.Engine = policy.Solr
	cluster.Spec.Policy.MaxUnavailable = &one
	cluster.Spec = cluster.Spec.WithDefaults()
	_, err := admin.Clusters.DatabaseClusters(namespace).Create(t.Context(), cluster, metav1.CreateOptions{})
	require.NoError(t, err)
	for _, pod := range w.pods {
		w.create(pod, "v1", true)
	}
	return w
}

func (w *world) create(pod, rev string, live bool) {
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod,
		Labels: map[string]string{revision: rev, v1alpha1.LabelGuard: v1alpha1.GuardClosed}}}
	made, err := w.server.Client(nil).Kubernetes.CoreV1().Pods(namespace).Create(context.Background(), object, metav1.CreateOptions{})
	if err != nil {
		w.accuse("create %s: %v", pod, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.live[made.UID] = live
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
		time.Sleep(time.Second)
		w.mu.Lock()
		rev := w.update
		w.mu.Unlock()
		w.create(pod.Name, rev, false)
		time.Sleep(5 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		if next, ok := w.server.Pod(namespace, pod.Name); ok && !w.broken[rev] {
			w.live[next.UID] = true
		}
	}()
}

// judge is the oracle's look at a removal.
func (w *world) judge(pod *corev1.Pod) {
	cluster, _ := w.server.Cluster(namespace, name)
	ours := slices.ContainsFunc(cluster.Status.Claims, func(c policy.Claim) bool {
		return c.UID == string(pod.UID) && c.ID == pod.Annotations[v1alpha1.AnnotationClaim]
	})
	if !ours {
		w.accuse("%s was removed without a claim", pod.Name)
	}
	if pod.Labels[v1alpha1.LabelGuard] != v1alpha1.GuardOpen {
		w.accuse("%s was removed with its guard %s", pod.Name, pod.Labels[v1alpha1.LabelGuard])
	}
	away := 0
	for _, other := range w.pods {
		if p, ok := w.server.Pod(namespace, other); !ok || p.UID == pod.UID || p.DeletionTimestamp != nil || !w.live[p.UID] {
			away++
		}
	}
	if away > 1 {
		w.accuse("%d pods away after %s", away, pod.Name)
	}
	if !w.prepared[string(pod.UID)] && !w.broken[pod.Labels[revision]] {
		w.accuse("%s was removed unprepared", pod.Name)
	}
}

func (w *world) accuse(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *world) snapshotNow() policy.Snapshot {
	cluster, _ := w.server.Cluster(namespace, name)
	return w.snapshot(cluster)
}

// snapshot is what a coordinator would make of the world.
func (w *world) snapshot(cluster *v1alpha1.DatabaseCluster) policy.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := policy.Snapshot{
		Version: policy.Version, Now: policy.At(time.Now()),
		Cluster: policy.Cluster{
			Namespace: namespace, Name: name, UID: string(cluster.UID), Spec: cluster.Spec,
			Status: policy.Status{Epoch: cluster.Status.Epoch, Claims: cluster.Status.Claims, Initialized: true},
			Paused: cluster.Annotations[v1alpha1.AnnotationPaused] == "true", Window: policy.WindowState{Open: true},
			Engine: policy.EngineFacts{MaxMajorStep: 1},
		},
		Pools: []policy.Pool{{Name: "s", Replicas: int32(len(w.pods)), Revision: w.update, Observed: true,
			Management: policy.Parallel, Strategy: policy.OnDelete}},
		Health: policy.Health{Verdict: w.verdict},
	}
	group := policy.Group{ID: "books/1", Kind: policy.Shard, NeedsLeader: true}
	for i, pod := range w.pods {
		p := policy.Pod{Name: pod, Pool: "s", Ordinal: int32(i), Node: "n", Zone: "z", Agent: true, EstimateSeconds: 8,
			Since: policy.At(time.Now().Add(-time.Second)), Phase: policy.Missing, Guard: policy.GuardClosed}
		object, ok := w.server.Pod(namespace, pod)
		state := policy.Down
		if ok {
			p.UID, p.Revision = string(object.UID), object.Labels[revision]
			p.Phase = policy.Started
			p.Report = &policy.Report{UID: p.UID, Self: true, Fresh: true, Member: policy.NotLive}
			if w.live[object.UID] {
				p.Phase, p.Report.Member, p.Report.Settled, state = policy.Ready, policy.Live, true, policy.Active
			} else if w.broken[p.Revision] {
				p.Phase, p.Problem = policy.Failed, policy.CrashLoop
			}
			if object.DeletionTimestamp != nil {
				p.Phase = policy.Terminating
			}
			if w.frozen {
				p.Report = nil
			}
		}
		s.Pods = append(s.Pods, p)
		leads := state == policy.Active && !slices.ContainsFunc(group.Members, func(m policy.Member) bool { return m.Leader })
		group.Members = append(group.Members, policy.Member{ID: "core_" + pod, Pod: pod, State: state, Eligible: true, Leader: leads})
	}
	s.Groups = []policy.Group{group}
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

// agents is one process's access to the agents.
type agents struct {
	w *world
	// before is called with each order; an error is the answer.
	before func(call string) (after func() error, err error)
}

func (a *agents) call(ctx context.Context, what string, to Target, epoch int64, do func() error) error {
	after, err := a.before(what)
	if err != nil {
		return err
	}
	a.w.mu.Lock()
	frozen := a.w.frozen
	a.w.mu.Unlock()
	if frozen {
		<-ctx.Done()
		return ctx.Err()
	}
	err = func() error {
		a.w.mu.Lock()
		defer a.w.mu.Unlock()
		pod, ok := a.w.server.Pod(namespace, to.Pod)
		if !ok || string(pod.UID) != to.UID {
			return errors.New("no agent is there")
		}
		if epoch > 0 {
			if epoch < a.w.epochs[to.UID] {
				return ErrStaleEpoch
			}
			a.w.epochs[to.UID] = epoch
		}
		return do()
	}()
	if after != nil {
		if late := after(); late != nil {
			return late
		}
	}
	return err
}

func (a *agents) Plan(ctx context.Context, to Target, order Order) (undo []byte, err error) {
	err = a.call(ctx, "plan", to, order.Epoch, func() error { undo = []byte("undo " + order.Claim); return nil })
	return undo, err
}

func (a *agents) Prepare(ctx context.Context, to Target, order Order, undo []byte) (p Progress, err error) {
	err = a.call(ctx, "prepare", to, order.Epoch, func() error {
		if string(undo) != "undo "+order.Claim {
			a.w.accuse("prepare of %s with undo %q", to.Pod, undo)
		}
		cluster, _ := a.w.server.Cluster(namespace, name)
		stored := slices.ContainsFunc(cluster.Status.Claims, func(c policy.Claim) bool { return c.ID == order.Claim && len(c.Undo) > 0 })
		if !stored {
			a.w.accuse("prepare of %s before its undo was stored", to.Pod)
		}
		p = Progress{State: policy.DrainPrepared}
		if a.w.onPrepare != nil {
			if p, err = a.w.onPrepare(to, order); err != nil {
				return err
			}
		}
		a.w.applied[order.Claim] = to.UID
		a.w.prepared[to.UID] = a.w.prepared[to.UID] || p.State == policy.DrainPrepared
		return nil
	})
	return p, err
}

func (a *agents) Relieve(ctx context.Context, to Target, order Order, member string) (p Progress, err error) {
	err = a.call(ctx, "relieve", to, order.Epoch, func() error {
		a.w.relieved = append(a.w.relieved, member+" by "+to.Pod)
		p = Progress{State: policy.DrainPrepared}
		return nil
	})
	return p, err
}

func (a *agents) Unaided(context.Context, Target, Order) (Progress, error) {
	return Progress{}, errors.New("there are agents")
}

func (a *agents) Restore(ctx context.Context, to Target, claim string, epoch int64, _ []byte) (done bool, err error) {
	err = a.call(ctx, "restore", to, epoch, func() error {
		uid := a.w.applied[claim]
		pod, here := a.podOf(uid)
		switch {
		case uid == "":
		case here && to.UID != uid:
			a.w.accuse("restore of a pod that is there, by another's agent")
		case here && pod.DeletionTimestamp != nil:
			a.w.accuse("restore while %s terminates", pod.Name)
		case !here && !a.w.live[types.UID(to.UID)] && !a.w.anyBroken():
			a.w.accuse("restore before the pod was back")
		}
		if here {
			delete(a.w.prepared, uid)
			if pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen {
				a.w.accuse("restore of %s with its guard open", pod.Name)
			}
		}
		delete(a.w.applied, claim)
		a.w.undone[claim]++
		done = true
		return nil
	})
	return done, err
}

func (w *world) anyBroken() bool { return len(w.broken) > 0 }

func (a *agents) podOf(uid string) (*corev1.Pod, bool) {
	for _, pod := range a.w.pods {
		if p, ok := a.w.server.Pod(namespace, pod); ok && string(p.UID) == uid {
			return p, true
		}
	}
	return nil, false
}

func (a *agents) Fresh(ctx context.Context, to Target) error {
	return a.call(ctx, "fresh", to, 0, func() error { a.w.fresh++; return nil })
}

// process is one coordinator's part for the one cluster: the loop around an
// Actor, as short as it can be. It crashes at a call of its own choice.
type process struct {
	w      *world
	client *kubetest.Client
	agents *agents
	actor  *Actor
	ctx    context.Context
	kill   context.CancelFunc
	notify chan struct{}
	writes map[string]int
	calls  []string

	mu      sync.Mutex
	crashAt int  // number of the call; 0 = never
	late    bool // after the call was carried out
	dead    bool
}

var errCrashed = errors.New("the process has crashed")

func newProcess(w *world, crashAt int, late bool) *process {
	p := &process{w: w, notify: make(chan struct{}, 1), writes: map[string]int{}, crashAt: crashAt, late: late}
	p.ctx, p.kill = context.WithCancel(w.t.Context())
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
		after, err := p.count(c.Verb + " " + c.Resource)
		if err == nil && c.Write() {
			p.mu.Lock()
			p.writes[c.Verb+" "+c.Resource]++
			p.mu.Unlock()
		}
		return after, err
	})
	p.agents = &agents{w: w, before: p.count}
	return p
}

func (p *process) count(what string) (func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, errCrashed
	}
	p.calls = append(p.calls, what)
	if p.crashAt == 0 || len(p.calls) != p.crashAt {
		return nil, nil
	}
	die := func() error {
		p.dead = true
		p.kill()
		return errCrashed
	}
	if p.late {
		return func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			return die()
		}, nil
	}
	return nil, die()
}

// start takes the cluster over, as a new leader does.
func (p *process) start() error {
	for {
		cluster, err := p.client.Clusters.DatabaseClusters(namespace).Get(p.ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		taken, err := TakeOver(p.ctx, p.client.Clusters, p.client.Kubernetes, cluster, 0, policy.At(time.Now()))
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return err
		}
		p.actor, err = New(Options{
			Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Agents: p.agents,
			Namespace: namespace, Name: name, UID: string(taken.UID), Epoch: taken.Status.Epoch,
			Notify: p.poke, Logger: slog.New(slog.DiscardHandler),
		})
		return err
	}
}

func (p *process) poke() {
	select {
	case p.notify <- struct{}{}:
	default:
	}
}

// pass is one turn of the loop. It reads the world itself, like a cache that is
// never behind.
func (p *process) pass() (Outcome, bool) {
	cluster, _ := p.w.server.Cluster(namespace, name)
	return p.passOn(cluster, p.w.snapshot(cluster))
}

func (p *process) passOn(cluster *v1alpha1.DatabaseCluster, s policy.Snapshot) (Outcome, bool) {
	return p.advance(cluster, s, p.w.versions())
}

func (p *process) advance(cluster *v1alpha1.DatabaseCluster, s policy.Snapshot, versions map[string]string) (Outcome, bool) {
	p.actor.Annotate(&s)
	out := p.actor.Advance(p.ctx, Situation{Now: time.Now(), Cluster: cluster, Snapshot: s, Versions: versions, Plan: policy.Decide(s)})
	if out.Deposed {
		return out, false
	}
	if out.Edits.Urgent() {
		next := cluster.DeepCopy()
		out.Edits.Apply(&next.Status)
		_, err := p.client.Clusters.DatabaseClusters(namespace).UpdateStatus(p.ctx, next, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) {
			return out, false
		}
		p.poke()
	}
	return out, true
}

// run goes on until the world is done, the process crashes or time is up.
func (p *process) run(limit time.Duration) {
	defer func() {
		p.kill()
		if p.actor != nil {
			p.actor.Wait()
		}
	}()
	if p.actor == nil {
		if err := p.start(); err != nil {
			if !p.dead {
				p.w.t.Error(err)
			}
			return
		}
	}
	tick := time.NewTicker(100 * time.Millisecond) // events of the world
	defer tick.Stop()
	end := time.After(limit)
	for p.ctx.Err() == nil && !p.w.done() {
		if _, ok := p.pass(); !ok {
			return
		}
		select {
		case <-p.ctx.Done():
		case <-p.notify:
		case <-tick.C:
		case <-end:
			return
		}
	}
}

// done: everybody runs the update revision and is back, and nothing is open.
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
	return len(cluster.Status.Claims) == 0
}

// requireClean asks the oracle.
func (w *world) requireClean() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.wrong)
	require.Empty(w.t, w.applied, "left behind in the database")
}

func (w *world) requireRolled(times int) {
	w.t.Helper()
	w.requireClean()
	require.True(w.t, w.done(), "not rolled out: %s", w.describe())
	for _, pod := range w.pods {
		require.Equal(w.t, times, w.removed[pod], pod)
		object, _ := w.server.Pod(namespace, pod)
		require.Empty(w.t, object.Annotations[v1alpha1.AnnotationClaim])
	}
}

func (w *world) describe() string {
	cluster, _ := w.server.Cluster(namespace, name)
	plan := policy.Decide(w.snapshot(cluster))
	var b strings.Builder
	fmt.Fprintf(&b, "claims %+v\n%s", cluster.Status.Claims, plan.Text())
	return b.String()
}

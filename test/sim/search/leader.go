package search

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// leader is a coordinator's loop around rollout.Step, as short as possible. What it does depends
// only on the answers and caches that it gets, so its history stands for its state.
type leader struct {
	w      *world
	name   string
	notify chan struct{}
	// history is a digest of all answers and caches that it got.
	history digest

	epoch  int64
	claims int
	terms  int
	// members and clusterShown are what agents and the other cache have told of.
	members, clusterShown digest
	// shown is what its cache of pods shows.
	shown digest
	// newest is the DatabaseCluster as this leader wrote or read it last; the
	// others are its caches, which lag behind.
	newest, cached *v1alpha1.DatabaseCluster
	pods           map[string]*corev1.Pod
	live           map[types.UID]bool
	wake           time.Time
	state          rollout.State
}

func (l *leader) run(ctx context.Context) {
	for l.terms < l.w.terms && ctx.Err() == nil {
		l.lead(ctx) // a leader that lost a race begins again
	}
}

// lead takes the database cluster over and makes passes until it loses the leadership.
func (l *leader) lead(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	l.forget()
	live, err := l.asks(itself).DatabaseClusters(namespace).Get(ctx, database, metav1.GetOptions{})
	if err != nil {
		cancel()
		return
	}
	taken, err := act.TakeOver(ctx, l.asks(itself), l.asks(takingOver).Kubernetes(), live, 0, context.WithCancel)
	if err != nil {
		cancel()
		return
	}
	l.epoch, l.newest = taken.Cluster.Status.Epoch, taken.Cluster
	l.w.tookOver(l)
	executor, err := act.New(act.Options{
		Kubernetes: l.asks(executing).Kubernetes(), Clusters: l.asks(executing), Agents: agents{l},
		Namespace: namespace, Name: database, UID: string(taken.Cluster.UID), Epoch: l.epoch,
		Notify: l.poke, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	l.state = rollout.NewState(l.epoch, rollout.Before{})
	defer executor.Wait()
	defer cancel()
	for l.pass(ctx, executor) {
		select {
		case <-ctx.Done():
		case <-l.notify:
		}
	}
}

// forget resets a leader that begins again to its caches.
func (l *leader) forget() {
	select {
	case <-l.notify:
	default:
	}
	l.terms++
	l.epoch, l.newest, l.wake = 0, nil, time.Time{}
	l.history = digest{}.and(l.name, l.terms, l.claims, l.shown, l.members, l.clusterShown)
}

func (l *leader) newID() string {
	l.claims++
	return fmt.Sprint(l.name, l.claims)
}

func (l *leader) poke() {
	select {
	case l.notify <- struct{}{}:
	default:
	}
}

// known returns the newer of the cached object and the one that this leader has seen itself.
func (l *leader) known() *v1alpha1.DatabaseCluster {
	if l.newest == nil || version(l.cached) > version(l.newest) {
		return l.cached
	}
	return l.newest
}

func version(o metav1.Object) int64 {
	n, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// pass decides on what is known and carries it out. It returns false if the leader no longer leads.
func (l *leader) pass(ctx context.Context, executor *act.Executor) bool {
	if ctx.Err() != nil {
		return false
	}
	known := l.known()
	s := l.snapshot(known)
	versions := map[string]string{}
	for _, pod := range l.pods {
		versions[string(pod.UID)] = pod.ResourceVersion
	}
	now := time.Now()
	state, out := rollout.Step(l.state, rollout.Facts{
		Object: effect.Object{Generation: known.Generation}, Record: recordOf(known.Status),
		Snapshot: s, ResourceVersions: versions, Unlimited: true,
	}, executor.Results(now), now)
	if out.Superseded {
		return false
	}
	out.NameClaims(&state, l.newID)
	l.state = state
	executor.Start(ctx, out.Effects)
	l.wake = out.Wake
	if !out.Edits.Urgent() {
		return true
	}
	next := known.DeepCopy()
	record := recordOf(known.Status)
	out.Edits.Apply(&record)
	next.Status.Claims = record.Claims
	written, err := l.asks(itself).DatabaseClusters(namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		written, err = l.asks(itself).DatabaseClusters(namespace).Get(ctx, database, metav1.GetOptions{})
	}
	if err != nil {
		l.wake = time.Now().Add(retry)
		return ctx.Err() == nil
	}
	l.newest = written
	l.poke()
	return true
}

// seePods updates the cache of pods, and seeMembers that of the agents' reports.
func (l *leader) seePods() {
	l.pods = l.w.pods()
	l.seeMembers()
}

func (l *leader) seeMembers() {
	live := maps.Clone(l.w.live)
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.live, l.members = live, l.w.versions[members]
}

// snapshot returns the snapshot of a coordinator with these caches.
func (l *leader) snapshot(known *v1alpha1.DatabaseCluster) model.Snapshot {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	s := model.Snapshot{
		Version: model.Version, Now: model.At(time.Now()),
		Cluster: model.Cluster{
			Namespace: namespace, Name: database, UID: string(known.UID), Spec: known.Spec,
			Status: model.Status{Epoch: known.Status.Epoch, Claims: known.Status.Claims, Initialized: true},
			Window: model.WindowState{Open: true}, Engine: model.EngineFacts{MaxMajorStep: 1}, GuardEnforcing: true,
		},
		Pools: []model.Pool{{Name: "s", Replicas: int32(len(names)), Revision: newRevision, Observed: true,
			Management: model.ManagementParallel, Strategy: model.StrategyOnDelete}},
		Health: model.Health{Verdict: model.VerdictGreen},
	}
	group := model.Group{ID: "books/1", Kind: model.GroupShard, NeedsLeader: true}
	leads := false
	for i, name := range names {
		pod := l.pods[name]
		state, phase, member := model.MemberDown, model.PodPhaseStarted, model.MembershipNotLive
		if l.live[pod.UID] {
			state, phase, member = model.MemberActive, model.PodPhaseReady, model.MembershipLive
		}
		if pod.DeletionTimestamp != nil {
			phase = model.PodPhaseTerminating
		}
		drain := model.DrainNone
		if l.w.prepared[string(pod.UID)] {
			drain = model.DrainDone
		}
		guard := model.GuardClosed
		if pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen {
			guard = model.GuardOpen
		}
		s.Pods = append(s.Pods, model.Pod{
			Name: name, Pool: "s", Ordinal: int32(i), Node: "n", Zone: "z", Agent: true, EstimateSeconds: 8,
			UID: string(pod.UID), Revision: pod.Labels[revisionLabel], Phase: phase, Guard: guard,
			Since:  model.At(time.Now().Add(-time.Second)),
			Report: &model.Report{UID: string(pod.UID), Self: true, Fresh: true, Member: member, Settled: member == model.MembershipLive, Drain: drain},
		})
		leader := state == model.MemberActive && !leads
		leads = leads || leader
		group.Members = append(group.Members, model.Member{ID: "core_" + name, Pod: name, State: state, Eligible: true, Leader: leader})
	}
	s.Groups = []model.Group{group}
	return s
}

func recordOf(s v1alpha1.Status) rollout.Record {
	return rollout.Record{Epoch: s.Epoch, Claims: s.Claims}
}

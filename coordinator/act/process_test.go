package act

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
)

// process is one coordinator's part for the one cluster: the loop around a
// leader, as short as it can be. It crashes at a call of its own choice.
type process struct {
	w      *world
	client *kubetest.Client
	agents *agents
	leader *leader
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
		taken, err := TakeOver(p.ctx, p.client.Clusters, p.client.Kubernetes, cluster, 0, context.WithCancel)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return err
		}
		return p.lead(taken.Cluster, p.agents)
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
func (p *process) pass() (rollout.Outcome, bool) {
	cluster, _ := p.w.server.Cluster(namespace, name)
	return p.passOn(cluster, p.w.snapshot(cluster))
}

func (p *process) passOn(cluster *v1alpha1.DatabaseCluster, s model.Snapshot) (rollout.Outcome, bool) {
	return p.advance(cluster, s, p.w.versions())
}

func (p *process) advance(cluster *v1alpha1.DatabaseCluster, s model.Snapshot, versions map[string]string) (rollout.Outcome, bool) {
	out := p.leader.step(p.ctx, p.w.facts(cluster, s, versions))
	if out.Superseded {
		return out, false
	}
	if out.Edits.Urgent() {
		next := cluster.DeepCopy()
		applyEdits(&next.Status, out.Edits)
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
		if p.leader != nil {
			p.leader.Wait()
		}
	}()
	if p.leader == nil {
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

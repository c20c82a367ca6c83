package search

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicy "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Careless is what a client does wrong, to check that the search notices.
type Careless struct {
	// StatusVersion: the status is written whatever it is by now.
	StatusVersion bool
	// PodVersion: pods are opened and shut whatever they are by now.
	PodVersion bool
	// RemovalVersion: removals name no resourceVersion.
	RemovalVersion bool
	// RemovalUID: nor a UID.
	RemovalUID bool
	// Touch: a leader that takes over touches no pod.
	Touch bool
	// Reread: what is read before a pod is opened comes from the cache.
	Reread bool
	// Claims are kept in memory, and never written.
	Claims bool
}

// client is a leader's access to the API server; every request waits at the gate.
type client struct {
	kubernetes.Interface
	l *leader
	// taking: for the touches of a take-over.
	taking bool
}

func (c client) CoreV1() typedcore.CoreV1Interface       { return core{c: c} }
func (c client) PolicyV1() typedpolicy.PolicyV1Interface { return evicting{c: c} }

type core struct {
	typedcore.CoreV1Interface
	c client
}

func (k core) Pods(string) typedcore.PodInterface { return pods{c: k.c} }

type pods struct {
	typedcore.PodInterface
	c client
}

func (p pods) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return ask(ctx, p.c.l, call{verb: "read", object: name}, func() (*corev1.Pod, error) { return p.c.l.w.server.pod(name) })
}

func (p pods) Patch(ctx context.Context, name string, _ types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	l := p.c.l
	verb := "patch"
	switch {
	case p.c.taking && l.w.careless.Touch:
		return l.w.server.pod(name)
	case p.c.taking:
		verb = "touch"
	case l.w.careless.PodVersion:
		body = withoutVersion(body)
	}
	return ask(ctx, l, call{verb: verb, object: name, write: true}, func() (*corev1.Pod, error) { return l.w.server.patchPod(name, body) })
}

func withoutVersion(body []byte) []byte {
	var patch map[string]map[string]any
	if err := json.Unmarshal(body, &patch); err != nil {
		panic(err)
	}
	delete(patch["metadata"], "resourceVersion")
	out, err := json.Marshal(patch)
	if err != nil {
		panic(err)
	}
	return out
}

type evicting struct {
	typedpolicy.PolicyV1Interface
	c client
}

func (k evicting) Evictions(string) typedpolicy.EvictionInterface { return evictions{c: k.c} }

type evictions struct {
	typedpolicy.EvictionInterface
	c client
}

func (e evictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	l := e.c.l
	options, epoch := eviction.DeleteOptions.DeepCopy(), l.epoch
	if l.w.careless.RemovalVersion {
		options.Preconditions.ResourceVersion = nil
	}
	if l.w.careless.RemovalUID {
		options.Preconditions.UID = nil
	}
	_, err := ask(ctx, l, call{verb: "evict", object: eviction.Name, write: true}, func() (struct{}, error) {
		return struct{}{}, l.w.remove(l, epoch, eviction.Name, options)
	})
	return err
}

// clusters is a leader's access to the DatabaseCluster. An executor's reads are those
// before a pod is opened.
type clusters struct {
	l        *leader
	executor bool
}

func (c clusters) DatabaseClusters(string) v1alpha1.DatabaseClusters { return cluster{c: c} }

type cluster struct {
	v1alpha1.DatabaseClusters
	c clusters
}

func (k cluster) Get(ctx context.Context, _ string, _ metav1.GetOptions) (*v1alpha1.DatabaseCluster, error) {
	l := k.c.l
	if k.c.executor && (l.w.careless.Reread || l.w.careless.Claims) {
		return l.known().DeepCopy(), nil
	}
	return ask(ctx, l, call{verb: "read", object: database}, func() (*v1alpha1.DatabaseCluster, error) { return l.w.server.cluster.DeepCopy(), nil })
}

func (k cluster) UpdateStatus(ctx context.Context, next *v1alpha1.DatabaseCluster, _ metav1.UpdateOptions) (*v1alpha1.DatabaseCluster, error) {
	l := k.c.l
	next = next.DeepCopy()
	if l.w.careless.StatusVersion {
		next.ResourceVersion = ""
	}
	if l.w.careless.Claims && next.Status.Epoch == l.epoch {
		return next, nil
	}
	return ask(ctx, l, call{verb: "write the status of", object: database, write: true}, func() (*v1alpha1.DatabaseCluster, error) {
		return l.w.updateStatus(next)
	})
}

// agents is a leader's access to the pods' agents.
type agents struct{ l *leader }

// order carries an order out, which the agent of a pod refuses from a leader
// whose epoch is below the highest that it has heard of.
func (a agents) order(ctx context.Context, verb string, to effect.Target, epoch int64, do func()) error {
	w := a.l.w
	_, err := ask(ctx, a.l, call{verb: verb, object: "the agent of " + to.Pod, write: true}, func() (struct{}, error) {
		pod, err := w.server.pod(to.Pod)
		switch {
		case err != nil || string(pod.UID) != to.UID:
			return struct{}{}, errNoAgent
		case epoch < w.heard[to.UID]:
			return struct{}{}, effect.ErrStaleEpoch
		}
		w.heard[to.UID] = epoch
		do()
		return struct{}{}, nil
	})
	return err
}

func (a agents) Plan(ctx context.Context, to effect.Target, order effect.Order) ([]byte, effect.Shared, error) {
	return []byte("undo"), effect.Shared{}, a.order(ctx, "ask", to, order.Epoch, func() {})
}

func (a agents) Prepare(ctx context.Context, to effect.Target, order effect.Order, _ []byte) (effect.Progress, error) {
	if order.Anew { // it lasts; that its agent would refuse a former leader here must not be needed
		return effect.Progress{State: model.DrainPrepared}, nil
	}
	err := a.order(ctx, "order a drain of", to, order.Epoch, func() { a.l.w.prepared[to.UID] = true })
	return effect.Progress{State: model.DrainPrepared}, err
}

func (a agents) Restore(ctx context.Context, to effect.Target, _ string, epoch int64, _ []byte) (bool, error) {
	err := a.order(ctx, "order a restore of", to, epoch, func() { delete(a.l.w.prepared, to.UID) })
	return err == nil, err
}

func (a agents) RestoreShared(context.Context, effect.Target, effect.Shared, int64, time.Time) (bool, error) {
	return false, errNoAgent // no prepare tells of a setting of the whole database
}

func (a agents) RestoreUnaided(context.Context, effect.Target, effect.Shared, time.Time) (bool, error) {
	return false, errNoAgent
}

func (a agents) Relieve(context.Context, effect.Target, effect.Order, string) (effect.Progress, error) {
	return effect.Progress{}, errNoAgent
}

func (a agents) Unaided(context.Context, effect.Target, effect.Order) (effect.Progress, error) {
	return effect.Progress{}, errNoAgent
}

func (a agents) Fresh(ctx context.Context, to effect.Target) error {
	_, err := ask(ctx, a.l, call{verb: look, object: members + " through " + to.Pod}, func() (struct{}, error) {
		pod, err := a.l.w.server.pod(to.Pod)
		if err != nil || string(pod.UID) != to.UID {
			return struct{}{}, errNoAgent
		}
		a.l.seeMembers()
		return struct{}{}, nil
	})
	return err
}

package search

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

// Careless is what a client does wrong, to check that the search notices.
type Careless struct {
	// StatusVersion means that the status is written without checking its version.
	StatusVersion bool
	// PodVersion means that guards of pods are opened and closed without checking the pod's
	// version.
	PodVersion bool
	// RemovalVersion means that removals name no resourceVersion.
	RemovalVersion bool
	// RemovalUID means that removals name no UID either.
	RemovalUID bool
	// Touch means that a leader that takes over touches no pod.
	Touch bool
	// Reread means that what is read before a pod is opened comes from the cache.
	Reread bool
	// Claims means that claims are kept in memory and never written.
	Claims bool
}

// role is what a leader makes a request for.
type role int

const (
	itself role = iota
	takingOver
	executing
)

// asks is a leader's access to the API server. Every request waits at the gate.
func (l *leader) asks(as role) apiserver.Ask {
	return func(ctx context.Context, r apiserver.Call) (runtime.Object, error) {
		c, careless, epoch := call{verb: r.Verb, object: r.Name, write: r.Write()}, l.w.careless, l.epoch
		switch r.Verb {
		case "get":
			c.verb = "read"
			if as == executing && r.Kind == apiserver.Clusters && (careless.Reread || careless.Claims) {
				return l.known().DeepCopy(), nil
			}
		case "update":
			c.verb = "write the status of"
			next := r.Object.DeepCopyObject().(*v1alpha1.DatabaseCluster)
			if careless.StatusVersion {
				next.ResourceVersion = ""
			}
			if careless.Claims && next.Status.Epoch == epoch {
				return next, nil
			}
			r.Object = next
		case "patch":
			switch {
			case as == takingOver && careless.Touch:
				return l.w.pod(r.Name).DeepCopy(), nil
			case as == takingOver:
				c.verb = "touch"
			case careless.PodVersion:
				r.Patch = withoutVersion(r.Patch)
			}
		case "evict":
			r.Options = r.Options.DeepCopy()
			if careless.RemovalVersion {
				r.Options.Preconditions.ResourceVersion = nil
			}
			if careless.RemovalUID {
				r.Options.Preconditions.UID = nil
			}
		}
		return ask(ctx, l, c, func() (runtime.Object, error) { return l.w.serve(l, epoch, r) })
	}
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

// agents is a leader's access to the pods' agents.
type agents struct{ l *leader }

// order carries out an order, which the pod's agent refuses from a leader whose epoch is below the
// highest that it has heard.
func (a agents) order(ctx context.Context, verb string, to effect.Target, epoch int64, do func()) error {
	w := a.l.w
	_, err := ask(ctx, a.l, call{verb: verb, object: "the agent of " + to.Pod, write: true}, func() (struct{}, error) {
		switch {
		case string(w.pod(to.Pod).UID) != to.UID:
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

func (a agents) PlanDrain(ctx context.Context, to effect.Target, order effect.Order) ([]byte, effect.ClusterSetting, error) {
	return []byte("undo"), effect.ClusterSetting{}, a.order(ctx, "ask", to, order.Epoch, func() {})
}

func (a agents) Drain(ctx context.Context, to effect.Target, order effect.Order, _ []byte) (effect.Progress, error) {
	if order.Anew { // the drain lasts; safety must not depend on the agent refusing a former leader here
		return effect.Progress{State: model.DrainDone}, nil
	}
	err := a.order(ctx, "order a drain of", to, order.Epoch, func() { a.l.w.prepared[to.UID] = true })
	return effect.Progress{State: model.DrainDone}, err
}

func (a agents) Restore(ctx context.Context, to effect.Target, _ string, epoch int64, _ []byte) (bool, error) {
	err := a.order(ctx, "order a restore of", to, epoch, func() { delete(a.l.w.prepared, to.UID) })
	return err == nil, err
}

func (a agents) RestoreSetting(context.Context, effect.Target, effect.ClusterSetting, int64, time.Time) (bool, error) {
	return false, errNoAgent // no drain has a cluster setting
}

func (a agents) RestoreSettingWithoutAgents(context.Context, effect.Target, effect.ClusterSetting, time.Time) (bool, error) {
	return false, errNoAgent
}

func (a agents) HandoffOnBehalf(context.Context, effect.Target, effect.Order, string) (effect.Progress, error) {
	return effect.Progress{}, errNoAgent
}

func (a agents) HandoffWithoutAgents(context.Context, effect.Target, effect.Order) (effect.Progress, error) {
	return effect.Progress{}, errNoAgent
}

func (a agents) Fresh(ctx context.Context, to effect.Target) error {
	_, err := ask(ctx, a.l, call{verb: look, object: members + " through " + to.Pod}, func() (struct{}, error) {
		if string(a.l.w.pod(to.Pod).UID) != to.UID {
			return struct{}{}, errNoAgent
		}
		a.l.seeMembers()
		return struct{}{}, nil
	})
	return err
}

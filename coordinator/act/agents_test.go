package act

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// agents is one process's access to the agents.
type agents struct {
	w *world
	// before is called with each order; an error is the answer.
	before func(call string) (after func() error, err error)
}

func (a *agents) call(ctx context.Context, what string, to effect.Target, epoch int64, do func() error) error {
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
		if !ok || string(pod.UID) != to.UID || a.w.stranded[pod.UID] || a.w.bare[pod.UID] || a.w.agentless && epoch > 0 {
			return errors.New("no agent is there")
		}
		if epoch > 0 {
			if epoch < a.w.epochs[to.UID] {
				return effect.ErrStaleEpoch
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

func (a *agents) PlanDrain(ctx context.Context, to effect.Target, order effect.Order) (undo []byte, shared effect.ClusterSetting, err error) {
	err = a.call(ctx, "plan", to, order.Epoch, func() error {
		if _, err := a.w.subject(to, order); err != nil {
			return err
		}
		undo = []byte("undo " + order.Claim)
		if a.w.setting != nil {
			shared = effect.ClusterSetting{Name: settingName, Undo: []byte(a.w.setting.value)}
		}
		return nil
	})
	return undo, shared, err
}

func (a *agents) Drain(ctx context.Context, to effect.Target, order effect.Order, undo []byte) (p effect.Progress, err error) {
	err = a.call(ctx, "drain", to, order.Epoch, func() error {
		to, err := a.w.subject(to, order)
		if err != nil {
			return err
		}
		if string(undo) != "undo "+order.Claim {
			a.w.accuse("drain of %s with undo %q", to.Pod, undo)
		}
		cluster, _ := a.w.server.Cluster(namespace, name)
		stored := slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool { return c.ID == order.Claim && len(c.Undo) > 0 })
		if !stored {
			a.w.accuse("drain of %s before its undo was stored", to.Pod)
		}
		p = effect.Progress{State: model.DrainDone}
		if a.w.setting != nil {
			p = a.w.changeSetting(order)
		}
		if a.w.onDrain != nil {
			if p, err = a.w.onDrain(to, order); err != nil {
				return err
			}
		}
		if a.w.disks != nil && order.Prepare == model.PrepareEvacuate {
			p = a.w.disks.empty(order.Claim, to)
		}
		a.w.applied[order.Claim] = to.UID
		a.w.drained[to.UID] = a.w.drained[to.UID] || p.State == model.DrainDone
		return nil
	})
	return p, err
}

func (a *agents) HandoffOnBehalf(ctx context.Context, to effect.Target, order effect.Order, member string) (p effect.Progress, err error) {
	err = a.call(ctx, "handoff", to, order.Epoch, func() error {
		a.w.handedOff = append(a.w.handedOff, member+" by "+to.Pod)
		p = a.w.handOffOnBehalf(member)
		return nil
	})
	return p, err
}

func (a *agents) HandoffWithoutAgents(context.Context, effect.Target, effect.Order) (effect.Progress, error) {
	return effect.Progress{}, errors.New("there are agents")
}

func (a *agents) Restore(ctx context.Context, to effect.Target, claim string, epoch int64, _ []byte) (done bool, err error) {
	err = a.call(ctx, "restore", to, epoch, func() error {
		uid := a.w.applied[claim]
		pod, here := a.podOf(uid)
		switch {
		case uid == "":
		case here && to.UID != uid && !a.w.stranded[pod.UID]:
			a.w.accuse("restore of a pod that is there, by another's agent")
		case here && pod.DeletionTimestamp != nil:
			a.w.accuse("restore while %s terminates", pod.Name)
		case !here && !a.w.live[types.UID(to.UID)] && !a.w.anyBroken():
			a.w.accuse("restore before the pod was back")
		}
		if here {
			delete(a.w.drained, uid)
			if pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardOpen {
				a.w.accuse("restore of %s with its guard open", pod.Name)
			}
		}
		if a.w.disks != nil {
			a.w.disks.include(uid)
		}
		delete(a.w.applied, claim)
		a.w.undone[claim]++
		done = true
		return nil
	})
	return done, err
}

func (a *agents) RestoreSetting(ctx context.Context, to effect.Target, shared effect.ClusterSetting, epoch int64, _ time.Time) (done bool, err error) {
	err = a.call(ctx, "restore "+shared.Name, to, epoch, func() error { done = a.w.turnBack(shared.Undo); return nil })
	return done, err
}

func (a *agents) RestoreSettingWithoutAgents(ctx context.Context, pod effect.Target, shared effect.ClusterSetting, _ time.Time) (done bool, err error) {
	if !a.w.plain {
		return false, errors.New("the database asks for credentials")
	}
	err = a.call(ctx, "restore "+shared.Name+"", pod, 0, func() error { done = a.w.turnBack(shared.Undo); return nil })
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

func (a *agents) Fresh(ctx context.Context, to effect.Target) error {
	return a.call(ctx, "fresh", to, 0, func() error { a.w.fresh++; return nil })
}

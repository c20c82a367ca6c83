package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/engines"
)

// errNoHandoffWithoutAgents means that the coordinator holds no password of any database.
var errNoHandoffWithoutAgents = errors.New("the database asks for credentials or TLS, which the coordinator does not have: the first pod is not handed over")

// HandoffWithoutAgents hands over for the first pod that is adopted, when no agent could do so: it
// asks the pod's own database over the pod network, once in the life of a database and only where
// that takes no credentials. After that, agents do it.
func (o orders) HandoffWithoutAgents(ctx context.Context, pod effect.Target, order effect.Order) (effect.Progress, error) {
	engine, _, err := o.engineWithoutAgents(ctx, pod)
	if err != nil {
		return effect.Progress{}, err
	}
	defer engine.Close()
	progress, err := engines.HandoffOnBehalf(ctx, engine, engines.Order{Kind: engines.Handoff, Claim: order.Claim, NotAfter: order.NotAfter})
	out := effect.Progress{State: model.DrainRunning, Detail: progress.Detail}
	if err == nil && progress.State != engines.ProgressRunning {
		out.State = model.DrainDone
	}
	return out, err
}

// errNoRestoreWithoutAgents: the coordinator cannot reach the database either.
var errNoRestoreWithoutAgents = errors.New("no pod has an agent, and the coordinator itself cannot ask this database: it lacks the credentials, the certificates or the program; " +
	"it waits for the first pod with an agent")

// RestoreSettingWithoutAgents restores a cluster setting while no agent could do so, over the pod
// network, where that takes no credentials.
func (o orders) RestoreSettingWithoutAgents(ctx context.Context, pod effect.Target, shared effect.ClusterSetting, notAfter time.Time) (bool, error) {
	engine, spec, err := o.engineWithoutAgents(ctx, pod)
	if errors.Is(err, errNoHandoffWithoutAgents) {
		return false, errNoRestoreWithoutAgents
	}
	if err != nil {
		return false, err
	}
	defer engine.Close()
	changer, ok := engine.(engines.SettingChanger)
	if !ok {
		return false, fmt.Errorf("engine %s has no setting that belongs to the whole database", spec.Engine)
	}
	progress, err := changer.RestoreSetting(ctx, engines.Setting{Name: shared.Name, Undo: shared.Undo}, notAfter)
	return err == nil && progress.State == engines.ProgressDone, err
}

// engineWithoutAgents reaches a pod's own database over the pod network, as anybody could.
func (o orders) engineWithoutAgents(ctx context.Context, pod effect.Target) (engines.Engine, model.Spec, error) {
	objects, ok := o.cache.Cluster(o.key)
	if !ok {
		return nil, model.Spec{}, fmt.Errorf("%s is not known", o.key)
	}
	ip := addressOf(objects, pod.UID)
	if ip == "" {
		return nil, model.Spec{}, fmt.Errorf("%s has no address", pod.Pod)
	}
	engine, err := o.reach(ctx, objects.Cluster.Spec, ip)
	return engine, objects.Cluster.Spec, err
}

func addressOf(objects kube.ClusterObjects, uid string) string {
	for i := range objects.Pods {
		if string(objects.Pods[i].UID) == uid {
			return objects.Pods[i].IP
		}
	}
	return ""
}

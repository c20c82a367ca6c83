package act

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// As in package rollout.
const (
	maxConflicts = 5
	maxRefusals  = 6
	refusalPause = 5 * time.Second
	firstRetry   = 100 * time.Millisecond
)

// leader is one term of a coordinator: it decides, and has the effects carried out.
type leader struct {
	*Executor
	w     *world
	state rollout.State
	// room, if it is not nil, is how many claims may be open.
	room *int
}

// lead begins a term on a database cluster that was taken over.
func (p *process) lead(cluster *v1alpha1.DatabaseCluster, agents AgentClient) error {
	executor, err := New(Options{
		Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Agents: agents,
		Namespace: namespace, Name: name, UID: string(cluster.UID), Epoch: cluster.Status.Epoch,
		Notify: p.poke, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	p.leader = &leader{Executor: executor, w: p.w, state: rollout.NewState(cluster.Status.Epoch, rollout.Before{})}
	return nil
}

// facts are what one step goes by.
func (w *world) facts(cluster *v1alpha1.DatabaseCluster, s model.Snapshot, versions map[string]string) rollout.Facts {
	object := effect.Object{Generation: cluster.Generation, Paused: cluster.Annotations[v1alpha1.AnnotationPaused]}
	if cluster.DeletionTimestamp != nil {
		object.DeletionTimestamp = cluster.DeletionTimestamp.Time
	}
	return rollout.Facts{
		Object: object, Record: recordOf(cluster.Status), Snapshot: s, ResourceVersions: versions, Pools: w.pools(),
		VolumeTemplates: w.templates(), MemberNames: w.names(), Engine: rollout.Engine{EvacuatesOthers: w.stranded != nil}, Unlimited: true,
	}
}

func recordOf(status v1alpha1.Status) rollout.Record {
	return rollout.Record{Epoch: status.Epoch, Claims: status.Claims, ClusterSettings: status.ClusterSettings, PendingRestores: status.PendingRestores}
}

func applyEdits(status *v1alpha1.Status, edits rollout.Edits) {
	record := recordOf(*status)
	edits.Apply(&record)
	status.Claims, status.ClusterSettings, status.PendingRestores = record.Claims, record.ClusterSettings, record.PendingRestores
}

// step decides, and begins what follows.
func (l *leader) step(ctx context.Context, facts rollout.Facts) rollout.Outcome {
	return l.stepAt(ctx, time.Now(), facts)
}

// stepAt is step for facts that were gathered at a time.
func (l *leader) stepAt(ctx context.Context, now time.Time, facts rollout.Facts) rollout.Outcome {
	if l.room != nil {
		facts.Unlimited, facts.ClaimLimit = false, *l.room
	}
	state, d := rollout.Step(l.state, facts, l.Results(now), now)
	d.NameClaims(&state, func() string { return fmt.Sprintf("rc%x", rand.Uint64()) })
	l.state = state
	l.Start(ctx, d.Effects)
	return d
}

// annotated is a snapshot with what acting has found out, as a step decides on it.
func (l *leader) annotated(s model.Snapshot) model.Snapshot {
	cluster, _ := l.w.server.Cluster(namespace, name)
	_, d := rollout.Step(l.state, l.w.facts(cluster, s, l.w.versions()), nil, time.Now())
	return d.Snapshot
}

func podNamed(s model.Snapshot, name string) *model.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

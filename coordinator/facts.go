package coordinator

import (
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/rollout"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
	"github.com/rollcall-dev/rollcall/coordinator/view"
)

// newID returns an id that is unique among all claims and short enough to mark work in a database.
func newID() string { return "rc" + uuid.NewString()[:13] }

// factsOf returns the facts of one step, except those about other database clusters.
func factsOf(objects kube.ClusterObjects, snapshot model.Snapshot, names map[string]string) rollout.Facts {
	facts := engineFacts(objects.Cluster.Spec.Engine)
	versions, labels := make(map[string]string, len(objects.Pods)), map[string]string{}
	for i := range objects.Pods {
		pod := &objects.Pods[i]
		versions[string(pod.UID)] = pod.ResourceVersion
		if pod.Role != "" {
			labels[string(pod.UID)] = pod.Role
		}
	}
	return rollout.Facts{
		Object: objectOf(objects.Cluster), Record: recordOf(&objects.Cluster.Status), Snapshot: snapshot,
		ResourceVersions: versions, RoleLabels: labels, Pools: poolsOf(objects.Pools), VolumeTemplates: volumesOf(objects.Pools), MemberNames: names,
		Engine: rollout.Engine{EvacuatesOthers: facts.EvacuatesOthers, OwnAgentOnly: facts.OwnAgentOnly},
	}
}

func objectOf(cluster *v1alpha1.DatabaseCluster) effect.Object {
	object := effect.Object{Generation: cluster.Generation, Paused: cluster.Annotations[v1alpha1.AnnotationPaused]}
	if cluster.DeletionTimestamp != nil {
		object.DeletionTimestamp = cluster.DeletionTimestamp.Time
	}
	return object
}

func recordOf(status *v1alpha1.Status) rollout.Record {
	return rollout.Record{Epoch: status.Epoch, Claims: status.Claims, ClusterSettings: status.ClusterSettings, PendingRestores: status.PendingRestores}
}

// applyEdits applies edits to a status.
func applyEdits(status *v1alpha1.Status, edits rollout.Edits) {
	record := recordOf(status)
	edits.Apply(&record)
	status.Claims, status.ClusterSettings, status.PendingRestores = record.Claims, record.ClusterSettings, record.PendingRestores
}

// beforeOf returns what a predecessor has noted about the rollout.
func beforeOf(status *v1alpha1.Status) rollout.Before {
	return rollout.Before{LastProgress: status.LastProgress.Time, Stalled: status.Phase == model.ClusterStalled,
		Estimates: progress.NewEstimates(status.EstimateSeconds, status.PoolEstimateSeconds)}
}

// specErrors returns what in the spec cannot be read although the policy finds nothing wrong with
// it.
func specErrors(cluster *v1alpha1.DatabaseCluster) error {
	return errors.Join(view.SpecError(&cluster.Spec), view.RestartError(cluster))
}

package enroll

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Step is one write.
type Step struct {
	// Set is the StatefulSet that is patched, or Secret the Secret, which was looked at in
	// ResourceVersion; neither: the DatabaseCluster is made.
	Set, Secret     string
	UID             types.UID
	ResourceVersion string
	// Patch is a patch of the object, of the kind that kubectl patch sends.
	Patch string
	// Said says in words what was done.
	Said string
	// Command is the command of kubectl that does the same; empty where it is to apply the
	// manifest.
	Command string
}

// PatchOf returns the patch with a resourceVersion, so that it applies only to the object that was
// looked at: a person may have set a partition or a label since.
func (s Step) PatchOf(resourceVersion string) ([]byte, error) {
	var patch map[string]any
	if err := json.Unmarshal([]byte(s.Patch), &patch); err != nil {
		return nil, err
	}
	meta, _ := patch["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["uid"], meta["resourceVersion"] = s.UID, resourceVersion
	patch["metadata"] = meta
	return json.Marshal(patch)
}

const partitionPatch = `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`

// steps returns the steps that are left. None restarts a pod. First come the StatefulSets' own
// steps, then the one that makes Rollcall manage all of them.
func (p *Plan) steps() (out []Step) {
	for i := range p.Sets {
		set := &p.Sets[i]
		if p.wantsPartition(set) {
			out = append(out, Step{
				Set: set.Name, UID: set.UID, Patch: partitionPatch,
				Said:    fmt.Sprintf("statefulset/%s names its partition: 0", set.Name),
				Command: fmt.Sprintf("kubectl -n %s patch statefulset %s -p '%s'", p.Namespace, set.Name, partitionPatch),
			})
		}
		if set.Labels[v1alpha1.LabelCluster] == "" {
			label := v1alpha1.LabelCluster + "=" + p.Name
			out = append(out, Step{
				Set: set.Name, UID: set.UID, Patch: fmt.Sprintf(`{"metadata":{"labels":{"%s":"%s"}}}`, v1alpha1.LabelCluster, p.Name),
				Said:    fmt.Sprintf("statefulset/%s labelled %s", set.Name, label),
				Command: fmt.Sprintf("kubectl -n %s label statefulset %s %s", p.Namespace, set.Name, label),
			})
		}
	}
	if !p.Exists {
		out = append(out, Step{Said: fmt.Sprintf("databasecluster/%s created", p.Name)})
	}
	return out
}

// wantsPartition reports whether the StatefulSet needs a partition: without one, bad-input holds
// it. With rollingUpdate: Partition Rollcall sets it itself.
func (p *Plan) wantsPartition(set *appsv1.StatefulSet) bool {
	named := set.Spec.UpdateStrategy.RollingUpdate != nil && set.Spec.UpdateStrategy.RollingUpdate.Partition != nil
	return rolls(set) && !named && p.Cluster.Spec.Update.RollingUpdate != model.RollingUpdateByPartition
}

func rolls(set *appsv1.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
}

// SameOrder reports whether the update strategy and the database of the StatefulSet are unchanged.
func SameOrder(was, is *appsv1.StatefulSet) bool {
	return was.UID == is.UID && was.Labels[v1alpha1.LabelCluster] == is.Labels[v1alpha1.LabelCluster] &&
		equality.Semantic.DeepEqual(was.Spec.UpdateStrategy, is.Spec.UpdateStrategy)
}

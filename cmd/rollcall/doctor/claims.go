package doctor

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// claimLabels finds charts that put the label where Kubernetes lets nobody change it.
func claimLabels(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		const patch = "put it into the pod template by kubectl patch, as deploy/docs/doctor.md#labels-of-volume-claims shows, which helm upgrade leaves as it is"
		chart := database.ChartOf(set)
		fields := immutable(set)
		switch {
		case f.Live != nil && fields != "":
			return nil // it was made with it
		case fields != "":
			return one(Error, "the label "+v1alpha1.LabelCluster+" is also in "+fields+", which nobody can change: Kubernetes refuses the upgrade of a StatefulSet that was made without it",
				"take it out of the values, and "+patch+". Only a StatefulSet that is yet to be made may have it there")
		case chart.Claims && set.Spec.Template.Labels[v1alpha1.LabelCluster] == "":
			return one(Warning, "chart "+chart.Name+" has what is in "+chart.PodLabels+" also in spec.volumeClaimTemplates, which nobody can change: with the label there Kubernetes refuses the upgrade",
				"leave it out of the values, and "+patch)
		}
		return nil
	})
}

// immutable names the fields besides the pod template that have the label, and that nobody can change.
func immutable(set *appsv1.StatefulSet) string {
	if set.Spec.Selector != nil {
		if _, there := set.Spec.Selector.MatchLabels[v1alpha1.LabelCluster]; there {
			return "spec.selector"
		}
	}
	if slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool { _, there := c.Labels[v1alpha1.LabelCluster]; return there }) {
		return "spec.volumeClaimTemplates"
	}
	return ""
}

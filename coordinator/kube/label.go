package kube

import (
	"slices"
	"strconv"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// ownLabels are the labels that differ from pod to pod.
var ownLabels = []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, v1alpha1.LabelGuard, v1alpha1.LabelGuardCluster, v1alpha1.LabelRole}

// sharedLabels returns all others, sorted, as "a=b,c=d". Equal texts are one string. If they are
// longer than maxLabels, it returns none.
func sharedLabels(all map[string]string) (text string, many bool) {
	size := 0
	for key, value := range all {
		size += len(key) + len(value) + len("=,")
	}
	if size > maxLabels {
		return "", true
	}
	pairs := make([]string, 0, len(all))
	for key, value := range all {
		if !slices.Contains(ownLabels, key) {
			pairs = append(pairs, key+"="+value)
		}
	}
	slices.Sort(pairs)
	return unique.Make(strings.Join(pairs, ",")).Value(), false
}

// Labels returns the labels of the pod. The labels that a StatefulSet's controller gives to each
// pod are assumed to exist. With ManyLabels some are missing.
func (p *Pod) Labels() labels.Set {
	set := labels.Set{appsv1.StatefulSetPodNameLabel: p.Name, appsv1.PodIndexLabel: strconv.Itoa(p.Ordinal)}
	if p.Guard != "" {
		set[v1alpha1.LabelGuard] = p.Guard
	}
	if p.GuardCluster != "" {
		set[v1alpha1.LabelGuardCluster] = p.GuardCluster
	}
	if p.Role != "" {
		set[v1alpha1.LabelRole] = p.Role
	}
	for pair := range strings.SplitSeq(p.Shared, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	return set
}

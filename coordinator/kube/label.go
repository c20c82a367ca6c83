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

// ownLabels differ from pod to pod.
var ownLabels = []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel, v1alpha1.LabelGuard, v1alpha1.LabelGuardCluster}

// sharedLabels are all others, sorted, as "a=b,c=d"; equal ones are one string. More than
// maxLabels, as Kubernetes takes them, are none.
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

// Labels are the labels of the pod. Those that a StatefulSet's controller gives
// to each pod by itself are taken to be there. With ManyLabels they are not all.
func (p *Pod) Labels() labels.Set {
	set := labels.Set{appsv1.StatefulSetPodNameLabel: p.Name, appsv1.PodIndexLabel: strconv.Itoa(p.Ordinal)}
	if p.Guard != "" {
		set[v1alpha1.LabelGuard] = p.Guard
	}
	if p.GuardCluster != "" {
		set[v1alpha1.LabelGuardCluster] = p.GuardCluster
	}
	for pair := range strings.SplitSeq(p.Shared, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			set[key] = value
		}
	}
	return set
}

package database

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// RoleLabel is the label that the coordinator keeps on pods, and RolePrimary the value that the
// primary's pod has.
const (
	RoleLabel   = v1alpha1.LabelRole
	RolePrimary = v1alpha1.RolePrimary
)

// Kind is how a Service selects a part of a database's pods.
type Kind int

// The kinds.
const (
	// SomePods means that it selects pods by labels of the pod template.
	SomePods Kind = iota
	// OnePod means that it selects one pod by its name or number.
	OnePod
	// ByRole means that it selects by a label that something keeps on pods while they run.
	ByRole
)

// Selection is a Service for clients that selects some of the database's pods, but not all.
type Selection struct {
	Service *corev1.Service
	Kind    Kind
	// Pods are the names of those that it selects; for ByRole empty.
	Pods []string
	// By is the label that leaves the others out.
	By string
}

// Selections returns the Services that select a part of the database's pods. Those that are no
// Service for clients do not count: headless ones that give pods their names, one for each pod, and
// those without the database's port.
func (d *Database) Selections() (out []Selection) {
	single := map[string]bool{} // pods that have a Service of their own
	for i := range d.objects.Services {
		s := &d.objects.Services[i]
		if selection, ok := d.selection(s); ok {
			out = append(out, selection)
			if selection.Kind == OnePod {
				single[selection.Pods[0]] = true
			}
		}
	}
	if len(single) == d.Pods() && len(single) > 1 {
		out = slices.DeleteFunc(out, func(s Selection) bool { return s.Kind == OnePod })
	}
	slices.SortFunc(out, func(a, b Selection) int { return strings.Compare(a.Service.Name, b.Service.Name) })
	return out
}

func (d *Database) selection(s *corev1.Service) (Selection, bool) {
	if len(s.Spec.Selector) == 0 || len(d.Pools) == 0 || !sameNamespace(s.Namespace, d.Pools[0].Set.Namespace) {
		return Selection{}, false
	}
	var pods []string
	serves, roles := false, ""
	kept := map[string]string{} // without labels that no template has
	for key, value := range s.Spec.Selector {
		if d.templateHas(key) {
			kept[key] = value
		} else {
			roles = max(roles, key+": "+value)
		}
	}
	for i := range d.Pools {
		p := &d.Pools[i]
		if p.Set.Spec.ServiceName == s.Name && s.Spec.ClusterIP == corev1.ClusterIPNone {
			return Selection{}, false
		}
		of := selectedOf(p.Set, kept)
		serves = serves || len(of) > 0 && servesSQL(s, &p.Set.Spec.Template.Spec, p.Container)
		pods = append(pods, of...)
	}
	switch {
	case len(pods) == 0 || !serves:
		return Selection{}, false
	case roles != "":
		return Selection{Service: s, Kind: ByRole, By: roles}, len(kept) > 0 || strings.HasPrefix(roles, RoleLabel+":")
	case len(pods) == d.Pods():
		return Selection{}, false
	}
	for _, key := range []string{appsv1.StatefulSetPodNameLabel, appsv1.PodIndexLabel} {
		if value := s.Spec.Selector[key]; value != "" && len(pods) == 1 {
			return Selection{Service: s, Kind: OnePod, Pods: pods, By: key + ": " + value}, true
		}
	}
	return Selection{Service: s, Pods: pods, By: d.differs(s)}, true
}

// templateHas reports whether pods of the database have such a label by their template, or by the
// StatefulSet.
func (d *Database) templateHas(key string) bool {
	if key == appsv1.StatefulSetPodNameLabel || key == appsv1.PodIndexLabel {
		return true
	}
	return slices.ContainsFunc(d.Pools, func(p Pool) bool { _, there := p.Set.Spec.Template.Labels[key]; return there })
}

// differs returns the label of the selector that not all pools have.
func (d *Database) differs(s *corev1.Service) string {
	by := ""
	for key, value := range s.Spec.Selector {
		if slices.ContainsFunc(d.Pools, func(p Pool) bool { return p.Set.Spec.Template.Labels[key] != value }) {
			by = max(by, key+": "+value)
		}
	}
	return by
}

// selectedOf are the names of a set's pods that a selector selects.
func selectedOf(set *appsv1.StatefulSet, selector map[string]string) (pods []string) {
	start := 0
	if set.Spec.Ordinals != nil {
		start = int(set.Spec.Ordinals.Start)
	}
	for i := range replicas(set) {
		name := fmt.Sprintf("%s-%d", set.Name, start+i)
		pod := labels.Merge(set.Spec.Template.Labels, labels.Set{appsv1.StatefulSetPodNameLabel: name, appsv1.PodIndexLabel: fmt.Sprint(start + i)})
		if labels.SelectorFromSet(selector).Matches(pod) {
			pods = append(pods, name)
		}
	}
	return pods
}

// besidesSQL are ports of servers that are not for clients' statements.
var besidesSQL = []int32{4444, 4567, 4568, 33061, 9104}

// servesSQL reports whether a port of the Service is one of the database's container for clients.
func servesSQL(s *corev1.Service, pod *corev1.PodSpec, c *corev1.Container) bool {
	return slices.ContainsFunc(s.Spec.Ports, func(port corev1.ServicePort) bool {
		number := port.TargetPort.IntVal
		if name := port.TargetPort.StrVal; name != "" {
			i := slices.IndexFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
			if i < 0 {
				return false
			}
			number = c.Ports[i].ContainerPort
		}
		if number == 0 {
			number = port.Port
		}
		for i := range pod.Containers {
			if other := &pod.Containers[i]; other.Name != c.Name && hasPort(other, number) {
				return false
			}
		}
		return !slices.Contains(besidesSQL, number)
	})
}

package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Shape is what a restart on the same volume may not be able to change in a pod, or in the template
// of a pool.
type Shape struct {
	// NodeSelector is sorted text, "a=b,c=d".
	NodeSelector string
	// Volumes are the names of the templates of its own volume claims, sorted, "data,logs".
	Volumes string
	// Security is what decides who owns the files: of the pod, and of each container,
	// "fsGroup 1 -, db 1:1".
	Security string
	// Requests are the sums of the requested resources, InitRequests those of containers that run
	// before.
	Requests, InitRequests Requests
}

// Templates returns the names of the templates of its volume claims.
func (s Shape) Templates() []string {
	if s.Volumes == "" {
		return nil
	}
	return strings.Split(s.Volumes, ",")
}

// Requests are those of some containers together.
type Requests struct {
	MilliCPU int64
	Memory   int64
}

// Grew reports whether more is requested than before.
func (r Requests) Grew(before Requests) bool {
	return r.MilliCPU > before.MilliCPU || r.Memory > before.Memory
}

// OtherOwner reports whether files would have another owner in a pod of the template, by the
// settings of the pod or of one of the template's containers. Other containers were added to the
// pod. If there are too many to be kept one by one, all count.
func (s Shape) OtherOwner(template Shape) bool {
	if strings.Contains(s.Security, "#") || strings.Contains(template.Security, "#") {
		return s.Security != template.Security
	}
	have := strings.Split(s.Security, ", ")
	for i, want := range strings.Split(template.Security, ", ") {
		container, _, _ := strings.Cut(want, " ")
		at := slices.IndexFunc(have, func(is string) bool { return strings.HasPrefix(is, container+" ") })
		if at >= 0 && have[at] != want && (i == 0) == (at == 0) {
			return true
		}
	}
	return false
}

// OwnVolumes returns the names of the volume claims that a StatefulSet has created for this very
// pod: each is named after one of its volumes and the pod. Others are not the pod's alone.
func OwnVolumes(pod *corev1.Pod) []string {
	var names []string
	for _, volume := range ownVolumes(pod) {
		names = append(names, volume+"-"+pod.Name)
	}
	return names
}

func ownVolumes(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == v.Name+"-"+pod.Name {
			names = append(names, v.Name)
		}
	}
	return names
}

func shapeOfPod(pod *corev1.Pod) Shape {
	return shapeOf(&pod.Spec, ownVolumes(pod))
}

func shapeOfSet(set *appsv1.StatefulSet) Shape {
	var volumes []string
	for i := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, set.Spec.VolumeClaimTemplates[i].Name)
	}
	return shapeOf(&set.Spec.Template.Spec, volumes)
}

// shapeOf leaves the agent out, which is in the pod and not in its template.
func shapeOf(spec *corev1.PodSpec, volumes []string) Shape {
	var selector []string
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		selector = append(selector, key+"="+spec.NodeSelector[key])
	}
	slices.Sort(volumes)
	return Shape{
		NodeSelector: together(strings.Join(selector, ",")), Volumes: together(strings.Join(volumes, ",")), Security: together(securityOf(spec)),
		Requests: requestsOf(spec.Containers), InitRequests: requestsOf(spec.InitContainers),
	}
}

// together returns a text composed of many, of bounded length.
func together(text string) string { return shared(bounded(text, maxTogether)) }

// shared keeps equal texts once.
func shared(text string) string { return unique.Make(text).Value() }

func requestsOf(containers []corev1.Container) Requests {
	var sum Requests
	for i := range containers {
		if c := &containers[i]; c.Name != v1alpha1.AgentContainer {
			sum.MilliCPU += c.Resources.Requests.Cpu().MilliValue()
			sum.Memory += c.Resources.Requests.Memory().Value()
		}
	}
	return sum
}

// securityOf returns who owns the files of a pod's volumes, and as which user its containers run:
// as the container says, or else the pod.
func securityOf(spec *corev1.PodSpec) string {
	pod := spec.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "fsGroup %s %s", number(pod.FSGroup), word(pod.FSGroupChangePolicy))
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if c.Name == v1alpha1.AgentContainer {
			continue
		}
		user, group := pod.RunAsUser, pod.RunAsGroup
		if own := c.SecurityContext; own != nil {
			if own.RunAsUser != nil {
				user = own.RunAsUser
			}
			if own.RunAsGroup != nil {
				group = own.RunAsGroup
			}
		}
		fmt.Fprintf(&text, ", %s %s:%s", c.Name, number(user), number(group))
	}
	return text.String()
}

func number(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func word[T ~string](s *T) string {
	if s == nil {
		return "-"
	}
	return string(*s)
}

package workload

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// ports are those that only database servers listen on.
var ports = []int32{3306, 8983, 9200, 4567, 33060, 33061, 2181, 2888, 3888, 4500}

// Container returns the database's container: the one that is annotated, or else the first whose
// image names a database and that has a database's port, then one that has the port, then one with
// the image, then the first that does not say that it stands beside a database. Without a container
// it returns nil. It is not sure where several containers are left and nothing tells which.
func Container(annotations map[string]string, spec *corev1.PodSpec) (c *corev1.Container, sure bool) {
	list := spec.Containers
	for _, is := range []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { return c.Name == annotations[v1alpha1.AnnotationContainer] },
		func(c *corev1.Container) bool { return names(c) && HasPort(c, ports...) },
		func(c *corev1.Container) bool { return HasPort(c, ports...) && !helper(c) },
		names,
	} {
		for i := range list {
			if is(&list[i]) {
				return &list[i], true
			}
		}
	}
	left := 0
	for i := range list {
		if helper(&list[i]) {
			continue
		}
		if left++; c == nil {
			c = &list[i]
		}
	}
	if c == nil && len(list) > 0 {
		c = &list[0]
	}
	return c, len(list) == 1 || left == 1
}

// EngineOf returns the engine that a container's image names; empty means it names none, or
// several.
func EngineOf(c *corev1.Container) model.Engine {
	if named := NamedIn(c.Image); len(named) == 1 {
		return named[0]
	}
	return ""
}

// names reports whether a container's image names a database.
func names(c *corev1.Container) bool {
	return !helper(c) && (EngineOf(c) != "" || Unsupported(c.Image) != "")
}

// helper reports whether a container says that it stands beside a database.
func helper(c *corev1.Container) bool {
	return c.Name == v1alpha1.AgentContainer || slices.Contains(besideNames, c.Name) || helperImage(c.Image)
}

// HasPort reports whether a container has one of the ports.
func HasPort(c *corev1.Container, ports ...int32) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return slices.Contains(ports, p.ContainerPort) })
}

package workload

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// enginePorts are those that only servers of one engine, or of a related one, listen on.
var enginePorts = map[model.Engine][]int32{
	model.Solr: {8983}, model.OpenSearch: {9200}, model.FoundationDB: {4500}, model.ZooKeeper: {2181, 2888, 3888},
	model.MySQL: sqlPorts, model.MariaDB: sqlPorts, model.Galera: sqlPorts,
}

var sqlPorts = []int32{3306, 4567, 33060, 33061}

// ports are those of all engines.
var ports = slices.Concat(slices.Collect(maps.Values(enginePorts))...)

// Container returns the database's container: the one that is annotated, or else the first whose
// image names a database and that has a database's port, then one that has the port, then one with
// the image, above all where its own name does not say that it stands beside a database, then the first
// that does not say that. Without a container it returns nil. It is not sure where several containers are
// left and nothing tells which.
func Container(annotations map[string]string, spec *corev1.PodSpec) (c *corev1.Container, sure bool) {
	list := spec.Containers
	for _, is := range []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { return c.Name == annotations[v1alpha1.AnnotationContainer] },
		func(c *corev1.Container) bool { return names(c) && HasPort(c, ports...) },
		func(c *corev1.Container) bool { return HasPort(c, ports...) && !helper(c) },
		func(c *corev1.Container) bool { return names(c) && !besideName(c.Name) },
		names,
	} {
		for i := range list {
			if is(&list[i]) {
				return &list[i], HasPort(&list[i], ports...) || !slices.ContainsFunc(list[i+1:], func(c corev1.Container) bool { return is(&c) })
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

// EngineOf returns the engine that a container's image names; empty means it names none or several,
// or its ports are those of another one. An image of Solr that has only ZooKeeper's ports runs
// ZooKeeper: it holds both.
func EngineOf(c *corev1.Container) model.Engine {
	named := NamedIn(c.Image)
	switch {
	case len(named) != 1:
		return ""
	case HasPort(c, enginePorts[named[0]]...) || !HasPort(c, ports...):
		return named[0]
	case named[0] == model.Solr && HasPort(c, enginePorts[model.ZooKeeper]...):
		return model.ZooKeeper
	}
	return ""
}

// UsesPortOf returns the engine that has one of a container's ports, and that port. Others have it, too,
// so that it does not say which database it is: of 9200 Elasticsearch.
func UsesPortOf(c *corev1.Container) (model.Engine, int32) {
	for _, p := range c.Ports {
		for _, e := range engines {
			if slices.Contains(enginePorts[e], p.ContainerPort) {
				return e, p.ContainerPort
			}
		}
	}
	return "", 0
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

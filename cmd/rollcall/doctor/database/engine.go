package database

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// engines are those that images name.
var engines = []model.Engine{model.Solr, model.OpenSearch, model.MySQL, model.MariaDB, model.FoundationDB, model.Galera, model.ZooKeeper}

// besides are words in the names of images that belong to a database but are not the database.
var besides = []string{"exporter", "dashboards", "router", "proxy", "operator", "logstash", "plugin", "backup", "client", "shell", "monitor", "init", "proxysql", "haproxy", "maxscale", "envoy"}

// NamedIn returns the engines whose names are a word of an image's own name. The publisher,
// registry, tag and digest do not count. An image that names Galera is of Galera alone.
func NamedIn(image string) []model.Engine {
	words := imageWords(image)
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(besides, w) }) {
		return nil
	}
	if Unsupported(image) != "" {
		return nil
	}
	named := slices.DeleteFunc(slices.Clone(engines), func(e model.Engine) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.TrimRight(w, "0123456789") == strings.ToLower(string(e)) })
	})
	if slices.Contains(named, model.Galera) {
		return []model.Engine{model.Galera}
	}
	return named
}

// percona are names of images of Percona Server, which is examined like MySQL; that it is MySQL is for
// the user to say.
var percona = []string{"percona-server", "percona"}

// Unsupported returns the database that an image names and that looks like one of an engine, but is
// refused by its adapter. Empty means that it names none.
func Unsupported(image string) string {
	words := imageWords(image)
	at := slices.Index(words, "xtradb")
	if slices.Contains(words, "pxc") || at >= 0 && at+1 < len(words) && words[at+1] == "cluster" {
		return "Percona XtraDB Cluster"
	}
	return ""
}

// imageName is an image's own name, without registry, publisher, tag and digest.
func imageName(image string) string {
	image, _, _ = strings.Cut(strings.ToLower(image), "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

func imageWords(image string) []string {
	return strings.FieldsFunc(imageName(image), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
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
	return EngineOf(c) != "" || !helper(c) && Unsupported(c.Image) != ""
}

// databasePorts are ports that only servers listen on.
var databasePorts = []int32{3306, 8983, 9200, 4567, 33060, 33061, 2181, 2888, 3888}

// Container returns the database's container: the one that is annotated, or else the first whose
// image names a database and that has a database's port, then one that has the port, then one with
// the image, or else the first.
func Container(t *corev1.PodTemplateSpec) *corev1.Container {
	list := t.Spec.Containers
	for _, is := range []func(*corev1.Container) bool{
		func(c *corev1.Container) bool { return c.Name == t.Annotations[v1alpha1.AnnotationContainer] },
		func(c *corev1.Container) bool { return names(c) && hasPort(c, databasePorts...) },
		func(c *corev1.Container) bool { return hasPort(c, databasePorts...) && !helper(c) },
		names,
	} {
		for i := range list {
			if is(&list[i]) {
				return &list[i]
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// helper reports whether the image says that it stands beside a database.
func helper(c *corev1.Container) bool {
	return slices.ContainsFunc(imageWords(c.Image), func(w string) bool { return slices.Contains(besides, w) })
}

func hasPort(c *corev1.Container, ports ...int32) bool {
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return slices.Contains(ports, p.ContainerPort) })
}

// Official reports whether the container runs an official image of MySQL by its own entrypoint.
func Official(c *corev1.Container) bool {
	words := slices.Concat(c.Command, c.Args)
	entrypoint := len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == "mysqld" || strings.HasSuffix(words[0], "docker-entrypoint.sh")
	publisher := strings.TrimSuffix(strings.ToLower(c.Image[:strings.LastIndex(c.Image, "/")+1]), "/")
	return imageName(c.Image) == "mysql" && entrypoint && !strings.Contains(publisher, "bitnami") &&
		!slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "BITNAMI_DEBUG" })
}

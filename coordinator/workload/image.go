// Package workload tells which container of a pod runs the database, and which database that is, by
// the names of images, by ports and by what is known to stand beside databases. The injection, the
// coordinator and the doctor ask here, so that all three mean the same container. It is pure.
package workload

import (
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// engines are those that images name.
var engines = []model.Engine{model.Solr, model.OpenSearch, model.MySQL, model.MariaDB, model.FoundationDB, model.Galera, model.ZooKeeper}

// besides are words in the names of images that belong to a database but are not the database.
var besides = []string{
	"exporter", "dashboards", "router", "proxy", "operator", "logstash", "plugin", "backup", "client", "shell", "monitor", "init", "proxysql", "haproxy", "maxscale", "envoy",
	"proxyv", "dataplane", "nginx", "traefik", "httpd", "vault", "fluent", "filebeat", "promtail", "toolkit", "agent", "pmm",
}

// besideNames are the names that service meshes give to their own containers, whatever their image.
var besideNames = []string{"istio-proxy", "istio-validation", "linkerd-proxy", "linkerd-debug", "consul-dataplane", "envoy-sidecar", "kuma-sidecar", "envoy"}

// besideWords are words in the names of containers that run the image of a database beside it.
var besideWords = []string{"metrics", "sidecar", "dump", "logs", "restore"}

// besideName reports whether a container's own name says that it stands beside a database.
func besideName(name string) bool {
	return slices.ContainsFunc(imageWords(name), func(w string) bool { return slices.Contains(besides, w) || slices.Contains(besideWords, w) })
}

// NamedIn returns the engines whose names are a word of an image's own name. The publisher,
// registry, tag and digest do not count. An image that names Galera is of Galera alone.
func NamedIn(image string) []model.Engine {
	if helperImage(image) || Unsupported(image) != "" {
		return nil
	}
	words := imageWords(image)
	named := slices.DeleteFunc(slices.Clone(engines), func(e model.Engine) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return withoutDigits(w) == strings.ToLower(string(e)) })
	})
	if slices.Contains(named, model.Galera) {
		return []model.Engine{model.Galera}
	}
	return named
}

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

// ImageName is an image's own name, without registry, publisher, tag and digest.
func ImageName(image string) string {
	image, _, _ = strings.Cut(strings.ToLower(image), "@")
	image = image[strings.LastIndex(image, "/")+1:]
	image, _, _ = strings.Cut(image, ":")
	return image
}

// helperImage reports whether an image says that it stands beside a database.
func helperImage(image string) bool {
	return slices.ContainsFunc(imageWords(image), func(w string) bool { return slices.Contains(besides, w) || slices.Contains(besides, withoutDigits(w)) })
}

func imageWords(image string) []string {
	return strings.FieldsFunc(ImageName(image), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
}

func withoutDigits(word string) string { return strings.TrimRight(word, "0123456789") }

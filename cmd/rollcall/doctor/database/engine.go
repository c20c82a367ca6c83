package database

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/workload"
)

// percona are names of images of Percona Server, which is examined like MySQL; that it is MySQL is for
// the user to say.
var percona = []string{"percona-server", "percona"}

// NamedIn returns the engines that an image names.
func NamedIn(image string) []model.Engine { return workload.NamedIn(image) }

// Unsupported returns the database that an image names and that looks like one of an engine, but is
// refused by its adapter. Empty means that it names none.
func Unsupported(image string) string { return workload.Unsupported(image) }

// EngineOf returns the engine that a container's image names; empty means it names none, or
// several.
func EngineOf(c *corev1.Container) model.Engine { return workload.EngineOf(c) }

// Container returns the database's container, as the injection finds it; nil means there is none.
func Container(t *corev1.PodTemplateSpec) *corev1.Container {
	c, _ := workload.Container(t.Annotations, &t.Spec)
	return c
}

func imageName(image string) string { return workload.ImageName(image) }

func hasPort(c *corev1.Container, ports ...int32) bool { return workload.HasPort(c, ports...) }

// Official reports whether the container runs an official image of MySQL by its own entrypoint.
func Official(c *corev1.Container) bool {
	words := slices.Concat(c.Command, c.Args)
	entrypoint := len(words) == 0 || strings.HasPrefix(words[0], "-") || words[0] == "mysqld" || strings.HasSuffix(words[0], "docker-entrypoint.sh")
	publisher := strings.TrimSuffix(strings.ToLower(c.Image[:strings.LastIndex(c.Image, "/")+1]), "/")
	return imageName(c.Image) == "mysql" && entrypoint && !strings.Contains(publisher, "bitnami") &&
		!slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "BITNAMI_DEBUG" })
}

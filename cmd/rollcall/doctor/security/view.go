package security

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// view is what can be seen of one StatefulSet.
type view struct {
	engine    model.Engine
	set       *appsv1.StatefulSet
	container *corev1.Container
	objects   database.Objects
	// variables are those of the database's container, by name.
	variables map[string]value
	// hidden says in words which parts of the environment cannot be seen.
	hidden []string
	// probes are what the probes of its containers tell.
	probes probed
}

// value is the value of a variable or a setting.
type value struct {
	text string
	// known means that the text can be seen.
	known bool
	// from says in words where it is set.
	from string
}

func newView(engine model.Engine, set *appsv1.StatefulSet, c *corev1.Container, o database.Objects) *view {
	v := &view{engine: engine, set: set, container: c, objects: o, variables: map[string]value{}}
	for _, from := range c.EnvFrom {
		switch {
		case from.SecretRef != nil:
			v.hidden = append(v.hidden, "the variables of Secret "+from.SecretRef.Name)
		case from.ConfigMapRef != nil:
			data, there := v.configMap(from.ConfigMapRef.Name)
			if !there {
				v.hidden = append(v.hidden, "the variables of ConfigMap "+from.ConfigMapRef.Name)
			}
			for name, text := range data {
				v.variables[from.Prefix+name] = value{text, true, fmt.Sprintf("%s is %s (ConfigMap %s)", from.Prefix+name, quoted(text), from.ConfigMapRef.Name)}
			}
		}
	}
	for i := range c.Env {
		v.variables[c.Env[i].Name] = v.valueOf(&c.Env[i])
	}
	v.probes = v.probed()
	return v
}

func (v *view) valueOf(e *corev1.EnvVar) value {
	from := e.ValueFrom
	switch {
	case from == nil && strings.Contains(e.Value, "$("):
		return value{from: e.Name + " is " + quoted(e.Value)}
	case from == nil:
		return value{e.Value, true, e.Name + " is " + quoted(e.Value)}
	case from.SecretKeyRef != nil:
		return value{from: fmt.Sprintf("%s is in Secret %s", e.Name, from.SecretKeyRef.Name)}
	case from.ConfigMapKeyRef != nil:
		data, there := v.configMap(from.ConfigMapKeyRef.Name)
		text := data[from.ConfigMapKeyRef.Key]
		if !there {
			return value{from: fmt.Sprintf("%s is in ConfigMap %s", e.Name, from.ConfigMapKeyRef.Name)}
		}
		return value{text, true, fmt.Sprintf("%s is %s (ConfigMap %s)", e.Name, quoted(text), from.ConfigMapKeyRef.Name)}
	}
	return value{from: e.Name + " is set by each pod"}
}

// maxQuoted is how much of a value is shown.
const maxQuoted = 40

// quoted is a value for people; an empty one would not be seen. Options may have passwords in them,
// of which nothing is shown.
func quoted(text string) string {
	if text == "" {
		return `""`
	}
	if len(text) > maxQuoted || strings.ContainsAny(text, " \n=:") {
		return "set"
	}
	return text
}

// configMap returns the data of a ConfigMap, and whether it can be seen.
func (v *view) configMap(name string) (map[string]string, bool) {
	data := database.ConfigMap(v.objects, v.set.Namespace, name)
	return data, data != nil
}

// is returns whether a variable is one of the words for yes; Untold without Why means that it is
// not set, or to nothing.
func (v *view) is(name string, yes ...string) Answer {
	set, there := v.variables[name]
	switch {
	case !there || set.known && set.text == "":
		return Answer{}
	case !set.known:
		return untold(set.from)
	}
	return whether(slices.Contains(yes, strings.ToLower(set.text)), set.from)
}

// yes are the words that images of Bitnami and scripts of Solr take for yes.
var yes = []string{"1", "yes", "true", "on"}

// bitnami reports whether the image is one of Bitnami's.
func (v *view) bitnami() bool {
	_, debug := v.variables["BITNAMI_DEBUG"]
	return debug || strings.Contains(strings.ToLower(v.container.Image), "bitnami")
}

// line is the command line of the container.
func line(c *corev1.Container) string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}

// containers are all containers of the pod, and those that run before it.
func (v *view) containers() []corev1.Container {
	return slices.Concat(v.set.Spec.Template.Spec.InitContainers, v.set.Spec.Template.Spec.Containers)
}

// file returns the content of a file by its own name, wherever containers of the pod mount it from
// ConfigMaps, for init containers copy files. unseen says in words where a file of that name is that
// cannot be seen.
func (v *view) file(name string) (text, from, unseen string) {
	for _, source := range v.sources() {
		switch data, there := v.configMap(source.configMap); {
		case source.secret != "" && source.has(name):
			unseen = fmt.Sprintf("%s of Secret %s", name, source.secret)
		case source.configMap == "":
		case !there && source.has(name):
			unseen = fmt.Sprintf("%s of ConfigMap %s", name, source.configMap)
		case there:
			if content, has := data[source.keyOf(name)]; has {
				return content, "ConfigMap " + source.configMap, ""
			}
		}
	}
	return "", "", unseen
}

// File returns the content of a file that pods of a StatefulSet mount from a ConfigMap, by its own name,
// and where it is from; without one both are empty.
func File(set *appsv1.StatefulSet, o database.Objects, name string) (text, from string) {
	v := &view{set: set, objects: o}
	text, from, _ = v.file(name)
	return text, from
}

// source is a ConfigMap or a Secret in a volume.
type source struct {
	configMap, secret, volume string
	items                     []corev1.KeyToPath
	// paths are where containers mount it: whole directories, or single files.
	paths, subPaths []string
}

// keyOf returns the key of a file.
func (s source) keyOf(name string) string {
	for _, item := range s.items {
		if path.Base(item.Path) == name {
			return item.Key
		}
	}
	return name
}

// has reports whether the names of keys or mounts say that a file is in it.
func (s source) has(name string) bool {
	is := func(at string) bool { return path.Base(at) == name }
	return slices.ContainsFunc(s.items, func(i corev1.KeyToPath) bool { return is(i.Path) || is(i.Key) }) ||
		slices.ContainsFunc(s.subPaths, is) || slices.ContainsFunc(s.paths, is)
}

// sources are the ConfigMaps and Secrets in the pod's volumes, in order.
func (v *view) sources() (out []source) {
	add := func(s source) {
		for _, c := range v.containers() {
			for _, m := range c.VolumeMounts {
				if m.Name != s.volume {
					continue
				}
				if s.paths = append(s.paths, m.MountPath); m.SubPath != "" {
					s.subPaths = append(s.subPaths, m.SubPath)
				}
			}
		}
		out = append(out, s)
	}
	for _, volume := range v.set.Spec.Template.Spec.Volumes {
		switch {
		case volume.ConfigMap != nil:
			add(source{configMap: volume.ConfigMap.Name, items: volume.ConfigMap.Items, volume: volume.Name})
		case volume.Secret != nil:
			add(source{secret: volume.Secret.SecretName, items: volume.Secret.Items, volume: volume.Name})
		case volume.Projected != nil:
			for _, p := range volume.Projected.Sources {
				if p.ConfigMap != nil {
					add(source{configMap: p.ConfigMap.Name, items: p.ConfigMap.Items, volume: volume.Name})
				}
				if p.Secret != nil {
					add(source{secret: p.Secret.Name, items: p.Secret.Items, volume: volume.Name})
				}
			}
		}
	}
	return out
}

// certificates match names of Secrets, volumes and paths that have to do with certificates.
var certificates = regexp.MustCompile(`(?i)(^|[-_./])(certs?|crts?|certificates?|tls|ssl|ca|pki)($|[-_./])`)

// secrets are the names of Secrets that may have certificates.
func (v *view) secrets() (names []string) {
	for _, s := range v.sources() {
		named := certificates.MatchString(s.secret) || certificates.MatchString(s.volume) || slices.ContainsFunc(s.paths, certificates.MatchString)
		if s.secret != "" && named && !strings.Contains(s.secret, "pass") && !slices.Contains(names, s.secret) {
			names = append(names, s.secret)
		}
	}
	return names
}

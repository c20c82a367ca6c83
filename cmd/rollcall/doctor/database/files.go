package database

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/mycnf"
)

// mounted are the files that the database's container sees.
type mounted struct {
	files mycnf.Files
	// from says in words where a file is from, by its path.
	from map[string]string
	// copied are option files that only other containers see, by a name for people.
	copied map[string]string
	hidden []string
}

func mountedIn(set *appsv1.StatefulSet, c *corev1.Container, o Objects) mounted {
	m := mounted{files: mycnf.Files{}, from: map[string]string{}, copied: map[string]string{}}
	seen := map[string]bool{}
	for _, mount := range c.VolumeMounts {
		seen[mount.Name] = true
		m.mount(set, volumeOf(set, mount.Name), mount, o)
	}
	// Other volumes with option files are copied by an init container.
	for i := range set.Spec.Template.Spec.Volumes {
		v := &set.Spec.Template.Spec.Volumes[i]
		if v.ConfigMap == nil || seen[v.Name] {
			continue
		}
		for name, text := range ConfigMap(o, set.Namespace, v.ConfigMap.Name) {
			if strings.HasSuffix(name, ".cnf") {
				m.copied["ConfigMap "+v.ConfigMap.Name+", "+name] = text
			}
		}
	}
	return m
}

func volumeOf(set *appsv1.StatefulSet, name string) *corev1.Volume {
	for i := range set.Spec.Template.Spec.Volumes {
		if v := &set.Spec.Template.Spec.Volumes[i]; v.Name == name {
			return v
		}
	}
	return nil
}

func (m *mounted) mount(set *appsv1.StatefulSet, v *corev1.Volume, at corev1.VolumeMount, o Objects) {
	if v == nil {
		return // a volume claim
	}
	var sources []corev1.VolumeProjection
	other := v.ConfigMap == nil && v.Projected == nil
	if v.ConfigMap != nil {
		sources = []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items}}}
	}
	if v.Projected != nil {
		sources = v.Projected.Sources
	}
	for _, source := range sources {
		if source.ConfigMap == nil {
			other = true
			continue
		}
		m.configMap(set, source.ConfigMap, at, o)
	}
	if other && configures(at.MountPath) {
		m.hidden = append(m.hidden, fmt.Sprintf("%s, which is of volume %s", at.MountPath, v.Name))
	}
}

func (m *mounted) configMap(set *appsv1.StatefulSet, of *corev1.ConfigMapProjection, at corev1.VolumeMount, o Objects) {
	data := ConfigMap(o, set.Namespace, of.Name)
	if data == nil {
		if configures(at.MountPath) {
			m.hidden = append(m.hidden, fmt.Sprintf("ConfigMap %s, which is %s", of.Name, at.MountPath))
		}
		return
	}
	named := map[string]string{} // keys by the names of their files
	for key := range data {
		if len(of.Items) == 0 {
			named[key] = key
		}
	}
	for _, item := range of.Items {
		named[item.Path] = item.Key
	}
	for file, key := range named {
		file = path.Join("/", at.MountPath, file)
		if at.SubPath != "" {
			if named[at.SubPath] != key {
				continue
			}
			file = path.Clean(at.MountPath)
		}
		m.files[file], m.from[file] = data[key], "ConfigMap "+of.Name+", "+key
	}
}

// ConfigMap returns what a ConfigMap has; nil means that it is not known.
func ConfigMap(o Objects, namespace, name string) map[string]string {
	for i := range o.ConfigMaps {
		if c := &o.ConfigMaps[i]; c.Name == name && sameNamespace(c.Namespace, namespace) {
			if c.Data == nil {
				return map[string]string{}
			}
			return c.Data
		}
	}
	return nil
}

// configures reports whether servers look for option files there. Bitnami's images copy their own
// files to a volume there, which has none of the settings that count here.
func configures(at string) bool {
	if strings.HasPrefix(at, "/opt/bitnami/") && !strings.HasSuffix(at, ".cnf") {
		return false
	}
	at = path.Clean(at)
	return strings.HasSuffix(at, ".cnf") || strings.HasSuffix(at, ".d") && (strings.HasPrefix(at, "/etc/my") || strings.HasPrefix(at, "/etc/mysql")) || at == "/etc/mysql"
}

// optionFiles are the paths of option files in the order in which servers read them: my.cnf, whose
// directories come last.
func optionFiles(files mycnf.Files) []string {
	paths := slices.Collect(maps.Keys(files))
	paths = slices.DeleteFunc(paths, func(p string) bool { return !strings.HasSuffix(p, ".cnf") })
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	return paths
}

func rank(file string) int {
	if path.Base(file) == "my.cnf" {
		return 0
	}
	return 1
}

// Environment are the variables of a container; the values of those that cannot be seen are empty.
func Environment(set *appsv1.StatefulSet, c *corev1.Container, o Objects) map[string]string {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			for name, value := range ConfigMap(o, set.Namespace, from.ConfigMapRef.Name) {
				env[from.Prefix+name] = value
			}
		}
	}
	for _, e := range c.Env {
		switch {
		case e.ValueFrom == nil:
			env[e.Name] = e.Value
		case e.ValueFrom.ConfigMapKeyRef != nil:
			env[e.Name] = ConfigMap(o, set.Namespace, e.ValueFrom.ConfigMapKeyRef.Name)[e.ValueFrom.ConfigMapKeyRef.Key]
		default:
			env[e.Name] = ""
		}
	}
	return env
}

// ConfigMaps are the names of those that a StatefulSet's configuration may be in.
func ConfigMaps(set *appsv1.StatefulSet) []string {
	var names []string
	for _, v := range set.Spec.Template.Spec.Volumes {
		if v.ConfigMap != nil {
			names = append(names, v.ConfigMap.Name)
		}
		if v.Projected != nil {
			for _, source := range v.Projected.Sources {
				if source.ConfigMap != nil {
					names = append(names, source.ConfigMap.Name)
				}
			}
		}
	}
	for _, c := range set.Spec.Template.Spec.Containers {
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil {
				names = append(names, from.ConfigMapRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				names = append(names, e.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Package database says what kind of database StatefulSets are, above all those of MySQL and MariaDB,
// from what Kubernetes has of them: images, ports, environment, arguments, mounted configuration, and
// the Services that select their pods. It is pure. What cannot be seen, such as what a script writes
// at start, is named and never assumed.
package database

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Objects are what is known besides the StatefulSets.
type Objects struct {
	Services   []corev1.Service
	ConfigMaps []corev1.ConfigMap
}

// Pool is one StatefulSet of a database.
type Pool struct {
	Set       *appsv1.StatefulSet
	Container *corev1.Container
	Settings  Settings
	// Role is what the configuration makes of its servers at start.
	Role Role
	// RoleBy says in words where the role is from.
	RoleBy string
	// Follows is the host that its servers follow; empty means that none can be seen.
	Follows string
	galera  []string
	group   []string
}

// Role is what a pool's servers are by configuration.
type Role int

// The roles.
const (
	// AnyRole means that the configuration gives none.
	AnyRole Role = iota
	// Writer starts as the primary.
	Writer
	// Follower starts as a replica, and never leads.
	Follower
)

// Database is one database of one or more StatefulSets.
type Database struct {
	Pools   []Pool
	objects Objects
}

// New examines the StatefulSets of one database.
func New(sets []*appsv1.StatefulSet, o Objects) *Database {
	d := &Database{objects: o}
	for _, set := range sets {
		c := Container(&set.Spec.Template)
		if c == nil {
			continue
		}
		p := Pool{Set: set, Container: c, Settings: settingsOf(set, c, o)}
		p.Role, p.RoleBy, p.Follows = roleOf(&p, o, len(sets) > 1)
		p.galera, p.group = galeraSigns(&p, o), groupSigns(&p)
		d.Pools = append(d.Pools, p)
	}
	return d
}

// Names are those of the StatefulSets.
func (d *Database) Names() []string {
	var names []string
	for i := range d.Pools {
		names = append(names, d.Pools[i].Set.Name)
	}
	return names
}

// Engine returns the engine of the servers; empty means that it cannot be told.
func (d *Database) Engine() model.Engine {
	var engine model.Engine
	for i := range d.Pools {
		p := &d.Pools[i]
		is := EngineOf(p.Container)
		switch {
		case Unsupported(p.Container.Image) != "":
			return ""
		case len(p.galera) > 0:
			return model.Galera
		case engine != "" && is != "" && is != engine:
			return ""
		}
		engine = cmp.Or(engine, is)
	}
	return engine
}

// Unsupported returns what the images name that no engine is for, and where. Empty means nothing.
func (d *Database) Unsupported() (name, at string) {
	for i := range d.Pools {
		if name := Unsupported(d.Pools[i].Container.Image); name != "" {
			return name, "the image " + d.Pools[i].Container.Image + " of StatefulSet " + d.Pools[i].Set.Name
		}
	}
	return "", ""
}

// Pods is how many pods the StatefulSets want.
func (d *Database) Pods() (n int) {
	for i := range d.Pools {
		n += replicas(d.Pools[i].Set)
	}
	return n
}

// maxReplicas bounds how many pods of a StatefulSet are looked at.
const maxReplicas = 1000

func replicas(set *appsv1.StatefulSet) int {
	if set.Spec.Replicas == nil {
		return 1
	}
	return int(min(max(*set.Spec.Replicas, 0), maxReplicas))
}

// Related reports whether two StatefulSets hold servers of one database: they have the same label
// of Rollcall, one follows the other, they are told to join the same cluster, or one release of a
// chart made both.
func Related(a, b *appsv1.StatefulSet, o Objects) bool {
	nameA, nameB := clusterName(a), clusterName(b)
	switch {
	case !sameNamespace(a.Namespace, b.Namespace):
		return false
	case nameA != "" && nameB != "":
		return nameA == nameB
	case IsSQL(a) && IsSQL(b):
		return related(a, b, o) || follows(a, b, o) || follows(b, a, o)
	case IsSQL(a) || IsSQL(b) || engineOf(a) == "" || engineOf(a) != engineOf(b):
		return false
	}
	return related(a, b, o)
}

// engineOf is the engine that the image of a StatefulSet's database names.
func engineOf(set *appsv1.StatefulSet) model.Engine {
	if c := Container(&set.Spec.Template); c != nil {
		return EngineOf(c)
	}
	return ""
}

// follows reports whether the servers of a set follow a host that is a pod or a Service of another.
func follows(a, b *appsv1.StatefulSet, o Objects) bool {
	d := New([]*appsv1.StatefulSet{a}, o)
	return len(d.Pools) == 1 && d.Pools[0].Follows != "" && leadsTo(d.Pools[0].Follows, b, o)
}

// leadsTo reports whether a host name leads to pods of the set.
func leadsTo(host string, set *appsv1.StatefulSet, o Objects) bool {
	first, rest, _ := strings.Cut(host, ".")
	second, _, _ := strings.Cut(rest, ".")
	for i := range o.Services {
		s := &o.Services[i]
		if s.Name == first && sameNamespace(s.Namespace, set.Namespace) && len(s.Spec.Selector) > 0 {
			return len(selectedOf(set, s.Spec.Selector)) > 0
		}
	}
	pod := strings.HasPrefix(first, set.Name+"-") && second == set.Spec.ServiceName && second != ""
	return pod || first == set.Name || first == set.Spec.ServiceName
}

// IsSQL reports whether the pods seem to hold servers of MySQL or MariaDB.
func IsSQL(set *appsv1.StatefulSet) bool {
	c := Container(&set.Spec.Template)
	if c == nil {
		return false
	}
	if Unsupported(c.Image) != "" {
		return true
	}
	switch EngineOf(c) {
	case model.MySQL, model.MariaDB, model.Galera:
		return true
	case "":
		if slices.Contains(percona, imageName(c.Image)) {
			return true
		}
		return hasPort(c, 3306) && slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return strings.HasPrefix(e.Name, "MYSQL_") || strings.HasPrefix(e.Name, "MARIADB_")
		})
	}
	return false
}

func clusterName(set *appsv1.StatefulSet) string {
	return cmp.Or(set.Labels[v1alpha1.LabelCluster], set.Spec.Template.Labels[v1alpha1.LabelCluster])
}

// sameNamespace reports whether two namespaces are the same. Objects of a chart often name none,
// and all go to that of the release.
func sameNamespace(a, b string) bool { return a == b || a == "" || b == "" }

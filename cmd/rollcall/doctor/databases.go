package doctor

import (
	"cmp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// sqlDatabase is a database of MySQL or MariaDB, with all of its StatefulSets.
type sqlDatabase struct {
	*database.Database
	// cluster is its DatabaseCluster; nil means that it is not known.
	cluster *v1alpha1.DatabaseCluster
	object  string
}

// Objects are what tells the topology besides the StatefulSets.
func (f *Facts) Objects() database.Objects {
	return database.Objects{Services: f.Services, ConfigMaps: f.ConfigMaps}
}

// isSQL reports whether a StatefulSet holds servers of MySQL or MariaDB: as its DatabaseCluster
// says, or as it looks.
func (f *Facts) isSQL(set *appsv1.StatefulSet) bool {
	if f.clusterOf(set) != nil {
		return IsSQL(f.spec(set).Engine)
	}
	return slices.Contains(f.SQL, set.Name) || database.IsSQL(set) || IsSQL(f.Engine) && !isDatabase(set)
}

// IsSQL reports whether an engine is one of MySQL or MariaDB.
func IsSQL(e model.Engine) bool {
	return e == model.MySQL || e == model.MariaDB || e == model.Galera
}

// enrolled are the arguments with which the StatefulSet is enrolled, with the others of its database.
func (f *Facts) enrolled(set *appsv1.StatefulSet) string {
	var names []string
	for _, s := range f.Family(set) {
		names = append(names, s.Name)
	}
	text := strings.Join(names, " ")
	if set.Namespace != "" {
		text += " -n " + set.Namespace
	}
	if len(names) > 1 {
		text += " --name NAME"
	}
	return text
}

// engineOf is the engine of a database in words, where it can be told.
func (f *Facts) engineOf(set *appsv1.StatefulSet) string {
	if engine := f.engine(set); engine != "" {
		return ": " + string(engine)
	}
	return ""
}

// engine is the engine of a database: what its DatabaseCluster says, or the images of its pods, or the
// user. Empty means that it is not known.
func (f *Facts) engine(set *appsv1.StatefulSet) model.Engine {
	if c := f.clusterOf(set); c != nil && c.Spec.Engine != "" {
		return c.Spec.Engine
	}
	family := f.Family(set)
	if f.isSQL(set) {
		return cmp.Or(database.New(family, f.Objects()).Engine(), f.Engine)
	}
	for _, s := range append([]*appsv1.StatefulSet{set}, family...) {
		if c := database.Container(&s.Spec.Template); c != nil && database.EngineOf(c) != "" {
			return database.EngineOf(c)
		}
	}
	return f.Engine
}

// engineAs is what the DatabaseCluster says, or the images; empty means that it cannot be told.
func (f *Facts) engineAs(d *sqlDatabase) model.Engine {
	if d.cluster != nil {
		return d.cluster.Spec.Engine
	}
	return d.Engine()
}

// NamedConfigMaps are the names of ConfigMaps that may have settings of databases.
func (f *Facts) NamedConfigMaps() (names []string) {
	for _, set := range append(slices.Clone(f.Sets), f.Others...) {
		if e := f.engine(&set); f.isSQL(&set) || e == model.OpenSearch || e == model.Solr || e == model.ZooKeeper {
			names = append(names, database.ConfigMaps(&set)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Family returns the StatefulSets that are of one database with the given one, in order, with
// those that are not examined.
func (f *Facts) Family(set *appsv1.StatefulSet) []*appsv1.StatefulSet {
	family := []*appsv1.StatefulSet{set}
	o := f.Objects()
	var others []*appsv1.StatefulSet
	for _, list := range [][]appsv1.StatefulSet{f.Sets, f.Others} {
		for i := range list {
			if s := &list[i]; s.Name != set.Name || s.Namespace != set.Namespace {
				others = append(others, s)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		others = slices.DeleteFunc(others, func(s *appsv1.StatefulSet) bool {
			related := slices.ContainsFunc(family, func(of *appsv1.StatefulSet) bool { return database.Related(of, s, o) })
			if related {
				family, grown = append(family, s), true
			}
			return related
		})
	}
	slices.SortFunc(family, func(a, b *appsv1.StatefulSet) int { return strings.Compare(a.Name, b.Name) })
	return family
}

// founds reports whether servers find each other in the order of their ordinals: pods that all start
// at once may found two clusters.
func (f *Facts) founds(set *appsv1.StatefulSet) bool {
	if !f.isSQL(set) {
		return false
	}
	t, _ := database.New(f.Family(set), f.Objects()).Topology()
	return t == model.TopologyGalera || t == model.TopologyGroupReplication
}

// eachDatabase asks about every database of MySQL or MariaDB, once.
func (f *Facts) eachDatabase(ask func(*sqlDatabase) []Finding) (out []Finding) {
	seen := map[*appsv1.StatefulSet]bool{}
	for i := range f.Sets {
		set := &f.Sets[i]
		if seen[set] || !f.isSQL(set) {
			continue
		}
		family := f.Family(set)
		d := &sqlDatabase{Database: database.New(family, f.Objects()), cluster: f.clusterOf(set)}
		var names []string
		for _, s := range family {
			seen[s] = true
			names = append(names, id(s.Namespace, s.Name))
		}
		if d.object = "StatefulSet " + names[0]; len(names) > 1 {
			d.object = "StatefulSets " + strings.Join(names, ", ")
		}
		for _, found := range ask(d) {
			if found.Object == "" {
				found.Object = d.object
			}
			out = append(out, found)
		}
	}
	return out
}

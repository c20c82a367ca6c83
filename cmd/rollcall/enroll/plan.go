// Package enroll puts running databases under Rollcall: it decides what to write for that, reports
// when the coordinator has seen it, and says what is left for a person. It is pure; its callers
// read and write.
//
// If a write fails, what was written before restarts nothing: Rollcall manages a StatefulSet only
// if it has the label and there is a DatabaseCluster. The DatabaseCluster is written last, so that
// a coordinator never sees only some of a database's StatefulSets.
package enroll

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Options are what a person asks for. Zero values leave it to the existing objects.
type Options struct {
	Namespace string
	// Sets are the names of StatefulSets, at least one.
	Sets              []string
	Name              string
	Engine            model.Engine
	CredentialsSecret string
	Connection        Connection
	// Primary is what the primary does before its pod goes.
	Primary model.Primary
	Observe bool
}

// Plan is what has to be written, and what exists already.
type Plan struct {
	Namespace, Name string
	// Install is the namespace of the coordinator.
	Install string
	// Sets are the StatefulSets as they are now, in the order in which they were named.
	Sets []appsv1.StatefulSet
	// Cluster is the DatabaseCluster as it is, or as it will be created.
	Cluster v1alpha1.DatabaseCluster
	Exists  bool
	// Steps that are left, in the order in which they are safe.
	Steps []Step
	// gives are the Secrets that the user of this command has named, and not the creator of the
	// DatabaseCluster.
	gives []string
	// asked is what the user of this command asks for.
	asked Options
	// Image is the image that names the engine; empty means that the engine is known otherwise.
	Image string
	// Topology of MySQL and MariaDB, and the reason in words; empty for other engines.
	Topology model.Topology
	Why      string
	// primaryPod is the pod of a fixed primary; empty means that it is not known.
	primaryPod string
}

// Decide returns what has to be written so that the StatefulSets belong to one DatabaseCluster,
// given the facts of a running cluster.
func Decide(f *doctor.Facts, o Options) (*Plan, error) {
	p := &Plan{Namespace: o.Namespace, Install: f.Live.Install}
	for _, name := range o.Sets {
		i := slices.IndexFunc(f.Sets, func(s appsv1.StatefulSet) bool { return s.Name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("there is no StatefulSet %s in namespace %s%s", name, o.Namespace, there(f.Sets))
		case !slices.ContainsFunc(p.Sets, func(s appsv1.StatefulSet) bool { return s.Name == name }):
			p.Sets = append(p.Sets, f.Sets[i])
		}
	}
	if len(p.Sets) == 0 {
		return nil, fmt.Errorf("the name of a StatefulSet is required%s", there(f.Sets))
	}
	if err := supported(p.Sets); err != nil {
		return nil, err
	}
	var err error
	if p.Name, err = nameOf(p.Sets, o.Name); err != nil {
		return nil, err
	}
	if err := p.whole(f, o); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(f.Clusters, func(c v1alpha1.DatabaseCluster) bool { return c.Name == p.Name })
	if p.Exists = i >= 0; p.Exists {
		p.Cluster = f.Clusters[i]
		err = cmp.Or(stays(&p.Cluster), agrees(&p.Cluster, o), p.alike(o))
		p.look(f, p.Cluster.Spec.Engine)
	} else {
		err = p.describe(f, o)
	}
	if err != nil {
		return nil, err
	}
	p.Steps, p.gives, p.asked = p.steps(), p.given(o), o
	return p, nil
}

func there(sets []appsv1.StatefulSet) string {
	if len(sets) == 0 {
		return "; there is none in that namespace"
	}
	var names []string
	for i := range sets {
		names = append(names, sets[i].Name)
	}
	slices.Sort(names)
	return "; there are " + strings.Join(names, ", ")
}

// maxName leaves room for what is derived from a name.
const maxName = 54

// nameOf returns the name of the DatabaseCluster: the one that the StatefulSets name already, or
// the one that was asked for.
func nameOf(sets []appsv1.StatefulSet, asked string) (string, error) {
	name, by := asked, "--name"
	for i := range sets {
		named := doctor.ClusterName(&sets[i])
		switch {
		case named == "" || named == name:
		case name == "":
			name, by = named, "the label of StatefulSet "+sets[i].Name
		default:
			return "", fmt.Errorf("StatefulSet %s has the label %s=%s, and %s says %s: one database has one name; leave out --name and name the StatefulSets of one database, or change the label first",
				sets[i].Name, v1alpha1.LabelCluster, named, by, name)
		}
	}
	if name == "" {
		name, by = sets[0].Name, "the name of the StatefulSet"
	}
	if len(validation.IsDNS1035Label(name)) > 0 || len(name) > maxName {
		return "", fmt.Errorf("%s, %q, is not a valid name for a DatabaseCluster: must be lower-case letters, digits and hyphens, beginning with a letter, at most %d; --name gives it another", by, name, maxName)
	}
	return name, nil
}

// agrees returns an error if the options contradict the existing DatabaseCluster, which is not
// changed.
func agrees(c *v1alpha1.DatabaseCluster, o Options) error {
	refuse := func(flag, want, field, is string) error {
		return fmt.Errorf("%s is %s, and DatabaseCluster %s, which is there and is left as it is, has %s: %s; leave out %[1]s, or change %[4]s first", flag, want, c.Name, field, is)
	}
	spec := c.Spec.WithDefaults()
	switch {
	case o.Engine != "" && o.Engine != spec.Engine:
		return refuse("--engine", string(o.Engine), "spec.engine", string(spec.Engine))
	case o.CredentialsSecret != "" && o.CredentialsSecret != spec.Connection.CredentialsSecret:
		return refuse("--credentials-secret", o.CredentialsSecret, "spec.connection.credentialsSecret", fmt.Sprintf("%q", spec.Connection.CredentialsSecret))
	case o.Primary != "" && o.Primary != c.Spec.Update.Primary:
		return refuse("--primary", string(o.Primary), "spec.update.primary", fmt.Sprintf("%q", c.Spec.Update.Primary))
	case o.Observe && spec.Update.Mode != model.ModeObserve:
		return refuse("--observe", "given", "spec.update.mode", string(spec.Update.Mode))
	}
	if said, field := o.Connection.differs(spec.Connection); said != "" {
		return fmt.Errorf("%s, and DatabaseCluster %s, which is there and is left as it is, says otherwise in %s: leave that out, or change the DatabaseCluster first", said, c.Name, field)
	}
	return nil
}

// stays returns an error if the DatabaseCluster is being deleted, because the guard ends with it.
func stays(c *v1alpha1.DatabaseCluster) error {
	if c.DeletionTimestamp.IsZero() {
		return nil
	}
	return fmt.Errorf("DatabaseCluster %s is being deleted: give the same command when kubectl -n %s get dbc %[1]s finds it no more", c.Name, c.Namespace)
}

// alike returns an error if StatefulSets that join a database seem to have another engine, unless
// the user names the engine.
func (p *Plan) alike(o Options) error {
	new := slices.DeleteFunc(slices.Clone(p.Sets), func(s appsv1.StatefulSet) bool { return doctor.ClusterName(&s) == p.Name })
	if o.Engine != "" || len(new) == 0 {
		return nil
	}
	engine, image, err := engineOf(new)
	if p.Cluster.Spec.Engine == model.Galera && (engine == model.MariaDB || engine == model.MySQL) {
		return nil // the images of many charts name only the server
	}
	if is := p.Cluster.Spec.Engine; err == nil && engine != is {
		err = fmt.Errorf("DatabaseCluster %s is of %s, and the image %s of StatefulSet %s says %s: --engine %[2]s if it is that after all, or --name gives it a DatabaseCluster of its own",
			p.Name, is, image, new[0].Name, engine)
	}
	return err
}

// describe fills in the DatabaseCluster that will be created.
func (p *Plan) describe(f *doctor.Facts, o Options) error {
	p.look(f, o.Engine)
	engine := o.Engine
	if engine == "" {
		var err error
		switch engine, p.Image, err = engineOf(p.Sets); {
		case p.Topology == model.TopologyGalera:
			engine, p.Image = model.Galera, ""
		case err != nil:
			return err
		}
	}
	primary, err := p.primary(engine, o)
	if err != nil {
		return err
	}
	p.Cluster = v1alpha1.DatabaseCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec:       specOf(engine, o.CredentialsSecret, o.Observe),
	}
	o.Connection.write(&p.Cluster.Spec.Connection)
	p.Cluster.Spec.Update.Primary = primary
	return nil
}

// Manifest returns the manifest of the DatabaseCluster: what people would keep of it.
func (p *Plan) Manifest() *v1alpha1.DatabaseCluster {
	return &v1alpha1.DatabaseCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec:       p.Cluster.Spec,
	}
}

// Facts returns the facts as they will be once everything is written. The doctor examines these, so
// that it does not report what the plan fixes. They include all StatefulSets of the database, also
// those that were not named.
func (p *Plan) Facts(f *doctor.Facts) *doctor.Facts {
	after := *f
	after.Clusters = []v1alpha1.DatabaseCluster{p.Cluster}
	after.Sets = nil
	for i := range f.Sets {
		set := f.Sets[i].DeepCopy()
		named := slices.ContainsFunc(p.Sets, func(s appsv1.StatefulSet) bool { return s.Name == set.Name })
		switch {
		case named && p.wantsPartition(set):
			zero := int32(0)
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &zero}
		case !named && doctor.ClusterName(set) != p.Name:
			after.Others = append(slices.Clone(after.Others), *set)
			continue
		}
		if named {
			metav1.SetMetaDataLabel(&set.ObjectMeta, v1alpha1.LabelCluster, p.Name)
		}
		after.Sets = append(after.Sets, *set)
	}
	return &after
}

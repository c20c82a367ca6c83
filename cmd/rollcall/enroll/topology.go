package enroll

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// whole returns an error if StatefulSets of MySQL or MariaDB belong to the same database and were
// not named: Rollcall would take their servers for strangers.
func (p *Plan) whole(f *doctor.Facts, o Options) error {
	if o.Engine != "" && !doctor.IsSQL(o.Engine) {
		return nil
	}
	for i := range p.Sets {
		for _, s := range f.Family(&p.Sets[i]) {
			named := slices.ContainsFunc(p.Sets, func(of appsv1.StatefulSet) bool { return of.Name == s.Name })
			if named || s.Labels[v1alpha1.LabelCluster] == p.Name || !database.IsSQL(s) {
				continue
			}
			all := append(slices.Clone(o.Sets), s.Name)
			slices.Sort(all)
			return fmt.Errorf("StatefulSet %s is of the same database as %s: name both, for one DatabaseCluster: rollcall enroll %s -n %s --name %s",
				s.Name, p.Sets[i].Name, strings.Join(all, " "), p.Namespace, common(all, o.Name))
		}
	}
	return nil
}

// common returns a name for a database of several StatefulSets: what their names begin with.
func common(names []string, asked string) string {
	if asked != "" {
		return asked
	}
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	if prefix = strings.TrimRight(prefix, "-"); prefix == "" || !slices.ContainsFunc(names, func(n string) bool { return n == prefix || strings.HasPrefix(n, prefix+"-") }) {
		return names[0]
	}
	return prefix
}

// look looks at the topology of MySQL and MariaDB. The engine is what somebody has said; empty means
// that the images tell.
func (p *Plan) look(f *doctor.Facts, engine model.Engine) {
	if engine != "" && !doctor.IsSQL(engine) {
		return
	}
	var sets []*appsv1.StatefulSet
	for i := range p.Sets {
		for _, s := range f.Family(&p.Sets[i]) {
			known := slices.ContainsFunc(sets, func(of *appsv1.StatefulSet) bool { return of.Name == s.Name })
			if !known && (engine != "" || database.IsSQL(s)) {
				sets = append(sets, s)
			}
		}
	}
	if d := database.New(sets, f.Objects()); len(d.Pools) > 0 {
		p.Topology, p.Why = d.Topology()
		p.primaryPod = d.Primary()
	}
}

// primary returns what the primary of a new DatabaseCluster does: what the user says, or what its
// topology means. It is written where a default would not be safe.
func (p *Plan) primary(engine model.Engine, o Options) (model.Primary, error) {
	switch {
	case !doctor.IsSQL(engine):
		if o.Primary != "" {
			return "", fmt.Errorf("--primary is %s: it is for MySQL and MariaDB, and this is %s", o.Primary, engine)
		}
		p.Topology, p.Why = "", ""
		return "", nil
	case engine == model.Galera:
		if o.Primary != "" {
			return "", fmt.Errorf("--primary is %s: each member of Galera takes writes, so there is none to hand over", o.Primary)
		}
		p.Topology = model.TopologyGalera
		return "", nil
	case p.Topology == model.TopologyGalera:
		return "", fmt.Errorf("--engine is %s, and these are members of Galera: %s; leave out --engine, or say Galera", engine, p.Why)
	case o.Primary != "":
		return o.Primary, nil
	case p.Topology == model.TopologyFixedPrimary || p.Topology == model.TopologySingleServer:
		return model.PrimaryRestartInPlace, nil
	case p.Topology == model.TopologyUnknown || p.Topology == "":
		return "", fmt.Errorf("it cannot be told how the servers of StatefulSet %s replicate: %s\nSay it: --primary Switchover where replicas follow with GTIDs and any of them may lead, --primary RestartInPlace where the primary is always the same server, --engine Galera for Galera (deploy/docs/mysql.md#which-one-have-i)",
			p.Sets[0].Name, p.Why)
	}
	return "", nil
}

// TopologyLine is the topology, what tells it, and what the primary does before its pod goes.
func (p *Plan) TopologyLine() string {
	does := ""
	switch primary := p.Cluster.Spec.Update.Primary; {
	case p.Topology == model.TopologyGalera:
		does = "each member takes writes, and one after the other leaves and comes back"
	case p.Topology == model.TopologySingleServer && primary == model.PrimaryHold:
		does = "it waits for a person"
	case p.Topology == model.TopologySingleServer:
		does = "it restarts in place, and nobody reads or writes meanwhile"
	case primary == model.PrimaryRestartInPlace, primary == "" && p.Topology == model.TopologyFixedPrimary:
		does = "its primary restarts in place, last, and nobody writes meanwhile"
	case primary == model.PrimaryHold:
		does = "its primary waits for a person"
	case p.Topology == model.TopologyGroupReplication:
		does = "its primary hands over to another member, last"
	default:
		does = "its primary hands over to a replica, last"
	}
	why := ""
	if p.Why != "" {
		why = ": " + p.Why
	}
	return fmt.Sprintf("topology %s%s; %s", p.Topology, why, does)
}

// ParsePrimary knows what a primary does by its name, in letters of any case.
func ParsePrimary(text string) (model.Primary, error) {
	all := []model.Primary{model.PrimarySwitchover, model.PrimaryRestartInPlace, model.PrimaryHold}
	for _, p := range all {
		if strings.EqualFold(string(p), text) {
			return p, nil
		}
	}
	return "", fmt.Errorf("--primary is %q: must be one of Switchover, RestartInPlace, Hold", text)
}

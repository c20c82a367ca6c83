package doctor

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/engines/sql/grants"
)

// known returns the topology and the reason: what the agents report, where they agree, or else what
// the objects say.
func (f *Facts) known(d *sqlDatabase) (model.Topology, string) {
	if d.cluster != nil && f.Live != nil {
		s := f.Live.Snapshots[d.cluster.Namespace+"/"+d.cluster.Name]
		if s != nil && s.Cluster.Topology != "" && s.Cluster.Topology != model.TopologyUnknown {
			return s.Cluster.Topology, "the agents report it"
		}
	}
	return d.Topology()
}

// primaryOf returns what the primary does before its pod goes; empty means that it is not known.
func (f *Facts) primaryOf(d *sqlDatabase) model.Primary {
	t, _ := f.known(d)
	c := model.Cluster{Topology: t}
	if d.cluster != nil {
		c.Spec = d.cluster.Spec
	}
	return c.SpecWithDefaults().Update.Primary
}

// switches reports whether servers of the database hand the role of primary to each other by the
// agents, for which they need more than other topologies.
func (f *Facts) switches(d *sqlDatabase) bool {
	t, _ := f.known(d)
	return f.primaryOf(d) == model.PrimarySwitchover && t != model.TopologyGroupReplication && t != model.TopologyGalera && t != model.TopologySingleServer
}

// Account says what the agents' account needs in a topology, with what its primary does.
func Account(engine model.Engine, t model.Topology, primary model.Primary) string {
	switch {
	case t == model.TopologyFixedPrimary && primary == model.PrimarySwitchover:
		t = model.TopologySwitchable
	case (t == model.TopologySwitchable || t == model.TopologyUnknown) && primary == model.PrimaryRestartInPlace:
		t = model.TopologyFixedPrimary
	}
	statements := grants.Statements(string(engine), string(t))
	if statements == "" {
		return ""
	}
	return "the agents' account needs: " + statements
}

var rolled = map[model.Topology]struct{ primary, page string }{
	model.TopologySwitchable:       {"its replicas go first, then the primary hands over to one of them", "mysql.md#switchable"},
	model.TopologyFixedPrimary:     {"its replicas go first, then the primary restarts in place: nobody can write meanwhile", "mysql.md#fixed-primary"},
	model.TopologyGroupReplication: {"the group elects another primary before its primary goes", "mysql.md#group-replication"},
	model.TopologySingleServer:     {"nobody can read or write while it restarts", "mysql.md#single-server"},
	model.TopologyGalera:           {"its members go one at a time, while the others are a majority", "galera.md"},
}

// topology names the topology of each database of MySQL or MariaDB.
func topology(f *Facts) []Finding {
	return f.eachDatabase(func(d *sqlDatabase) []Finding {
		t, why := f.known(d)
		if name, at := d.Unsupported(); name != "" {
			return one(Error, at+" is "+name+", which is not supported: agents refuse its servers", "do not put it under Rollcall (deploy/docs/compatibility.md)")
		}
		if d.cluster != nil {
			engine := d.cluster.Spec.Engine
			switch {
			case t == model.TopologyGalera && engine != model.Galera:
				return one(Error, fmt.Sprintf("spec.engine is %s, and these are members of Galera: %s", engine, why), "set spec.engine: Galera")
			case engine == model.Galera && t != model.TopologyGalera && t != model.TopologyUnknown:
				return one(Error, fmt.Sprintf("spec.engine is Galera, and it looks like %s: %s", database.InWords(t), why), "set spec.engine to MySQL or MariaDB")
			case t == model.TopologyUnknown && (engine == model.Galera || f.primaryOf(d) != ""):
				return nil // it is said
			}
		}
		if t == model.TopologyUnknown {
			return one(Warning, database.InWords(t)+": "+why,
				"say it in the DatabaseCluster (enroll: --primary, --engine): spec.update.primary: Switchover where replicas follow with GTIDs and any of them may lead, RestartInPlace where the primary is always the same server; spec.engine: Galera for Galera. deploy/docs/mysql.md#which-one-have-i")
		}
		does := rolled[t]
		if primary := f.primaryOf(d); t == model.TopologyFixedPrimary && primary == model.PrimarySwitchover {
			does.primary = "spec.update.primary is Switchover, so the primary hands over to a replica"
		} else if primary == model.PrimaryHold {
			does.primary = "spec.update.primary is Hold, so the primary waits for a person"
		}
		fix := does.primary + " (deploy/docs/" + does.page + ")"
		if account := Account(f.engineAs(d), t, f.primaryOf(d)); account != "" {
			fix += "; " + account
		}
		out := one(Info, database.InWords(t)+": "+why, fix)
		if t == model.TopologyGalera {
			out = append(out, members(d)...)
		}
		return out
	})
}

// members finds what keeps all members of Galera from going.
func members(d *sqlDatabase) (out []Finding) {
	if option, from := d.IgnoresQuorum(); option != "" {
		out = append(out, Finding{Severity: Error, Found: option + " (" + from + "): two halves go on by themselves, and their data part, so veto holds all of its members", Fix: "take it out of wsrep_provider_options"})
	}
	if n := d.Pods(); n < 3 {
		out = append(out, Finding{Severity: Warning, Found: fmt.Sprintf("it has %d of at least 3 members: what is left without one of them is no majority, so quorum holds each", n),
			Fix: "three members, or an arbitrator (garbd) beside two, which cannot be seen here (deploy/docs/galera.md#before-you-enroll)"})
	}
	return out
}

// services names each Service that a switchover would leave behind.
func services(f *Facts) []Finding {
	return f.eachDatabase(func(d *sqlDatabase) (out []Finding) {
		t, _ := f.known(d)
		if unread := f.unread("Services"); unread != "" && (t == model.TopologyGroupReplication || f.switches(d)) {
			return one(Error, "it is not known whether a switchover leaves a Service for writes behind: "+unread,
				"run this as somebody who may list Services; with spec.update.primary: RestartInPlace (enroll: --primary RestartInPlace) the primary stays where it is")
		}
		for _, s := range d.Selections() {
			name := "Service " + id(s.Service.Namespace, s.Service.Name)
			some := strings.Join(s.Pods[:min(len(s.Pods), 3)], ", ") + more(len(s.Pods)-3)
			if wrong := byRole(t, s); wrong.Found != "" {
				wrong.Object = name
				out = append(out, wrong)
				continue
			}
			roleOf := database.RoleLabel + ": " + database.RolePrimary
			first := ""
			if d.cluster == nil {
				first = ", once you have labelled the primary's pod with it (deploy/docs/mysql.md#writes-find-the-primary)"
			}
			change := fmt.Sprintf("select by %s instead of %s%s: the coordinator keeps that label on the primary's pod%s", roleOf, s.By, first, ownService(d, s))
			elects := t == model.TopologyGroupReplication // whatever the spec says
			switch moves := elects || f.primaryOf(d) == model.PrimarySwitchover; {
			case t == model.TopologyGalera && s.Kind != database.ByRole:
				out = append(out, Finding{Severity: Warning, Object: name, Found: fmt.Sprintf("it selects %s only (%s), and any member of Galera takes writes: nobody is behind it while that restarts", some, s.By), Fix: "select all members"})
			case t == model.TopologyGalera || !moves || ofReplicas(d, s):
			case s.Kind == database.ByRole:
				if !strings.HasPrefix(s.By, database.RoleLabel+":") && !strings.HasPrefix(s.By, "mysql.oracle.com/cluster-role:") {
					out = append(out, Finding{Severity: Info, Object: name, Found: fmt.Sprintf("it selects by %s, which is not in the pod template: who keeps that label has to follow each switchover", s.By), Fix: "or " + change})
				}
			case !f.mayWrite(d, s):
				out = append(out, Finding{Severity: Warning, Object: name, Found: fmt.Sprintf("it selects %s only (%s): if clients write there, a switchover leaves it behind, and if they read there, nobody is behind it while that pod restarts", some, s.By), Fix: "where clients only read, select by " + database.RoleLabel + ": " + v1alpha1.RoleReplica + "; else " + change})
			default:
				if !elects {
					change += ". Or set spec.update.primary: RestartInPlace (enroll: --primary RestartInPlace), and the primary stays where it is"
				}
				out = append(out, Finding{Severity: Error, Object: name, Found: fmt.Sprintf("it selects %s only (%s): after a switchover it leads to a read-only server, and clients cannot write", some, s.By), Fix: change})
			}
		}
		return out
	})
}

// byRole finds a Service that selects by the label of roles, and that nobody is behind, or the wrong
// one. Without words there is nothing wrong.
func byRole(t model.Topology, s database.Selection) Finding {
	role, there := s.Service.Spec.Selector[database.RoleLabel]
	is := "it selects by " + database.RoleLabel + ": " + role
	switch {
	case !there:
		return Finding{}
	case t == model.TopologyGalera:
		return Finding{Severity: Error, Found: is + ", which members of Galera do not have: nobody is behind it", Fix: "select all members"}
	case role != database.RolePrimary && role != v1alpha1.RoleReplica:
		return Finding{Severity: Error, Found: is + ", which no pod has: nobody is behind it", Fix: fmt.Sprintf("select by %[1]s: %[2]s for writes, or %[1]s: %[3]s for reads", database.RoleLabel, database.RolePrimary, v1alpha1.RoleReplica)}
	case s.Service.Spec.PublishNotReadyAddresses:
		return Finding{Severity: Warning, Found: is + ", also pods that are not ready: clients are led to a server that is gone, or not there yet", Fix: "take publishNotReadyAddresses out of it"}
	}
	return Finding{}
}

// unread returns why something could not be read; empty means that it was.
func (f *Facts) unread(what string) string {
	if f.Live == nil {
		return ""
	}
	for _, text := range f.Live.Unread {
		if strings.HasPrefix(text, what+": ") {
			return text
		}
	}
	return ""
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// ofReplicas reports whether the Service selects pods that never lead by configuration.
func ofReplicas(d *sqlDatabase, s database.Selection) bool {
	if len(s.Pods) == 0 {
		return false
	}
	for _, pod := range s.Pods {
		p := poolOf(d, pod)
		if p == nil || p.Role != database.Follower {
			return false
		}
	}
	return true
}

// mayWrite reports whether clients of the Service reach the primary now: where it is known, by
// that; else the first server is taken for it.
func (f *Facts) mayWrite(d *sqlDatabase, s database.Selection) bool {
	primary := map[string]bool{}
	if d.cluster != nil && f.Live != nil {
		if snapshot := f.Live.Snapshots[d.cluster.Namespace+"/"+d.cluster.Name]; snapshot != nil {
			for _, g := range snapshot.Groups {
				for _, m := range g.Members {
					if m.Leader && m.Pod != "" {
						primary[m.Pod] = true
					}
				}
			}
		}
	}
	for _, pod := range s.Pods {
		if len(primary) == 0 && (s.Kind != database.OnePod || first(d, pod)) || primary[pod] {
			return true
		}
	}
	return false
}

func poolOf(d *sqlDatabase, pod string) *database.Pool {
	for i := range d.Pools {
		if at := strings.LastIndex(pod, "-"); at > 0 && d.Pools[i].Set.Name == pod[:at] {
			return &d.Pools[i]
		}
	}
	return nil
}

// first reports whether the pod has the lowest ordinal of its StatefulSet.
func first(d *sqlDatabase, pod string) bool {
	p := poolOf(d, pod)
	if p == nil {
		return true
	}
	start := int32(0)
	if p.Set.Spec.Ordinals != nil {
		start = p.Set.Spec.Ordinals.Start
	}
	return strings.HasSuffix(pod, fmt.Sprintf("-%d", start))
}

// ownService says what to do where a chart makes the Service, and may have no value for its selector.
func ownService(d *sqlDatabase, s database.Selection) string {
	if s.Service.Labels["helm.sh/chart"] == "" {
		return ""
	}
	name := "NAME"
	for i := range d.Pools {
		if named := ClusterName(d.Pools[i].Set); named != "" {
			name = named
		}
	}
	return fmt.Sprintf("; where the chart has no value for that, make a Service of your own with the selector %s: %s, %s: %s, and have clients use it", v1alpha1.LabelCluster, name, database.RoleLabel, database.RolePrimary)
}

// inValues says where a chart has it, if that is known.
func inValues(set *appsv1.StatefulSet, path string) string {
	if path == "" {
		return ""
	}
	at, of := database.ChartOf(set).Value(path, "")
	return " (" + at + of + ")"
}

package database

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// InWords is a topology as messages begin with.
func InWords(t model.Topology) string {
	switch t {
	case model.TopologySwitchable:
		return "switchable"
	case model.TopologyFixedPrimary:
		return "fixed primary"
	case model.TopologyGalera:
		return "Galera"
	case model.TopologyGroupReplication:
		return "group replication"
	case model.TopologySingleServer:
		return "single server"
	}
	return "topology not known"
}

// Topology returns the topology and the reason in words. For TopologyUnknown the reason says
// what would tell.
func (d *Database) Topology() (model.Topology, string) {
	for _, ask := range []func() (model.Topology, string){d.galera, d.group, d.single, d.fixedPools, d.pinned, d.switchable} {
		if t, why := ask(); t != model.TopologyUnknown {
			return t, why
		}
	}
	return model.TopologyUnknown, d.wouldTell()
}

// signed returns what says it of the first pool that has such signs.
func (d *Database) signed(of func(*Pool) []string) string {
	for i := range d.Pools {
		p := &d.Pools[i]
		if signs := of(p); len(signs) > 0 {
			return "StatefulSet " + p.Set.Name + ": " + strings.Join(signs[:min(len(signs), 2)], ", and ")
		}
	}
	return ""
}

func (d *Database) galera() (model.Topology, string) {
	if why := d.signed(func(p *Pool) []string { return p.galera }); why != "" {
		return model.TopologyGalera, why
	}
	return model.TopologyUnknown, ""
}

func (d *Database) group() (model.Topology, string) {
	if why := d.signed(func(p *Pool) []string { return p.group }); why != "" {
		return model.TopologyGroupReplication, why
	}
	return model.TopologyUnknown, ""
}

func (d *Database) single() (model.Topology, string) {
	if n := d.Pods(); n != 1 || len(d.Pools) == 0 || d.Pools[0].Role == Follower {
		return model.TopologyUnknown, ""
	}
	return model.TopologySingleServer, "StatefulSet " + d.Pools[0].Set.Name + " has one server, and nothing follows it"
}

// fixedPools finds one pool of one writer whose other pools follow.
func (d *Database) fixedPools() (model.Topology, string) {
	var writer *Pool
	var followers []string
	for i := range d.Pools {
		switch p := &d.Pools[i]; {
		case p.Role == Writer && writer == nil && replicas(p.Set) == 1:
			writer = p
		case p.Role == Follower:
			text := p.Set.Name + " follows"
			if p.Follows != "" {
				text += " " + d.kindOf(p.Follows) + p.Follows
			}
			followers = append(followers, text)
		default:
			return model.TopologyUnknown, ""
		}
	}
	if writer == nil || len(followers) == 0 {
		return model.TopologyUnknown, ""
	}
	return model.TopologyFixedPrimary, fmt.Sprintf("StatefulSet %s has one server that accepts writes (%s), %s", writer.Set.Name, writer.RoleBy, strings.Join(followers, ", "))
}

// Primary returns the pod of a fixed primary; empty means that there is none, or that it is not known.
func (d *Database) Primary() string {
	if t, _ := d.fixedPools(); t == model.TopologyFixedPrimary {
		for i := range d.Pools {
			if p := &d.Pools[i]; p.Role == Writer {
				return selectedOf(p.Set, nil)[0]
			}
		}
	}
	for _, s := range d.Selections() {
		if s.Kind == OnePod {
			return s.Pods[0]
		}
	}
	return ""
}

// kindOf is "Service " if the host is one.
func (d *Database) kindOf(host string) string {
	for i := range d.objects.Services {
		if s := &d.objects.Services[i]; s.Name == host || strings.HasPrefix(host, s.Name+"."+s.Namespace) {
			return "Service "
		}
	}
	return ""
}

// pinned finds a write Service that selects one pod, of servers that do not start read-only.
func (d *Database) pinned() (model.Topology, string) {
	for i := range d.Pools {
		if state, _ := d.Pools[i].Settings.Switch("super_read_only", "read_only"); state == On {
			return model.TopologyUnknown, ""
		}
	}
	for _, s := range d.Selections() {
		if s.Kind == OnePod {
			return model.TopologyFixedPrimary, fmt.Sprintf("Service %s selects one pod, %s (%s)", s.Service.Name, s.Pods[0], s.By)
		}
	}
	return model.TopologyUnknown, ""
}

// switchable finds servers that start read-only, or that have GTIDs and say what else they are.
func (d *Database) switchable() (model.Topology, string) {
	why := ""
	for i := range d.Pools {
		p := &d.Pools[i]
		closed, at := p.Settings.Switch("super_read_only", "read_only")
		gtid, by := p.GTIDs()
		switch {
		case p.Role != AnyRole:
			return model.TopologyUnknown, ""
		case closed == On:
			why = fmt.Sprintf("its servers start read-only (%s)", at.From)
		case gtid == On && (len(p.Settings.Hidden) == 0 || closed == Off):
			why = fmt.Sprintf("its servers have GTIDs (%s)", by.From)
		default:
			return model.TopologyUnknown, ""
		}
	}
	return model.TopologySwitchable, why
}

// GTIDs reports whether the servers of a pool replicate with GTIDs. MariaDB has them where it has
// a binary log.
func (p *Pool) GTIDs() (State, Setting) {
	if EngineOf(p.Container) == model.MariaDB {
		return p.Settings.Switch("log_bin")
	}
	state, at := p.Settings.Switch("gtid_mode")
	if state == On && !strings.EqualFold(at.Value, "on") && at.Value != "" && at.Value != "1" && at.Value != "3" {
		state = Off // such as ON_PERMISSIVE
	}
	return state, at
}

// wouldTell says why the topology is not known: roles that do not fit each other, or nothing that
// would tell it.
func (d *Database) wouldTell() string {
	var hidden []string
	for i := range d.Pools {
		hidden = append(hidden, d.Pools[i].Settings.Hidden...)
	}
	slices.Sort(hidden)
	text := cmp.Or(strings.Join(d.misfits(), "; "), "nothing that can be seen says how its servers replicate")
	if hidden = slices.Compact(hidden); len(hidden) > 0 {
		text += "; not visible: " + strings.Join(hidden, "; ")
	}
	return text
}

// misfits are roles that make no database with one primary, in words.
func (d *Database) misfits() (found []string) {
	writer, led := "", slices.ContainsFunc(d.Pools, func(p Pool) bool { return p.Role != Follower })
	for i := range d.Pools {
		switch p := &d.Pools[i]; {
		case p.Role == Writer && replicas(p.Set) > 1:
			found = append(found, fmt.Sprintf("StatefulSet %s has %d servers that start as the primary (%s), and a database has one", p.Set.Name, replicas(p.Set), p.RoleBy))
		case p.Role == Writer && writer != "":
			found = append(found, fmt.Sprintf("StatefulSets %s and %s both start as the primary (%s), and a database has one", writer, p.Set.Name, p.RoleBy))
		case p.Role == Writer:
			writer = p.Set.Name
		case p.Role == Follower && !led:
			found = append(found, fmt.Sprintf("StatefulSet %s has replicas only (%s), and their primary%s is none of its servers", p.Set.Name, p.RoleBy, named(p.Follows)))
		}
	}
	return found
}

func named(host string) string {
	if host == "" {
		return ""
	}
	return ", " + host + ","
}

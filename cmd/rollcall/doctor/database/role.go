package database

import (
	"maps"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Ends of the variables of charts and images by which a server gets its role, such as
// MARIADB_REPLICATION_MODE, and what they say.
var (
	modeVariables   = []string{"REPLICATION_MODE"}
	sourceVariables = []string{"MASTER_HOST", "SOURCE_HOST", "PRIMARY_HOST"}
	writerWords     = []string{"master", "source", "primary", "writer"}
	followerWords   = []string{"slave", "replica", "secondary", "reader", "read"}
	roleLabels      = []string{"app.kubernetes.io/component", "component", "role"}
)

type scriptFlag struct{ name, value, from string }

// replicationFlags are what Bitnami's images add to the command line of a server with a role.
func replicationFlags(env map[string]string) []scriptFlag {
	name, mode := variableOf(env, modeVariables)
	from := name + "=" + mode
	switch _, bitnami := env["BITNAMI_DEBUG"]; {
	case bitnami && slices.Contains(writerWords, mode):
		return []scriptFlag{{"server_id", "$RANDOM", from}, {"log_bin", "", from}}
	case bitnami && slices.Contains(followerWords, mode):
		return []scriptFlag{{"server_id", "$RANDOM", from}, {"log_bin", "", from}, {"log_slave_updates", "ON", from}, {"read_only", "ON", from}}
	}
	return nil
}

// variableOf returns the first variable whose name has one of the ends, in the order of names.
func variableOf(env map[string]string, ends []string) (name, value string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		for _, end := range ends {
			if (name == end || strings.HasSuffix(name, "_"+end)) && env[name] != "" {
				return name, env[name]
			}
		}
	}
	return "", ""
}

// roleOf returns what a pool's servers are by their configuration, where that is from, and whom
// they follow. Labels give a role only beside other pools: charts label a single one alike.
func roleOf(p *Pool, o Objects, others bool) (role Role, by, follows string) {
	env := Environment(p.Set, p.Container, o)
	_, follows = variableOf(env, sourceVariables)
	switch name, mode := variableOf(env, modeVariables); {
	case slices.Contains(writerWords, mode):
		return Writer, name + " is " + mode, follows
	case slices.Contains(followerWords, mode):
		return Follower, name + " is " + mode, follows
	}
	if follows != "" {
		return Follower, "it follows " + follows, follows
	}
	for _, key := range roleLabels {
		if !others {
			break
		}
		value := strings.ToLower(p.Set.Spec.Template.Labels[key])
		switch {
		case slices.Contains(writerWords, value):
			return Writer, "its label " + key + " is " + value, ""
		case slices.Contains(followerWords, value):
			return Follower, "its label " + key + " is " + value, ""
		}
	}
	return AnyRole, "", ""
}

// galeraSigns are what says that a pool's servers are members of Galera.
func galeraSigns(p *Pool, o Objects) (signs []string) {
	env := Environment(p.Set, p.Container, o)
	state, at := p.Settings.Switch("wsrep_on")
	off := env["MARIADB_GALERA_CLUSTER"]
	switch {
	case state == Off || off != "" && stateOf(off) == Off:
		return nil
	case state == On:
		signs = append(signs, "wsrep_on is ON ("+at.From+")")
	}
	if EngineOf(p.Container) == model.Galera || Unsupported(p.Container.Image) != "" {
		signs = append(signs, "its image is "+imageName(p.Container.Image))
	}
	if at, there := p.Settings.copied["wsrep_on"]; there && stateOf(at.Value) == On {
		signs = append(signs, "wsrep_on is ON ("+at.From+")")
	}
	if at, there := p.Settings.Get("wsrep_cluster_address"); there {
		signs = append(signs, "wsrep_cluster_address is set ("+at.From+")")
	}
	for _, e := range p.Container.Env {
		if strings.Contains(e.Name, "_GALERA_CLUSTER") {
			signs = append(signs, "it has the variable "+e.Name)
			break
		}
	}
	if hasPort(p.Container, 4567) && hasPort(p.Container, 4568, 4444) {
		signs = append(signs, "it has the ports 4567 and 4568 or 4444")
	}
	return signs
}

// groupSigns are what says that a pool's servers are members of a group of MySQL.
func groupSigns(p *Pool) (signs []string) {
	for _, name := range p.Settings.Names() {
		at, _ := p.Settings.Get(name)
		plugin := strings.HasPrefix(name, "plugin_load") && strings.Contains(at.Value, "group_replication")
		if plugin || name == "group_replication_group_name" {
			signs = append(signs, strings.TrimSuffix(name+" is "+at.Value, " is ")+" ("+at.From+")")
		}
	}
	if p.Set.Spec.Template.Labels["mysql.oracle.com/cluster"] != "" {
		signs = append(signs, "its label is mysql.oracle.com/cluster")
	}
	if hasPort(p.Container, 33061) && len(signs) == 0 {
		signs = append(signs, "it has the port 33061")
	}
	return signs
}

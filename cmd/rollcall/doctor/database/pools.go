package database

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// related reports whether two StatefulSets that no label of Rollcall joins are of one database: one
// release of a chart made both, their nodes are told to join the same cluster, or those of one are
// among the hosts that those of the other look for.
func related(a, b *appsv1.StatefulSet, o Objects) bool {
	const instance, name = "app.kubernetes.io/instance", "app.kubernetes.io/name"
	la, lb := a.Spec.Template.Labels, b.Spec.Template.Labels
	if la[instance] != "" && la[name] != "" && la[instance] == lb[instance] && la[name] == lb[name] {
		return true
	}
	joinsA, joinsB := joins(a, o), joins(b, o)
	if joinsA != "" && joinsB != "" {
		return joinsA == joinsB
	}
	leads := func(from, to *appsv1.StatefulSet) bool {
		return slices.ContainsFunc(peers(from, o), func(host string) bool { return leadsTo(host, to, o) })
	}
	return leads(a, b) || leads(b, a)
}

// peerSettings are those with the hosts of a node's peers.
var peerSettings = []string{
	"discovery.seed_hosts", "cluster.initial_master_nodes", "cluster.initial_cluster_manager_nodes", "OPENSEARCH_CLUSTER_HOSTS", "ZOO_SERVERS",
	"MARIADB_GALERA_CLUSTER_ADDRESS", "WSREP_CLUSTER_ADDRESS",
}

// peers are the hosts that the nodes of a StatefulSet look for, as far as they can be seen.
func peers(set *appsv1.StatefulSet, o Objects) (hosts []string) {
	c := Container(&set.Spec.Template)
	if c == nil {
		return nil
	}
	env, file := Environment(set, c, o), nodeSettings(set, o)
	var lists []string
	for _, name := range peerSettings {
		text, _ := file[name].(string)
		lists = append(lists, env[name], text)
		if list, ok := file[name].([]any); ok {
			for _, host := range list {
				text, _ := host.(string)
				lists = append(lists, text)
			}
		}
	}
	if IsSQL(set) {
		s := settingsOf(set, c, o)
		for _, name := range []string{"wsrep_cluster_address", "group_replication_group_seeds"} {
			lists = append(lists, s.set[name].Value, s.copied[name].Value)
		}
	}
	for _, list := range lists {
		for _, host := range words(strings.TrimPrefix(list, "gcomm://")) {
			host, _, _ = strings.Cut(host, "?")
			host, _, _ = strings.Cut(host, ":")
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// zooKeeperVariables say which ensemble a node of Solr belongs to.
var zooKeeperVariables = []string{"ZK_HOST", "SOLR_ZK_HOSTS"}

// joins returns the cluster that nodes of Solr or OpenSearch are told to join; empty means that it
// cannot be seen.
func joins(set *appsv1.StatefulSet, o Objects) string {
	c := Container(&set.Spec.Template)
	if c == nil {
		return ""
	}
	env := Environment(set, c, o)
	switch EngineOf(c) {
	case model.Solr:
		for _, name := range zooKeeperVariables {
			if env[name] != "" {
				return env[name]
			}
		}
	case model.OpenSearch:
		for _, name := range []string{"cluster.name", "OPENSEARCH_CLUSTER_NAME"} {
			if env[name] != "" {
				return env[name]
			}
		}
		name, _ := nodeSettings(set, o)["cluster.name"].(string)
		return name
	}
	return ""
}

// dataRoles are those of nodes of OpenSearch that keep on disk what is not to be lost: shards, or the
// state of the cluster. Roles with such a name as data_hot are, too.
var dataRoles = []string{"data", "master", "cluster_manager", "search", "warm"}

// KeepsData reports whether the pods of a StatefulSet keep data that are not to be lost, as far as
// its configuration says so, and what says that they do not. Of other engines than Solr and
// OpenSearch all do.
func KeepsData(set *appsv1.StatefulSet, engine model.Engine, o Objects) (keeps bool, why string) {
	c := Container(&set.Spec.Template)
	if c == nil {
		return true, ""
	}
	switch engine {
	case model.Solr:
		env := Environment(set, c, o)
		text := strings.Join(slices.Concat(c.Command, c.Args, []string{env["SOLR_OPTS"], "-Dsolr.node.roles=" + env["SOLR_NODE_ROLES"]}), " ")
		if _, roles, there := strings.Cut(text, "-Dsolr.node.roles="); there && slices.Contains(words(roles), "data:off") {
			return false, "solr.node.roles says data:off"
		}
	case model.OpenSearch:
		roles, known := NodeRoles(set, o)
		keeps = !known || slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(dataRoles, r) || strings.HasPrefix(r, "data_") })
		if !keeps {
			return false, "node.roles is " + cmp.Or(strings.Join(roles, ", "), "empty")
		}
	}
	return true, ""
}

// NodeRoles returns the roles of the nodes of OpenSearch, where they can be seen. None means that
// they only coordinate.
func NodeRoles(set *appsv1.StatefulSet, o Objects) (roles []string, known bool) {
	c := Container(&set.Spec.Template)
	if c == nil {
		return nil, false
	}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if _, value, there := strings.Cut(word, "-Enode.roles="); there {
			return words(value), !variable(value)
		}
	}
	for i := range c.Env {
		e := &c.Env[i]
		bitnami := e.Name == "OPENSEARCH_NODE_ROLES" && slices.Contains([]string{"yes", "true", "1"}, strings.ToLower(Environment(set, c, o)["OPENSEARCH_IS_DEDICATED_NODE"]))
		if e.Name == "node.roles" || bitnami {
			return words(e.Value), e.ValueFrom == nil && !variable(e.Value)
		}
	}
	if value, there := Environment(set, c, o)["node.roles"]; there {
		return words(value), true
	}
	switch value := nodeSettings(set, o)["node.roles"].(type) {
	case string:
		return words(value), !variable(value)
	case []any:
		for _, role := range value {
			if text, ok := role.(string); ok {
				roles = append(roles, text)
			}
		}
		return roles, true
	}
	return nil, false
}

// words are what stands between commas and spaces, without quotes and brackets. They end with the
// argument that they are in.
func words(list string) []string {
	list = strings.Trim(strings.TrimSpace(list), `[]"'`)
	if at := strings.IndexAny(list, "\"'"); at >= 0 && !strings.Contains(list[:at], ",") {
		list = list[:at]
	}
	list, _, _ = strings.Cut(list, " -")
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(`, []"'`, r) })
}

// nodeSettings are those of opensearch.yml, with dots between their words, as far as it is in a
// ConfigMap of the pods: mounted, or copied by an init container.
func nodeSettings(set *appsv1.StatefulSet, o Objects) map[string]any {
	out := map[string]any{}
	for _, name := range ConfigMaps(set) {
		for key, text := range ConfigMap(o, set.Namespace, name) {
			var settings map[string]any
			if path.Base(key) != "opensearch.yml" || yaml.Unmarshal([]byte(text), &settings) != nil {
				continue
			}
			maps.Copy(out, Flat(settings))
		}
	}
	return out
}

// Flat returns nested settings with dots between their words.
func Flat(tree map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range tree {
		below, nested := value.(map[string]any)
		if !nested {
			out[key] = value
			continue
		}
		for name, v := range Flat(below) {
			out[key+"."+name] = v
		}
	}
	return out
}

package opensearch

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

func (c *fakeCluster) serve(self string, w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := r.URL.Path
	c.requests[r.Method+" "+path]++
	local := r.FormValue("local") == "true"
	if c.elected == "" && !local && !strings.HasPrefix(path, "/_nodes/_local") {
		writeFailure(w, http.StatusServiceUnavailable, "cluster_manager_not_discovered_exception", "")
		return
	}
	switch {
	case path == pathState+"/version,master_node":
		answer(w, c.head())
	case path == pathState+"/version,master_node,nodes,routing_table,customs":
		answer(w, c.state())
		c.settle() // the next reader sees how it went on
	case strings.HasPrefix(path, pathState+"/metadata/"):
		answer(w, c.metadata())
	case path == pathHealth:
		answer(w, c.health())
	case path == pathSelf, path == pathNodes:
		answer(w, c.nodeInfos(self, path == pathSelf))
	case path == pathStore:
		answer(w, nested("nodes", self, "indices", "store", "size_in_bytes", 4096))
	case path == pathShards:
		answer(w, c.ownShards(self))
	case path == pathExplain && r.Method == http.MethodPost:
		c.explain(w, r)
	case path == pathExpand:
		out := map[string]any{}
		for index, value := range c.expand {
			out[index] = nested("settings", "index.auto_expand_replicas", value)
		}
		answer(w, out)
	case path == pathSettings && r.Method == http.MethodGet:
		answer(w, map[string]any{"persistent": c.persistent, "transient": c.transient})
	case path == pathSettings && r.Method == http.MethodPut:
		c.changeSettings(w, r)
	case path == pathVoting && r.Method == http.MethodPost:
		c.excludeVoters(w, r)
	case path == pathVoting && r.Method == http.MethodDelete:
		c.exclusions = nil
		c.voted()
	case path == pathFlush && r.Method == http.MethodPost:
		answer(w, nested("_shards", map[string]int{"total": 4, "successful": 4, "failed": 0}))
	default:
		writeFailure(w, http.StatusBadRequest, "illegal_argument_exception", "no handler found for "+r.Method+" "+path)
	}
}

// explain returns of the first replica that is nowhere.
func (c *fakeCluster) explain(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Index   string `json:"index"`
		Shard   int    `json:"shard"`
		Primary bool   `json:"primary"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	for _, copy := range c.shards[fmt.Sprintf("%s/%d", asked.Index, asked.Shard)] {
		if copy.primary == asked.Primary && copy.state == "UNASSIGNED" {
			answer(w, map[string]any{"index": asked.Index, "shard": asked.Shard, "primary": asked.Primary, "current_state": "unassigned", "can_allocate": copy.status})
			return
		}
	}
	writeFailure(w, http.StatusNotFound, "index_not_found_exception", "no such index ["+asked.Index+"]")
}

// nested builds objects in objects: keys, and the innermost value.
func nested(parts ...any) map[string]any {
	value := parts[len(parts)-1]
	for i := len(parts) - 2; i >= 0; i-- {
		value = map[string]any{parts[i].(string): value}
	}
	return value.(map[string]any)
}

func (c *fakeCluster) head() map[string]any {
	out := map[string]any{
		"cluster_name": "c", "cluster_uuid": "u1", "version": c.versions, "state_uuid": fmt.Sprint("state-", c.versions),
		"master_node": nil,
	}
	if c.elected != "" {
		out["master_node"] = c.elected
	}
	return out
}

func (c *fakeCluster) state() map[string]any {
	out := c.head()
	nodes := map[string]any{}
	for id, n := range c.nodes {
		if !n.away {
			nodes[id] = map[string]any{"name": n.name, "ephemeral_id": n.process, "transport_address": n.name + ".search:9300"}
		}
	}
	out["nodes"] = nodes
	indices := map[string]map[string]any{}
	for at, copies := range c.shards {
		index, number, _ := strings.Cut(at, "/")
		if indices[index] == nil {
			indices[index] = nested("shards", map[string]any{})
		}
		rows := []any{}
		for _, copy := range copies {
			row := map[string]any{"state": copy.state, "primary": copy.primary, "node": nil, "relocating_node": nil}
			if copy.node != "" {
				row["node"] = copy.node
			}
			if copy.target != "" {
				row["relocating_node"] = copy.target
			}
			if copy.info != "" {
				row["unassigned_info"] = map[string]any{"reason": copy.info, "delayed": copy.delayed}
			}
			rows = append(rows, row)
		}
		indices[index]["shards"].(map[string]any)[number] = rows
	}
	if len(indices) > 0 { // a filter leaves nothing of an empty object
		out["routing_table"] = nested("indices", indices)
	}
	if c.snapshot != "" {
		out["snapshots"] = nested("snapshots", []any{map[string]any{"repository": "backup", "snapshot": c.snapshot}})
	}
	return out
}

func (c *fakeCluster) metadata() map[string]any {
	exclusions := []any{}
	for _, x := range c.exclusions {
		exclusions = append(exclusions, map[string]any{"node_id": x.ID, "node_name": x.Name})
	}
	return nested("metadata", "cluster_coordination", map[string]any{
		"term": 7, "last_committed_config": c.voters, "last_accepted_config": c.voters, "voting_config_exclusions": exclusions,
	})
}

func (c *fakeCluster) health() map[string]any {
	active, initializing, missing, red := 0, 0, 0, false
	for _, copies := range c.shards {
		for _, copy := range copies {
			switch copy.state {
			case "STARTED", "RELOCATING":
				active++
			case "INITIALIZING":
				initializing++
			default:
				missing++
			}
			red = red || copy.primary && copy.state != "STARTED" && copy.state != "RELOCATING"
		}
	}
	status := "green"
	if red {
		status = "red"
	} else if missing+initializing > 0 {
		status = "yellow"
	}
	return map[string]any{
		"cluster_name": "c", "status": status, "timed_out": false, "number_of_nodes": len(c.nodes), "active_shards": active,
		"initializing_shards": initializing, "unassigned_shards": missing, "number_of_pending_tasks": count(c.queued),
		"number_of_in_flight_fetch": 0,
	}
}

func (c *fakeCluster) nodeInfos(self string, local bool) map[string]any {
	nodes := map[string]any{}
	for id, n := range c.nodes {
		if n.away || local && id != self || !local && c.unready[id] {
			continue
		}
		info := map[string]any{"name": n.name, "version": n.version}
		if len(n.roles) > 0 { // a filter leaves nothing of an empty list
			info["roles"] = n.roles
		}
		nodes[id] = info
	}
	return map[string]any{"nodes": nodes}
}

func (c *fakeCluster) ownShards(self string) map[string]any {
	open := map[string][]any{}
	for at, copies := range c.shards {
		index, number, _ := strings.Cut(at, "/")
		for _, copy := range copies {
			if copy.node == self || copy.target == self {
				open[index] = append(open[index], nested(number, "docs", "count", 1))
			}
		}
	}
	out := map[string]any{"name": c.nodes[self].name}
	if len(open) > 0 {
		out["indices"] = nested("shards", open)
	}
	return nested("nodes", self, out)
}

func (c *fakeCluster) changeSettings(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Persistent, Transient map[string]*string
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Persistent)+len(body.Transient) == 0 {
		writeFailure(w, http.StatusBadRequest, "action_request_validation_exception", "no settings to update")
		return
	}
	for name := range maps.Keys(c.persistent) {
		if _, goes := body.Persistent[name]; strings.HasPrefix(name, archivedPrefix) && !goes {
			writeFailure(w, http.StatusBadRequest, "settings_exception", "unknown setting ["+name+"] please check that any required plugins are installed")
			return
		}
	}
	if value, ok := c.persistent[c.removed]; ok { // a newer manager archives it with the first change
		delete(c.persistent, c.removed)
		c.persistent[archivedPrefix+c.removed] = value
	}
	for level, values := range map[*map[string]any]map[string]*string{&c.persistent: body.Persistent, &c.transient: body.Transient} {
		for name, value := range values {
			if value == nil {
				delete(*level, name)
			} else {
				(*level)[name] = *value
			}
		}
	}
	c.versions++
	answer(w, map[string]any{"acknowledged": true, "persistent": body.Persistent, "transient": body.Transient})
}

func (c *fakeCluster) excludeVoters(w http.ResponseWriter, r *http.Request) {
	names, ids := entries(r.FormValue("node_names")), entries(r.FormValue("node_ids"))
	if (len(names) == 0) == (len(ids) == 0) {
		writeFailure(w, http.StatusBadRequest, "illegal_argument_exception", "set exactly one of [node_names] and [node_ids]")
		return
	}
	for _, name := range names {
		x := exclusion{absent, name}
		for id, n := range c.nodes {
			if n.name == name && !n.away {
				x.ID = id
			}
		}
		c.exclude(x)
	}
	for _, id := range ids {
		x := exclusion{id, absent}
		if n := c.nodes[id]; n != nil {
			x.Name = n.name
		}
		c.exclude(x)
	}
	c.voted()
}

func (c *fakeCluster) exclude(x exclusion) {
	if !slices.ContainsFunc(c.exclusions, x.same) {
		c.exclusions = append(c.exclusions, x)
	}
}

func (c *fakeCluster) voted() {
	if !c.deaf {
		c.reconfigure()
	}
	c.versions++
}

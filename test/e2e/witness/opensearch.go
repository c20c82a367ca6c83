package witness

import "context"

type openSearchState struct {
	Elected string `json:"cluster_manager_node"`
	Nodes   map[string]struct {
		Name string `json:"name"`
	} `json:"nodes"`
	Routing struct {
		Indices map[string]struct {
			Shards map[string][]struct {
				State      string `json:"state"`
				Primary    bool   `json:"primary"`
				Node       string `json:"node"`
				Unassigned *struct {
					Reason string `json:"reason"`
				} `json:"unassigned_info"`
			} `json:"shards"`
		} `json:"indices"`
	} `json:"routing_table"`
}

// ReadOpenSearch asks one OpenSearch for the state of the whole cluster, as its
// elected manager has it.
func ReadOpenSearch(ctx context.Context, baseURL string) (State, error) {
	var answer openSearchState
	if err := get(ctx, baseURL+"/_cluster/state/cluster_manager_node,nodes,routing_table", &answer); err != nil {
		return State{}, err
	}
	out := State{Elected: answer.Nodes[answer.Elected].Name, Shards: map[string]Shard{}}
	for _, n := range answer.Nodes {
		out.Live = append(out.Live, n.Name)
	}
	for index, i := range answer.Routing.Indices {
		for number, copies := range i.Shards {
			var shard Shard
			for _, c := range copies {
				node, live := answer.Nodes[c.Node]
				switch {
				case live && (c.State == "STARTED" || c.State == "RELOCATING"):
					shard.has(node.Name, c.Primary)
				case !c.Primary && c.Unassigned != nil && unbuilt(c.Unassigned.Reason):
					shard.Replicas++
					shard.Unbuilt++
				case c.Unassigned != nil:
					shard.misses("primary=%t on %q %s since %s", c.Primary, node.Name, c.State, c.Unassigned.Reason)
				default:
					shard.misses("primary=%t on %q %s", c.Primary, node.Name, c.State)
				}
			}
			out.Shards[index+"/"+number] = shard
		}
	}
	return out, nil
}

// unbuilt are the reasons for which a copy has not been on any node.
func unbuilt(reason string) bool { return reason == "INDEX_CREATED" || reason == "REPLICA_ADDED" }

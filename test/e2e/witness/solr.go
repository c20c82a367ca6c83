package witness

import "context"

type clusterStatus struct {
	Cluster struct {
		Collections map[string]struct {
			Shards map[string]struct {
				State    string `json:"state"`
				Replicas map[string]struct {
					NodeName string `json:"node_name"`
					State    string `json:"state"`
					Leader   string `json:"leader"`
				} `json:"replicas"`
			} `json:"shards"`
		} `json:"collections"`
		LiveNodes []string `json:"live_nodes"`
	} `json:"cluster"`
}

// ReadSolr asks one Solr for the state of the whole cluster.
func ReadSolr(ctx context.Context, baseURL string) (State, error) {
	var status clusterStatus
	if err := get(ctx, baseURL+"/solr/admin/collections?action=CLUSTERSTATUS&wt=json", &status); err != nil {
		return State{}, err
	}
	var overseer struct {
		Leader string `json:"leader"`
	}
	if err := get(ctx, baseURL+"/solr/admin/collections?action=OVERSEERSTATUS&wt=json", &overseer); err != nil {
		return State{}, err
	}
	live := map[string]bool{}
	for _, n := range status.Cluster.LiveNodes {
		live[n] = true
	}
	out := State{Elected: hostOf(overseer.Leader), Live: status.Cluster.LiveNodes, Shards: map[string]Shard{}}
	for collection, c := range status.Cluster.Collections {
		for name, s := range c.Shards {
			if s.State != "active" {
				continue
			}
			var shard Shard
			for id, r := range s.Replicas {
				if r.State == "active" && live[r.NodeName] {
					shard.has(hostOf(r.NodeName), r.Leader == "true")
				} else {
					shard.misses("%s of %s %s", id, hostOf(r.NodeName), r.State)
				}
			}
			out.Shards[collection+"/"+name] = shard
		}
	}
	return out, nil
}

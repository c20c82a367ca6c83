package witness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// State of a SolrCloud at one look.
type State struct {
	// Overseer is the node name of the overseer, empty when there is none.
	Overseer string
	Live     []string
	// Shards by "collection/shard", active shards only.
	Shards map[string]Shard
}

// Shard is one shard's copies.
type Shard struct {
	Replicas int
	// Away are replicas that are not active on a live node, Missing says which.
	Away    int
	Missing []string
	Leader  bool
}

// AllActive tells whether every replica of every shard is active and every shard has a leader.
func (s State) AllActive() bool {
	for _, x := range s.Shards {
		if x.Away > 0 || !x.Leader {
			return false
		}
	}
	return len(s.Shards) > 0
}

// Missing says, in one line, what is missing in which shards.
func (s State) Missing() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Shards)) {
		switch x := s.Shards[name]; {
		case x.Away > 0:
			parts = append(parts, fmt.Sprintf("%s misses %s", name, strings.Join(x.Missing, ", ")))
		case !x.Leader:
			parts = append(parts, name+" has no leader")
		}
	}
	if len(parts) == 0 {
		return "no shard is known"
	}
	return strings.Join(parts, "; ")
}

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
	out := State{Overseer: overseer.Leader, Live: status.Cluster.LiveNodes, Shards: map[string]Shard{}}
	for collection, c := range status.Cluster.Collections {
		for name, s := range c.Shards {
			if s.State != "active" {
				continue
			}
			var shard Shard
			for id, r := range s.Replicas {
				shard.Replicas++
				active := r.State == "active" && live[r.NodeName]
				if !active {
					shard.Away++
					shard.Missing = append(shard.Missing, fmt.Sprintf("%s of %s %s", id, hostOf(r.NodeName), r.State))
				}
				shard.Leader = shard.Leader || (active && r.Leader == "true")
			}
			out.Shards[collection+"/"+name] = shard
		}
	}
	return out, nil
}

// hostOf cuts "solr-0.solr.demo:8983_solr" to "solr-0".
func hostOf(node string) string {
	host, _, _ := strings.Cut(node, ":")
	host, _, _ = strings.Cut(host, ".")
	return host
}

func get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: status %d", url, resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

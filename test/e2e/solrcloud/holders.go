package solrcloud

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Holders asks every copy by itself for a document.
func (c *Cloud) Holders(ctx context.Context, collection, id string) string {
	var state struct {
		Cluster struct {
			Collections map[string]struct {
				Shards map[string]struct {
					Replicas map[string]struct {
						Core     string `json:"core"`
						NodeName string `json:"node_name"`
						Type     string `json:"type"`
						State    string `json:"state"`
						Leader   string `json:"leader"`
					} `json:"replicas"`
				} `json:"shards"`
			} `json:"collections"`
		} `json:"cluster"`
	}
	if err := c.admin(ctx, url.Values{"action": {"CLUSTERSTATUS"}, "collection": {collection}, "wt": {"json"}}, &state); err != nil {
		return fmt.Sprintf("the copies could not be asked: %v", err)
	}
	q := url.Values{"q": {fmt.Sprintf("id:%q", id)}, "fl": {"id"}, "wt": {"json"}, "distrib": {"false"}}
	var words []string
	for shard, s := range state.Cluster.Collections[collection].Shards {
		for _, r := range s.Replicas {
			host, _, _ := strings.Cut(r.NodeName, ".")
			name := fmt.Sprintf("%s of %s on %s (%s, leader=%t)", r.Type, shard, host, r.State, r.Leader == "true")
			var answer struct {
				Response struct {
					NumFound int `json:"numFound"`
				} `json:"response"`
			}
			switch err := c.askPod(ctx, host, "/solr/"+url.PathEscape(r.Core)+"/select?"+q.Encode(), &answer); {
			case err != nil:
				words = append(words, fmt.Sprintf("%s could not be asked: %v", name, err))
			case answer.Response.NumFound > 0:
				words = append(words, name+" has it")
			}
		}
	}
	if len(words) == 0 {
		return "no copy has it"
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func (c *Cloud) askPod(ctx context.Context, name, path string, into any) error {
	for _, pod := range c.Pods.All() {
		if pod.Name == name {
			return ask(ctx, c.Pods.URL(pod)+path, into)
		}
	}
	return fmt.Errorf("there is no pod %s", name)
}

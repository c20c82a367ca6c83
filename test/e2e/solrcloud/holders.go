package solrcloud

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// settle is how long a document may take to show up: TLOG and PULL replicas copy
// from their leader every few seconds.
const settle = time.Minute

// described bounds how many lost documents are told of one by one.
const described = 30

// lost are acknowledged documents that are not there, counted by collection, and
// which they are.
func (c *Cloud) lost(ctx context.Context, client *load.Client) (map[string]int, []string, error) {
	out := map[string]int{}
	var which []string
	for _, collection := range Names() {
		deadline := time.Now().Add(settle)
		for {
			gone, err := client.Gone(collection)
			if err != nil {
				return out, which, err
			}
			if len(gone) == 0 {
				break
			}
			if time.Now().After(deadline) {
				out[collection] = len(gone)
				which = append(which, c.whereabouts(ctx, collection, gone)...)
				break
			}
			if err := testbed.Pause(ctx, time.Second); err != nil {
				return out, which, err
			}
		}
	}
	return out, which, nil
}

// whereabouts asks every copy by itself for documents that the collection does
// not show: one that is on a follower alone was lost in another way than one
// that is nowhere.
func (c *Cloud) whereabouts(ctx context.Context, collection string, gone []load.Doc) []string {
	var lines []string
	for i, doc := range gone {
		if i == described {
			return append(lines, fmt.Sprintf("%s: and %d more", collection, len(gone)-i))
		}
		lines = append(lines, fmt.Sprintf("%s: %s; %s", collection, doc, c.holders(ctx, collection, doc.ID)))
	}
	return lines
}

func (c *Cloud) holders(ctx context.Context, collection, id string) string {
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

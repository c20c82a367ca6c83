package observer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Solr is a SolrCloud as the observer asks it.
type Solr struct {
	// Pods returns the URLs of the pods that have an address, by name.
	Pods func() map[string]string
	// ZooKeepers returns the addresses of the ensemble's servers.
	ZooKeepers func() []string
}

// Read asks ZooKeeper which nodes are live, one of them for the state of the
// cluster, and each copy that is said to be active for an answer of its own.
func (s Solr) Read(ctx context.Context) (Copies, error) {
	live, err := liveNodes(ctx, s.ZooKeepers())
	if err != nil {
		return nil, err
	}
	pods := s.Pods()
	state, err := s.state(ctx, pods, live)
	if err != nil {
		return nil, err
	}
	out := Copies{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for collection, c := range state.Cluster.Collections {
		for name, shard := range c.Shards {
			if shard.State != "active" {
				continue
			}
			for _, r := range shard.Replicas {
				pod, _, _ := strings.Cut(r.NodeName, ".")
				wg.Go(func() {
					var why string
					switch {
					case r.State != "active":
						why = r.State
					case !live[r.NodeName]:
						why = "its node is not live"
					default:
						why = serves(ctx, pods[pod], r.Core)
					}
					mu.Lock()
					defer mu.Unlock()
					out.note(collection+"/"+name, pod, why)
				})
			}
		}
	}
	wg.Wait()
	return out, nil
}

type solrState struct {
	Cluster struct {
		Collections map[string]struct {
			Shards map[string]struct {
				State    string `json:"state"`
				Replicas map[string]struct {
					Core     string `json:"core"`
					NodeName string `json:"node_name"`
					State    string `json:"state"`
				} `json:"replicas"`
			} `json:"shards"`
		} `json:"collections"`
	} `json:"cluster"`
}

// state returns what a live node knows. A node that is not live may have old state.
func (s Solr) state(ctx context.Context, pods map[string]string, live map[string]bool) (state solrState, err error) {
	err = errors.New("no node is live")
	for node := range live {
		pod, _, _ := strings.Cut(node, ".")
		state = solrState{}
		if err = get(ctx, pods[pod]+"/solr/admin/collections?action=CLUSTERSTATUS&wt=json", &state); err == nil {
			return state, nil
		}
	}
	return state, fmt.Errorf("the state of the cluster: %w", err)
}

// serves is empty when the copy itself answers a search.
func serves(ctx context.Context, base, core string) string {
	var answer struct{}
	if err := get(ctx, base+"/solr/"+url.PathEscape(core)+"/select?q=*:*&rows=0&distrib=false&wt=json", &answer); err != nil {
		return "it does not answer: " + err.Error()
	}
	return ""
}

// liveNodes are those of which every ZooKeeper that serves has the ephemeral node:
// one that has heard that a session is over knows better than one that has not.
func liveNodes(ctx context.Context, servers []string) (map[string]bool, error) {
	texts := make([]string, len(servers))
	errs := make([]error, len(servers))
	var wg sync.WaitGroup
	for i, server := range servers {
		wg.Go(func() { texts[i], errs[i] = fourLetters(ctx, server, "dump") })
	}
	wg.Wait()
	count, said := 0, map[string]int{}
	for i, text := range texts {
		nodes, serving := ephemerals(text)
		if errs[i] != nil || !serving {
			continue
		}
		count++
		for _, node := range nodes {
			said[node]++
		}
	}
	if count == 0 {
		return nil, fmt.Errorf("no ZooKeeper serves: %w", errors.Join(errs...))
	}
	live := map[string]bool{}
	for node, n := range said {
		live[node] = n == count
	}
	for node, is := range live {
		if !is {
			delete(live, node)
		}
	}
	return live, nil
}

// ephemerals are the live nodes in the answer to dump, which a server without a
// quorum does not give.
func ephemerals(dump string) (nodes []string, serving bool) {
	for line := range strings.Lines(dump) {
		line = strings.TrimSpace(line)
		serving = serving || strings.HasPrefix(line, "ephemeral nodes dump")
		if node, is := strings.CutPrefix(line, "/live_nodes/"); is {
			nodes = append(nodes, node)
		}
	}
	return nodes, serving
}

// fourLetters is one question to one ZooKeeper server.
func fourLetters(ctx context.Context, server, word string) (string, error) {
	dialer := net.Dialer{Timeout: patience}
	conn, err := dialer.DialContext(ctx, "tcp", server)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}

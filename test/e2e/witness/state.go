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

// State is the state of a database at one look.
type State struct {
	// Elected is the host of the node that decides for all, Solr's overseer or
	// OpenSearch's cluster manager; empty when there is none.
	Elected string
	Live    []string
	// Shards by "collection/shard", those that are in use.
	Shards map[string]Shard
}

// Shard is one shard's copies.
type Shard struct {
	Replicas int
	// Away are replicas that are not active on a live node, Missing says which.
	Away    int
	Missing []string
	// Unbuilt replicas have been on no node yet. They are not away.
	Unbuilt int
	// On are the hosts with an active replica.
	On []string
	// Leader means that one of them leads, LedBy is its host.
	Leader bool
	LedBy  string
}

// has counts an active replica.
func (s *Shard) has(host string, leads bool) {
	s.Replicas++
	s.On = append(s.On, host)
	if leads {
		s.Leader, s.LedBy = true, host
	}
}

// misses counts one that is not.
func (s *Shard) misses(format string, args ...any) {
	s.Replicas++
	s.Away++
	s.Missing = append(s.Missing, fmt.Sprintf(format, args...))
}

// AllActive reports whether every replica of every shard is active and every shard has a leader.
func (s State) AllActive() bool {
	for _, x := range s.Shards {
		if x.Away+x.Unbuilt > 0 || !x.Leader {
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
		case x.Unbuilt > 0:
			parts = append(parts, fmt.Sprintf("%d copies of %s are not built yet", x.Unbuilt, name))
		case !x.Leader:
			parts = append(parts, name+" has no leader")
		}
	}
	if len(parts) == 0 {
		return "no shard is known"
	}
	return strings.Join(parts, "; ")
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

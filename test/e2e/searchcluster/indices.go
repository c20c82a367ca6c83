package searchcluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Index to create.
type Index struct {
	Name             string
	Shards, Replicas int
}

// Indices are the indices of the demo. The one without replicas has a shard for each node with
// data, so that no node can go without taking the only copy of something along.
var Indices = []Index{
	{Name: "books", Shards: 3, Replicas: 1},
	{Name: "logs", Shards: 2, Replicas: 1},
	{Name: "users", Shards: 2, Replicas: 2},
	{Name: "scratch", Shards: 4, Replicas: 0},
}

// Names returns the names of the indices.
func Names() []string { return names(func(Index) bool { return true }) }

func names(which func(Index) bool) []string {
	var out []string
	for _, x := range Indices {
		if which(x) {
			out = append(out, x.Name)
		}
	}
	return out
}

// CreateIndices makes all of Indices and waits until every copy serves.
func (c *Cluster) CreateIndices(ctx context.Context) error {
	for _, x := range Indices {
		if err := c.CreateIndex(ctx, x); err != nil {
			return err
		}
	}
	return c.AllActive(ctx, 2*time.Minute)
}

// CreateIndex makes an index unless it is there.
func (c *Cluster) CreateIndex(ctx context.Context, x Index) error {
	settings := map[string]any{"settings": map[string]any{"number_of_shards": x.Shards, "number_of_replicas": x.Replicas}}
	return c.Bed.Eventually(ctx, "index "+x.Name, 2*time.Minute, func(ctx context.Context) error {
		err := c.call(ctx, http.MethodPut, "/"+x.Name, settings, nil)
		if err != nil && strings.Contains(err.Error(), "resource_already_exists_exception") {
			return nil
		}
		return err
	})
}

// DeleteIndices removes indices by name or pattern.
func (c *Cluster) DeleteIndices(ctx context.Context, pattern string) error {
	return c.call(ctx, http.MethodDelete, "/"+pattern, nil, nil)
}

// IndexID is how an index is called where its files are.
func (c *Cluster) IndexID(ctx context.Context, name string) (string, error) {
	var answer map[string]struct {
		Settings struct {
			Index struct {
				UUID string `json:"uuid"`
			} `json:"index"`
		} `json:"settings"`
	}
	err := c.call(ctx, http.MethodGet, "/"+name+"/_settings", nil, &answer)
	return answer[name].Settings.Index.UUID, err
}

// AllActive waits until OpenSearch says that every copy of every shard serves.
func (c *Cluster) AllActive(ctx context.Context, limit time.Duration) error {
	return c.Bed.Eventually(ctx, "all copies to serve", limit, func(ctx context.Context) error {
		s, err := c.State(ctx)
		if err != nil {
			return err
		}
		if !s.AllActive() {
			return fmt.Errorf("not all copies serve: %s", s.Missing())
		}
		return nil
	})
}

// State returns the state of the whole cluster.
func (c *Cluster) State(ctx context.Context) (witness.State, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	url, err := c.anyNode()
	if err != nil {
		return witness.State{}, err
	}
	return witness.ReadOpenSearch(ctx, url)
}

// Setting is what a cluster setting was set to, at either level; empty means nothing.
type Setting struct{ Persistent, Transient string }

// Settings are all that are set, by name.
func (c *Cluster) Settings(ctx context.Context) (map[string]Setting, error) {
	var answer struct {
		Persistent map[string]any `json:"persistent"`
		Transient  map[string]any `json:"transient"`
	}
	if err := c.call(ctx, http.MethodGet, "/_cluster/settings?flat_settings=true", nil, &answer); err != nil {
		return nil, err
	}
	out := map[string]Setting{}
	for name, value := range answer.Persistent {
		out[name] = Setting{Persistent: fmt.Sprint(value)}
	}
	for name, value := range answer.Transient {
		out[name] = Setting{Persistent: out[name].Persistent, Transient: fmt.Sprint(value)}
	}
	return out, nil
}

// Allocation is the setting that restarts share: which copies may be placed.
const Allocation = "cluster.routing.allocation.enable"

// SetPersistent sets a persistent cluster setting; nil takes it away.
func (c *Cluster) SetPersistent(ctx context.Context, name string, value any) error {
	return c.call(ctx, http.MethodPut, "/_cluster/settings", map[string]any{"persistent": map[string]any{name: value}}, nil)
}

// Excluded are the nodes that may not vote, by name.
func (c *Cluster) Excluded(ctx context.Context) ([]string, error) {
	var answer struct {
		Metadata struct {
			Coordination struct {
				Exclusions []struct {
					Name string `json:"node_name"`
				} `json:"voting_config_exclusions"`
			} `json:"cluster_coordination"`
		} `json:"metadata"`
	}
	err := c.call(ctx, http.MethodGet, "/_cluster/state/metadata?filter_path=metadata.cluster_coordination", nil, &answer)
	var out []string
	for _, x := range answer.Metadata.Coordination.Exclusions {
		out = append(out, x.Name)
	}
	return out, err
}

// Holders asks every copy by itself for a document.
func (c *Cluster) Holders(ctx context.Context, index, id string) string {
	var answer struct {
		Nodes map[string]struct {
			Name string `json:"name"`
		} `json:"nodes"`
	}
	if err := c.call(ctx, http.MethodGet, "/_cluster/state/nodes", nil, &answer); err != nil {
		return fmt.Sprintf("the nodes could not be asked: %v", err)
	}
	var words []string
	for node, n := range answer.Nodes {
		var found struct {
			Found bool `json:"found"`
		}
		err := c.call(ctx, http.MethodGet, "/"+url.PathEscape(index)+"/_doc/"+url.PathEscape(id)+"?_source=false&preference=_only_nodes:"+node, nil, &found)
		switch {
		case found.Found:
			words = append(words, n.Name+" has it")
		case err != nil && !strings.Contains(err.Error(), "status 404") && !strings.Contains(err.Error(), "no data nodes"):
			words = append(words, fmt.Sprintf("%s could not be asked: %v", n.Name, err))
		}
	}
	if len(words) == 0 {
		return "no copy has it"
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// call asks any Ready node.
func (c *Cluster) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	node, err := c.anyNode()
	if err != nil {
		return err
	}
	if err := (testbed.Call{Method: method, URL: node + path, Body: body, Into: into}).Do(ctx); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

func (c *Cluster) anyNode() (string, error) {
	urls := c.Pods.URLs()
	if len(urls) == 0 {
		return "", errors.New("no Ready pod")
	}
	return urls[0], nil
}

package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const (
	pathState    = "/_cluster/state"
	pathHealth   = "/_cluster/health"
	pathSettings = "/_cluster/settings"
	pathVoting   = "/_cluster/voting_config_exclusions"
	pathNodes    = "/_nodes/process"
	pathSelf     = "/_nodes/_local/process"
	pathShards   = "/_nodes/_local/stats/indices/docs"
	pathStore    = "/_nodes/_local/stats/indices/store"
	pathExplain  = "/_cluster/allocation/explain"
	pathFlush    = "/_flush"
	pathExpand   = "/_all/_settings/index.auto_expand_replicas"

	// noIndex matches none, and so keeps the metadata of all indices, which is
	// large, out of an answer.
	noIndex = "rollcall-matches-no-index-*"
)

// api is the calls that the adapter makes, each one request.
type api struct {
	client           *web.Client
	read, changeTime time.Duration // bounds of one request
}

// large is for answers about all copies: 100,000 of them, of 50,000 indices of one shard
// each and half of them nowhere, are 300,000 objects and lists of 800,000 values in 20 MiB.
var large = web.Limits{Bytes: 32 << 20, Depth: 32, Objects: 5 << 16, Values: 1 << 20, Text: 64 << 10}

// fetch sends a request, and decodes the answer as it arrives.
func fetch[T any](ctx context.Context, a *api, r web.Request, decode func(io.Reader) (T, error)) (out T, err error) {
	r.Timeout = a.read
	r.Read = func(body io.Reader) error {
		out, err = decode(body)
		return err
	}
	err = a.client.Do(ctx, r)
	return out, err
}

// head identifies a cluster state.
type head struct {
	ID       string  `json:"state_uuid"`
	Cluster  string  `json:"cluster_uuid"`
	Elected  *string `json:"master_node"`
	Elected2 *string `json:"cluster_manager_node"`
}

func (h head) elected() string {
	for _, id := range []*string{h.Elected, h.Elected2} {
		if id != nil && *id != "" {
			return *id
		}
	}
	return ""
}

// head reads the identity of the state, as the local node has it or as the elected manager has. A
// node without a manager answers only the former.
func (a *api) head(ctx context.Context, local bool) (head, error) {
	params := url.Values{}
	if local {
		params.Set("local", "true")
	}
	return fetch(ctx, a, web.Request{Path: pathState + "/version,master_node", Params: params}, decodeHead)
}

func decodeHead(r io.Reader) (h head, err error) {
	if err = decode(r, "cluster state", &h); err == nil && h.ID == "" {
		err = fmt.Errorf("decode cluster state: no state_uuid: %w", ErrNotOpenSearch)
	}
	return h, err
}

// state reads nodes, copies and snapshots in one answer, from the elected manager.
func (a *api) state(ctx context.Context) (*clusterState, error) {
	shard := "routing_table.indices.*.shards.*."
	params := web.Query("filter_path", strings.Join([]string{
		"cluster_uuid", "state_uuid", "master_node", "cluster_manager_node",
		"nodes.*.name", "nodes.*.ephemeral_id", "nodes.*.transport_address",
		shard + "state", shard + "primary", shard + "node", shard + "relocating_node",
		shard + "unassigned_info.reason", shard + "unassigned_info.delayed", shard + "unassigned_info.details",
		"snapshots.snapshots.repository", "snapshots.snapshots.snapshot",
	}, ","))
	return fetch(ctx, a, web.Request{Path: pathState + "/version,master_node,nodes,routing_table,customs", Params: params, Limits: large}, decodeState)
}

// voting reads the voting configurations.
func (a *api) voting(ctx context.Context) (voting, error) {
	return fetch(ctx, a, web.Request{Path: pathState + "/metadata/" + noIndex, Params: web.Query("filter_path", "metadata.cluster_coordination")}, decodeVoting)
}

func decodeVoting(r io.Reader) (voting, error) {
	var answer struct {
		Metadata struct {
			Coordination struct {
				Committed  []string `json:"last_committed_config"`
				Accepted   []string `json:"last_accepted_config"`
				Exclusions []struct {
					ID   string `json:"node_id"`
					Name string `json:"node_name"`
				} `json:"voting_config_exclusions"`
			} `json:"cluster_coordination"`
		} `json:"metadata"`
	}
	if err := decode(r, "voting configuration", &answer); err != nil {
		return voting{}, err
	}
	c := answer.Metadata.Coordination
	if len(c.Committed) == 0 || len(c.Accepted) == 0 {
		return voting{}, fmt.Errorf("decode voting configuration: nobody votes: %w", ErrNotOpenSearch)
	}
	v := voting{committed: c.Committed, accepted: c.Accepted}
	for _, e := range c.Exclusions {
		v.exclusions = append(v.exclusions, exclusion{e.ID, e.Name})
	}
	return v, nil
}

// health is the database's own verdict and its reasons.
type health struct {
	status       string // green, yellow or red
	queued       bool   // changes of the state wait for their turn
	copies       int    // of all shards, assigned or not
	initializing int
	fetching     int // allocations that wait for what nodes have on disk
}

func (a *api) health(ctx context.Context) (health, error) {
	return fetch(ctx, a, web.Request{Path: pathHealth}, decodeHealth)
}

func decodeHealth(r io.Reader) (health, error) {
	var answer struct {
		Status       string `json:"status"`
		TimedOut     *bool  `json:"timed_out"`
		Active       *int   `json:"active_shards"`
		Initializing int    `json:"initializing_shards"`
		Unassigned   int    `json:"unassigned_shards"`
		Pending      int    `json:"number_of_pending_tasks"`
		Fetching     int    `json:"number_of_in_flight_fetch"`
	}
	if err := decode(r, "cluster health", &answer); err != nil {
		return health{}, err
	}
	if answer.TimedOut == nil || answer.Active == nil {
		return health{}, fmt.Errorf("decode cluster health: no timed_out or no active_shards: %w", ErrNotOpenSearch)
	}
	switch answer.Status {
	case "green", "yellow", "red":
	default:
		return health{}, fmt.Errorf("decode cluster health: status %q: must be green, yellow or red", engines.OneLine(answer.Status))
	}
	return health{
		status: answer.Status, queued: answer.Pending > 0,
		copies:       *answer.Active + answer.Initializing + answer.Unassigned,
		initializing: answer.Initializing, fetching: answer.Fetching,
	}, nil
}

// identity is the local node.
type identity struct {
	id string
	nodeFacts
}

func (a *api) identity(ctx context.Context) (identity, error) {
	facts, err := a.nodeFacts(ctx, pathSelf)
	if err != nil {
		return identity{}, err
	}
	if len(facts) != 1 {
		return identity{}, fmt.Errorf("%s: %d nodes are the local one: %w", pathSelf, len(facts), ErrNotOpenSearch)
	}
	for id, f := range facts {
		return identity{id, f}, nil
	}
	panic("unreachable: one node")
}

// nodeFacts by node id. A node that does not answer in time is missing.
func (a *api) nodeFacts(ctx context.Context, path string) (map[string]nodeFacts, error) {
	params := web.Query("timeout", "2s", "filter_path", "nodes.*.name,nodes.*.version,nodes.*.roles")
	return fetch(ctx, a, web.Request{Path: path, Params: params}, decodeNodeFacts)
}

func decodeNodeFacts(r io.Reader) (map[string]nodeFacts, error) {
	var answer struct {
		Nodes map[string]struct {
			Name    string   `json:"name"`
			Version string   `json:"version"`
			Roles   []string `json:"roles"`
		} `json:"nodes"`
	}
	if err := decode(r, "nodes", &answer); err != nil {
		return nil, err
	}
	out := make(map[string]nodeFacts, len(answer.Nodes))
	for id, n := range answer.Nodes {
		if id == "" || n.Name == "" || n.Version == "" {
			return nil, fmt.Errorf("decode nodes: node %q has no name or no version: %w", engines.OneLine(id), ErrNotOpenSearch)
		}
		out[id] = nodeFacts{name: n.Name, version: n.Version, roles: n.Roles}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("decode nodes: none: %w", ErrNotOpenSearch)
	}
	return out, nil
}

// ownShards counts the copies that the local node itself has open.
func (a *api) ownShards(ctx context.Context, self string) (int, error) {
	params := web.Query("level", "shards", "filter_path", "nodes.*.name,nodes.*.indices.shards.*.*.routing.state")
	return fetch(ctx, a, web.Request{Path: pathShards, Params: params}, func(r io.Reader) (int, error) { return decodeOwnShards(r, self) })
}

// decodeOwnShards decodes the count. An empty list is missing from the answer, so the node's name
// must be there to tell an empty node from an answer about something else.
func decodeOwnShards(r io.Reader, self string) (int, error) {
	var answer struct {
		Nodes map[string]struct {
			Name    string `json:"name"`
			Indices struct {
				Shards map[string][]json.RawMessage `json:"shards"`
			} `json:"indices"`
		} `json:"nodes"`
	}
	if err := decode(r, "shards of the node", &answer); err != nil {
		return 0, err
	}
	node, ok := answer.Nodes[self]
	if !ok || node.Name == "" {
		return 0, fmt.Errorf("decode shards of the node: nothing about %q: %w", engines.OneLine(self), ErrNotOpenSearch)
	}
	n := 0
	for _, shards := range node.Indices.Shards {
		n += len(shards)
	}
	return n, nil
}

// autoExpanding are the indices that have as many replicas as there are nodes for,
// and the least that each keeps.
func (a *api) autoExpanding(ctx context.Context) (map[string]int, error) {
	params := web.Query("flat_settings", "true", "expand_wildcards", "all", "filter_path", "*.settings")
	return fetch(ctx, a, web.Request{Path: pathExpand, Params: params, Limits: large}, decodeAutoExpanding)
}

// decodeAutoExpanding reads "0-all" and "1-3"; "false" is no range, and neither is
// what is not understood.
func decodeAutoExpanding(r io.Reader) (map[string]int, error) {
	least := map[string]int{}
	d := web.NewDecoder(r)
	there, err := d.Object(func(index string) error {
		var s struct {
			Settings map[string]string `json:"settings"`
		}
		if err := d.Value(maxPiece, &s); err != nil {
			return err
		}
		from, _, ok := strings.Cut(s.Settings["index.auto_expand_replicas"], "-")
		if n, err := strconv.Atoi(from); ok && err == nil {
			least[index] = n
		}
		return nil
	})
	if err == nil && !there {
		err = web.ErrNotObject
	}
	if err != nil {
		return nil, fmt.Errorf("decode index settings: %w", err)
	}
	return least, nil
}

// dataBytes is the size of the node's indices on disk.
func (a *api) dataBytes(ctx context.Context) (int64, error) {
	return fetch(ctx, a, web.Request{Path: pathStore, Params: web.Query("filter_path", "nodes.*.indices.store.size_in_bytes")}, decodeDataBytes)
}

func decodeDataBytes(r io.Reader) (int64, error) {
	var answer struct {
		Nodes map[string]struct {
			Indices struct {
				Store struct {
					Size int64 `json:"size_in_bytes"`
				} `json:"store"`
			} `json:"indices"`
		} `json:"nodes"`
	}
	if err := decode(r, "node stats", &answer); err != nil {
		return 0, err
	}
	total := int64(0)
	for _, n := range answer.Nodes {
		size := n.Indices.Store.Size
		if size < 0 || total+size < total {
			return 0, fmt.Errorf("decode node stats: store size %d: must be a size in bytes", size)
		}
		total += size
	}
	return total, nil
}

// decode reads one JSON value of a small answer.
func decode(r io.Reader, what string, into any) error {
	if err := json.NewDecoder(r).Decode(into); err != nil {
		return fmt.Errorf("decode %s: %w", what, err)
	}
	return nil
}

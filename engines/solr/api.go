package solr

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const (
	pathCollections = "/solr/admin/collections"
	pathSystem      = "/solr/admin/info/system"
	pathHealth      = "/solr/admin/info/health"
	pathMetrics     = "/solr/admin/metrics"
	pathBalance     = "/api/cluster/replicas/balance"
)

// api is the calls that the adapter makes, each one request.
type api struct {
	client       *web.Client
	read, change time.Duration // bounds of one request
}

// ask sends the request. into has the body, as far as it could be read, even if the answer is a
// *web.StatusError.
func (a *api) ask(ctx context.Context, r web.Request, into *bytes.Buffer) error {
	r.Name = r.Path
	if action := r.Params.Get("action"); action != "" {
		r.Name += " " + action
	}
	r.Read = func(body io.Reader) error {
		if _, err := into.ReadFrom(body); err != nil {
			return err
		}
		// Some versions answer 200 with an error in the body.
		if failure := bodyFailure(into.Bytes()); failure != nil {
			return failure
		}
		return nil
	}
	r.ReadRefusal = func(body []byte) { into.Write(body) }
	return namePermission(a.client.Do(ctx, r), r)
}

// fetch asks, and decodes the whole answer.
func fetch[T any](ctx context.Context, a *api, path string, params url.Values, decode func(body []byte) (T, error)) (out T, err error) {
	var body bytes.Buffer
	if err := a.ask(ctx, web.Request{Path: path, Params: params, Timeout: a.read}, &body); err != nil {
		return out, err
	}
	return decode(body.Bytes())
}

// identity is what the node says of itself.
type identity struct {
	node    string // as registered in live_nodes
	version string
}

func (a *api) identity(ctx context.Context) (identity, error) {
	return fetch(ctx, a, pathSystem, web.Query("wt", "json"), decodeIdentity)
}

func decodeIdentity(body []byte) (identity, error) {
	var answer struct {
		Mode   flexString `json:"mode"`
		Node   flexString `json:"node"`
		Lucene struct {
			Version flexString `json:"solr-spec-version"`
		} `json:"lucene"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return identity{}, fmt.Errorf("decode node identity: %w", err)
	}
	if answer.Lucene.Version == "" {
		return identity{}, errors.New("decode node identity: no solr-spec-version: not the answer of a Solr")
	}
	if answer.Mode != "solrcloud" || answer.Node == "" {
		return identity{}, fmt.Errorf("decode node identity: mode %q: %w", engines.OneLine(string(answer.Mode)), ErrNotCloud)
	}
	return identity{node: string(answer.Node), version: string(answer.Lucene.Version)}, nil
}

// clusterStatus reads the state of one collection, or of all when name is empty.
func (a *api) clusterStatus(ctx context.Context, name string) (state *clusterState, err error) {
	err = a.clusterStatusBody(ctx, name, func(body io.Reader) error {
		state, err = decodeClusterStatus(body)
		return err
	})
	return state, err
}

// large is for the state of all collections: 60,000 replicas, three to a shard and 30 to
// a collection, are 110,000 objects of 700,000 values in 22 MiB.
var large = web.Limits{Bytes: 32 << 20, Depth: 32, Objects: 1 << 17, Values: 3 << 18, Text: 64 << 10}

// clusterStatusBody has the answer read as it comes. What begins like a short one may be
// a failure, which some versions answer with status 200.
func (a *api) clusterStatusBody(ctx context.Context, name string, into func(io.Reader) error) error {
	// Without the header the same state is the same bytes.
	params := web.Query("action", "CLUSTERSTATUS", "wt", "json", "indent", "false", "omitHeader", "true")
	if name != "" {
		params.Set("collection", name)
	}
	r := web.Request{Path: pathCollections, Name: pathCollections + " CLUSTERSTATUS", Params: params, Timeout: a.read, Limits: large, Read: func(body io.Reader) error {
		first, err := io.ReadAll(io.LimitReader(body, maxFailure))
		if err != nil {
			return err
		}
		if failure := bodyFailure(first); failure != nil {
			return failure
		}
		return into(io.MultiReader(bytes.NewReader(first), body))
	}}
	return namePermission(a.client.Do(ctx, r), r)
}

// nodeHealth is the node's own opinion of itself.
type nodeHealth struct {
	// connected means that running, connected to ZooKeeper and registered.
	connected bool
	// settled means that and all cores of active shards are loaded and not recovering.
	settled bool
	// unhealthy cores, where that is the reason for which it is not settled.
	unhealthy int
	reason    string
}

// health asks once with requireHealthyCores: the failure of cores and the failure
// of the node can be told apart by the count of unhealthy cores.
func (a *api) health(ctx context.Context) (nodeHealth, error) {
	var body bytes.Buffer
	err := a.ask(ctx, web.Request{Path: pathHealth, Params: web.Query("requireHealthyCores", "true", "wt", "json"), Timeout: a.read}, &body)
	var status *web.StatusError
	if err != nil && (!errors.As(err, &status) || status.Status != http.StatusServiceUnavailable) {
		return nodeHealth{}, err
	}
	health, decodeErr := decodeHealth(body.Bytes())
	if decodeErr != nil && err != nil {
		return nodeHealth{}, err // a 503 that is not the health call's
	}
	return health, decodeErr
}

func decodeHealth(body []byte) (nodeHealth, error) {
	var answer struct {
		Status    flexString `json:"status"`
		Message   flexString `json:"message"`
		Unhealthy *flexInt   `json:"num_cores_unhealthy"`
		Error     struct {
			Message flexString `json:"msg"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nodeHealth{}, fmt.Errorf("decode node health: %w", err)
	}
	switch {
	case answer.Status == "OK":
		return nodeHealth{connected: true, settled: true}, nil
	case answer.Status == "FAILURE" && answer.Unhealthy != nil && *answer.Unhealthy > 0:
		return nodeHealth{connected: true, unhealthy: int(*answer.Unhealthy), reason: fmt.Sprintf("%d cores are not healthy", *answer.Unhealthy)}, nil
	case answer.Status == "FAILURE":
		return nodeHealth{reason: engines.OneLine(string(cmp.Or(answer.Error.Message, answer.Message)))}, nil
	}
	return nodeHealth{}, fmt.Errorf("decode node health: status %q: must be OK or FAILURE", engines.OneLine(string(answer.Status)))
}

func (a *api) addReplicaProperty(ctx context.Context, at place, property, value string) error {
	return a.collectionsChange(ctx, web.Query("action", "ADDREPLICAPROP", "collection", at.collection, "shard", at.shard,
		"replica", at.replica, "property", property, "property.value", value))
}

func (a *api) deleteReplicaProperty(ctx context.Context, at place, property string) error {
	return a.collectionsChange(ctx, web.Query("action", "DELETEREPLICAPROP", "collection", at.collection, "shard", at.shard,
		"replica", at.replica, "property", property))
}

// rebalanceLeaders makes the preferred replicas of the collection its leaders. It succeeds even if
// the node that serves it has not seen the properties.
func (a *api) rebalanceLeaders(ctx context.Context, name string) error {
	return a.collectionsChange(ctx, web.Query("action", "REBALANCELEADERS", "collection", name, "maxWaitSeconds", "10"))
}

func (a *api) replaceNode(ctx context.Context, node, task string) error {
	return a.collectionsChange(ctx, web.Query("action", "REPLACENODE", "sourceNode", node, "parallel", "true",
		"waitForFinalState", "true", "async", task))
}

func (a *api) collectionsChange(ctx context.Context, params url.Values) error {
	params.Set("wt", "json")
	return a.ask(ctx, web.Request{Path: pathCollections, Params: params, Timeout: a.change}, new(bytes.Buffer))
}

// balance spreads replicas over all live nodes (Solr 9.3 and later).
func (a *api) balance(ctx context.Context, task string) error {
	body := map[string]any{"nodes": []string{}, "waitForFinalState": true, "async": task}
	return a.ask(ctx, web.Request{Method: http.MethodPost, Path: pathBalance, Body: body, Timeout: a.change}, new(bytes.Buffer))
}

// commit makes the index of all copies of the collection durable, so that a
// restart has little to replay. Nobody needs to see the documents sooner.
func (a *api) commit(ctx context.Context, name string) error {
	return a.ask(ctx, web.Request{
		Path:    "/solr/" + name + "/update",
		Params:  web.Query("commit", "true", "openSearcher", "false", "waitSearcher", "false", "wt", "json"),
		Timeout: a.change,
	}, new(bytes.Buffer))
}

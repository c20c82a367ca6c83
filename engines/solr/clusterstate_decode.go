package solr

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// decodeClusterStatus reads the answer of CLUSTERSTATUS, one collection at a
// time. An answer without live_nodes or without collections is an error: later
// versions have calls that look alike and lack the one or the other, and a
// missing list must not read as an empty one.
func decodeClusterStatus(in io.Reader) (*clusterState, error) {
	var (
		state                 = &clusterState{}
		haveLive, haveColls   bool
		decoder               = json.NewDecoder(in)
		decodeClusterKey      func(key string) error
		decodeCollectionsBody func(key string) error
	)
	decodeCollectionsBody = func(name string) error {
		var c collectionJSON
		if err := decoder.Decode(&c); err != nil {
			return fmt.Errorf("collection %q: %w", engines.OneLine(name), err)
		}
		col, err := c.collection(name)
		state.collections = append(state.collections, col)
		return err
	}
	decodeClusterKey = func(key string) error {
		switch key {
		case "live_nodes":
			if haveLive {
				return errors.New("live_nodes occurs twice")
			}
			haveLive = true
			return decoder.Decode(&state.live)
		case "collections":
			if haveColls {
				return errors.New("collections occurs twice")
			}
			haveColls = true
			return eachKey(decoder, decodeCollectionsBody)
		default:
			return skip(decoder)
		}
	}
	err := eachKey(decoder, func(key string) error {
		if key == "cluster" {
			return eachKey(decoder, decodeClusterKey)
		}
		return skip(decoder)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("decode cluster status: %w", err)
	case !haveLive:
		return nil, errors.New("decode cluster status: no live_nodes: not the answer of a SolrCloud")
	case !haveColls:
		return nil, errors.New("decode cluster status: no collections: not the answer of a SolrCloud")
	}
	slices.Sort(state.live)
	state.live = slices.Compact(state.live)
	sorted.By(state.collections, func(a, b collection) int { return cmp.Compare(a.name, b.name) })
	for i := 1; i < len(state.collections); i++ {
		if state.collections[i].name == state.collections[i-1].name {
			return nil, fmt.Errorf("decode cluster status: collection %q occurs twice", engines.OneLine(state.collections[i].name))
		}
	}
	return state, nil
}

type collectionJSON struct {
	Shards map[string]struct {
		State    flexString             `json:"state"`
		Replicas map[string]replicaJSON `json:"replicas"`
	} `json:"shards"`
}

type replicaJSON struct {
	Core      flexString `json:"core"`
	Node      flexString `json:"node_name"`
	BaseURL   flexString `json:"base_url"`
	State     flexString `json:"state"`
	Type      flexString `json:"type"`
	Leader    flexBool   `json:"leader"`
	Preferred flexBool   `json:"property.preferredleader"`
	Mark      flexString `json:"property.rollcall"`
}

func (c collectionJSON) collection(name string) (collection, error) {
	out := collection{name: name, shards: make([]shard, 0, len(c.Shards))}
	for shardName, s := range c.Shards {
		sh := shard{name: shardName, state: string(s.State), replicas: make([]replica, 0, len(s.Replicas))}
		for replicaName, r := range s.Replicas {
			if r.Node == "" {
				return out, fmt.Errorf("collection %q shard %q replica %q: no node_name", engines.OneLine(name), engines.OneLine(shardName), engines.OneLine(replicaName))
			}
			sh.replicas = append(sh.replicas, replica{
				name: replicaName, core: string(r.Core), node: string(r.Node), baseURL: string(r.BaseURL), state: string(r.State),
				kind: string(r.Type), leader: bool(r.Leader), preferred: bool(r.Preferred), mark: string(r.Mark),
			})
		}
		sorted.By(sh.replicas, func(a, b replica) int { return cmp.Compare(a.name, b.name) })
		out.shards = append(out.shards, sh)
	}
	sorted.By(out.shards, func(a, b shard) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

// eachKey walks one JSON object; value must consume the value of the key.
func eachKey(decoder *json.Decoder, value func(key string) error) error {
	open, err := decoder.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return errors.New("want an object")
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		name, ok := key.(string)
		if !ok {
			return errors.New("want a key")
		}
		if err := value(name); err != nil {
			return err
		}
	}
	_, err = decoder.Token() // the end; a body that broke off is an error here
	return err
}

func skip(decoder *json.Decoder) error {
	var ignored json.RawMessage
	return decoder.Decode(&ignored)
}

package solr

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// decodeClusterStatus reads the answer of CLUSTERSTATUS, one replica at a time. An answer without live_nodes or without collections is an error: later
// versions have calls that look alike and lack the one or the other, and a
// missing list must not read as an empty one.
func decodeClusterStatus(in io.Reader) (*clusterState, error) {
	var (
		state               = &clusterState{}
		haveLive, haveColls bool
		d                   = statusDecoder{web.NewDecoder(in), web.Texts{}, map[string]bool{}}
	)
	clusterKey := func(key string) error {
		switch key {
		case "live_nodes":
			if haveLive {
				return errors.New("live_nodes occurs twice")
			}
			haveLive = true
			return d.Value(maxNames, &state.live)
		case "collections":
			if haveColls {
				return errors.New("collections occurs twice")
			}
			haveColls = true
			return d.each(func(name string) error {
				c, err := d.collection(name)
				state.collections = append(state.collections, c)
				return err
			})
		}
		return d.Skip()
	}
	err := d.each(func(key string) error {
		switch key {
		case "cluster":
			return d.each(clusterKey)
		case "error", "exception":
			return d.failure(key)
		}
		return d.Skip()
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
	if err := sortUnique(state.collections, "collection", func(c collection) string { return c.name }); err != nil {
		return nil, fmt.Errorf("decode cluster status: %w", err)
	}
	return state, nil
}

// sortUnique sorts by name, of which each may occur once.
func sortUnique[T any](list []T, what string, name func(T) string) error {
	sorted.By(list, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	for i := 1; i < len(list); i++ {
		if name(list[i]) == name(list[i-1]) {
			return fmt.Errorf("%s %q occurs twice", what, engines.OneLine(name(list[i])))
		}
	}
	return nil
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

const (
	// maxPiece is how much of a status is decoded at once: one replica.
	maxPiece = 64 << 10
	// maxNames is the same for the list of live nodes.
	maxNames = 1 << 20
	// maxNodes that have replicas: SolrCloud is run with hundreds.
	maxNodes = 4096
)

type statusDecoder struct {
	*web.Decoder
	texts web.Texts
	nodes map[string]bool
}

// each walks an object that must be there; value must read the value of the key.
func (d statusDecoder) each(value func(key string) error) error {
	there, err := d.Object(value)
	if err == nil && !there {
		err = web.ErrNotObject
	}
	return err
}

// failure is the error in an answer that has one.
func (d statusDecoder) failure(key string) error {
	var f any
	if err := d.Value(maxPiece, &f); err != nil || f == nil {
		return err
	}
	return fmt.Errorf("there is an %s in it", key)
}

func (d statusDecoder) collection(name string) (collection, error) {
	out := collection{name: name}
	err := d.each(func(key string) error {
		if key != "shards" {
			return d.Skip()
		}
		if out.shards != nil {
			return errors.New("shards occurs twice")
		}
		out.shards = []shard{}
		_, err := d.Object(func(shardName string) error {
			s, err := d.shard(shardName)
			out.shards = append(out.shards, s)
			return err
		})
		if err != nil {
			return err
		}
		return sortUnique(out.shards, "shard", func(s shard) string { return s.name })
	})
	if err != nil {
		return out, fmt.Errorf("collection %q: %w", engines.OneLine(name), err)
	}
	return out, nil
}

func (d statusDecoder) shard(name string) (shard, error) {
	out := shard{name: name, replicas: []replica{}}
	err := d.each(func(key string) error {
		switch key {
		case "state":
			return d.Value(maxPiece, (*flexString)(&out.state))
		case "replicas":
			_, err := d.Object(func(replicaName string) error {
				r, err := d.replica(replicaName)
				out.replicas = append(out.replicas, r)
				return err
			})
			return err
		}
		return d.Skip()
	})
	if err == nil {
		err = sortUnique(out.replicas, "replica", func(r replica) string { return r.name })
	}
	if err != nil {
		return out, fmt.Errorf("shard %q: %w", engines.OneLine(name), err)
	}
	out.replicas = slices.Clip(out.replicas)
	return out, nil
}

func (d statusDecoder) replica(name string) (replica, error) {
	var r replicaJSON
	if err := d.Value(maxPiece, &r); err != nil {
		return replica{}, err
	}
	if r.Node == "" {
		return replica{}, fmt.Errorf("replica %q: no node_name", engines.OneLine(name))
	}
	if len(r.Node) > web.MaxName {
		return replica{}, fmt.Errorf("replica %q: node_name has %d bytes", engines.OneLine(name), len(r.Node))
	}
	node := d.texts.One(string(r.Node))
	if d.nodes[node] = true; len(d.nodes) > maxNodes {
		engines.CountTooLarge()
		return replica{}, fmt.Errorf("%w of %d nodes", web.ErrTooLarge, maxNodes)
	}
	return replica{
		name: name, core: string(r.Core), node: node, baseURL: d.texts.One(string(r.BaseURL)), state: d.texts.One(string(r.State)),
		kind: d.texts.One(string(r.Type)), leader: bool(r.Leader), preferred: bool(r.Preferred), mark: string(r.Mark),
	}, nil
}

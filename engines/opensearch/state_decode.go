package opensearch

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sorted"
	"github.com/rollcall-dev/rollcall/engines/web"
)

const (
	// maxPiece is how much of a state is decoded at once: a node, or the copies of one shard.
	maxPiece = 64 << 10
	// maxSnapshots is the same for the list of those that are being taken.
	maxSnapshots = 1 << 20
)

// decodeState reads a cluster state as it comes, index by index, so that what is
// kept is what is needed: a few dozen bytes for each copy.
func decodeState(from io.Reader) (*clusterState, error) {
	c := &clusterState{nodes: map[string]stateNode{}}
	d := stateDecoder{json: web.NewDecoder(from), state: c, texts: web.Texts{}}
	err := d.object(d.top)
	if err == nil && c.id == "" {
		err = fmt.Errorf("no state_uuid: %w", ErrNotOpenSearch)
	}
	if err == nil && len(c.nodes) == 0 {
		err = fmt.Errorf("no nodes: %w", ErrNotOpenSearch)
	}
	if err != nil {
		return nil, fmt.Errorf("decode cluster state: %w", err)
	}
	sorted.By(c.shards, func(a, b shard) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(len(a.number), len(b.number)), cmp.Compare(a.number, b.number))
	})
	return c, nil
}

type stateDecoder struct {
	json  *web.Decoder
	state *clusterState
	texts web.Texts
}

// object calls field for each key, which must read the value. Null: nothing there.
func (d *stateDecoder) object(field func(key string) error) error {
	_, err := d.json.Object(field)
	return err
}

func (d *stateDecoder) top(key string) error {
	c := d.state
	switch key {
	case "state_uuid":
		return d.json.Value(maxPiece, &c.id)
	case "cluster_uuid":
		return d.json.Value(maxPiece, &c.cluster)
	case "cluster_manager_node", "master_node":
		var id *string
		err := d.json.Value(maxPiece, &id)
		if id != nil {
			c.elected = *id
		}
		return err
	case "nodes":
		return d.object(d.node)
	case "routing_table":
		return d.object(func(key string) error {
			if key != "indices" {
				return d.skip()
			}
			return d.object(d.index)
		})
	case "snapshots":
		return d.snapshots()
	}
	return d.skip()
}

func (d *stateDecoder) skip() error { return d.json.Skip() }

func (d *stateDecoder) node(id string) error {
	var n struct {
		Name    string `json:"name"`
		Process string `json:"ephemeral_id"`
		Address string `json:"transport_address"`
	}
	if err := d.json.Value(maxPiece, &n); err != nil {
		return err
	}
	if id == "" || n.Name == "" {
		return fmt.Errorf("node %q has no name", engines.OneLine(id))
	}
	d.state.nodes[id] = stateNode{name: n.Name, process: n.Process, address: n.Address}
	return nil
}

// routing is a copy as it is written.
type routing struct {
	State   string  `json:"state"`
	Primary bool    `json:"primary"`
	Node    *string `json:"node"`
	Target  *string `json:"relocating_node"`
	Info    *struct {
		Reason  string `json:"reason"`
		Delayed bool   `json:"delayed"`
		Details string `json:"details"`
	} `json:"unassigned_info"`
}

func (d *stateDecoder) index(name string) error {
	return d.object(func(key string) error {
		if key != "shards" {
			return d.skip()
		}
		return d.object(func(number string) error {
			if _, err := strconv.ParseUint(number, 10, 32); err != nil {
				return fmt.Errorf("index %q: shard %q: must be a number", engines.OneLine(name), engines.OneLine(number))
			}
			var rows []routing
			if err := d.json.Value(maxPiece, &rows); err != nil {
				return err
			}
			s := shard{index: name, number: d.texts.One(number), copies: make([]shardCopy, 0, len(rows))}
			if len(rows) == 0 {
				return fmt.Errorf("shard %s has no copies, not even missing ones", engines.OneLine(s.String()))
			}
			for _, r := range rows {
				copy := d.copy(r)
				if copy.node == "" && copy.state != unassigned {
					return fmt.Errorf("shard %s: a copy is %s on no node", engines.OneLine(s.String()), engines.OneLine(r.State))
				}
				if s.on(copy.node) || s.on(copy.target) {
					return fmt.Errorf("shard %s: two copies on one node", engines.OneLine(s.String()))
				}
				s.copies = append(s.copies, copy)
			}
			sorted.By(s.copies, compareCopies)
			d.state.shards = append(d.state.shards, s)
			return nil
		})
	})
}

func (d *stateDecoder) copy(r routing) shardCopy {
	c := shardCopy{primary: r.Primary, state: copyStateOf(r.State)}
	if r.Node != nil {
		c.node = d.texts.One(*r.Node)
	}
	if r.Target != nil {
		c.target = d.texts.One(*r.Target)
	}
	if r.Info != nil && c.state == unassigned {
		c.why, c.delayed = d.texts.One(r.Info.Reason), r.Info.Delayed
		if id, ok := leftBy(r.Info.Details); ok {
			c.left = d.texts.One(id)
		}
	}
	return c
}

// leftBy reads "node_left [ID]". Other details are texts for people.
func leftBy(details string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(details, "node_left [")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "]")
}

func compareCopies(a, b shardCopy) int {
	if a.primary != b.primary {
		if a.primary {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.target, b.target), cmp.Compare(a.why, b.why))
}

func (d *stateDecoder) snapshots() error {
	var s struct {
		Snapshots []struct {
			Repository string `json:"repository"`
			Snapshot   string `json:"snapshot"`
		} `json:"snapshots"`
	}
	if err := d.json.Value(maxSnapshots, &s); err != nil {
		return err
	}
	for _, one := range s.Snapshots {
		d.state.snapshot = cmp.Or(d.state.snapshot, engines.OneLine(one.Repository+"/"+one.Snapshot))
	}
	return nil
}

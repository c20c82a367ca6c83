package gossip

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/memberlist"
)

// delegate is everything that memberlist calls. It copies what it is given:
// memberlist goes on writing into a Node after the call.
type delegate struct {
	self    string
	tag     tag
	table   *table
	metrics *Metrics
	allowed func(netip.Addr) bool
	meta    atomic.Pointer[[]byte] // own metadata, at most MaxMeta bytes
	told    atomic.Pointer[[]byte] // what memberlist tells of it
}

var (
	_ memberlist.Delegate      = (*delegate)(nil)
	_ memberlist.AliveDelegate = (*delegate)(nil)
	_ memberlist.MergeDelegate = (*delegate)(nil)
	_ memberlist.EventDelegate = (*delegate)(nil)
)

// NodeMeta returns the headline of this agent.
func (d *delegate) NodeMeta(limit int) []byte {
	meta := *d.meta.Load()
	if len(meta) > limit {
		return nil // encode keeps MaxMeta, which is memberlist's limit
	}
	return meta
}

// Headlines travel as metadata; there are no other messages, and none are taken.
func (d *delegate) NotifyMsg([]byte)                {}
func (d *delegate) GetBroadcasts(int, int) [][]byte { return nil }

// LocalState is not empty, because memberlist calls MergeRemoteState only then.
func (d *delegate) LocalState(bool) []byte { return []byte{metaVersion} }

// MergeRemoteState is called after a full exchange, whoever began it; what the peer knows has been
// merged already.
func (d *delegate) MergeRemoteState([]byte, bool) { d.table.setSynced() }

func (d *delegate) reject(err error) error             { d.count(err); return err }
func (d *delegate) NotifyUpdate(node *memberlist.Node) { d.NotifyJoin(node) }

// NotifyAlive decides whether a message about a member is believed at all. Messages about this
// agent itself pass: memberlist refutes those that are not its own, which is how a restarted agent
// gets past its former incarnation.
func (d *delegate) NotifyAlive(node *memberlist.Node) error {
	if node.Name == d.self {
		return nil
	}
	if _, err := decode(d.tag, node.Name, node.Meta); err != nil {
		return d.reject(err)
	}
	if at := addressOf(node); !d.allowed(at.Addr()) {
		return d.reject(errRejected{reasonAddress, "a member at " + at.String()})
	}
	if !d.table.room(node.Name) {
		return d.reject(errRejected{reasonFull, "too many members"})
	}
	return nil
}

// NotifyMerge refuses the whole exchange when any living member of the other side belongs to
// another database: two clusters must never merge. Members that are only malformed are left out one
// by one by NotifyAlive.
func (d *delegate) NotifyMerge(peers []*memberlist.Node) error {
	for _, peer := range peers {
		if peer.State != memberlist.StateAlive || peer.Name == d.self {
			continue
		}
		_, err := decode(d.tag, peer.Name, peer.Meta)
		if rejected, ok := errors.AsType[errRejected](err); ok && rejected.reason == reasonCluster {
			return d.reject(errRejected{reasonMerge, "the peer belongs to another database cluster"})
		}
	}
	return nil
}

// NotifyJoin is also called for this agent itself.
func (d *delegate) NotifyJoin(node *memberlist.Node) {
	if node.Name == d.self {
		meta := slices.Clone(node.Meta)
		d.told.Store(&meta)
	}
	h, err := decode(d.tag, node.Name, node.Meta)
	if err != nil {
		_ = d.reject(err)
		return
	}
	if !d.table.put(node.Name, addressOf(node), leaving(node.Meta), h) {
		_ = d.reject(errRejected{reasonFull, "too many members"})
	}
	d.metrics.members.Set(float64(d.table.alive()))
}

// upToDate reports whether memberlist sends the current headline.
func (d *delegate) upToDate() bool { return bytes.Equal(*d.told.Load(), *d.meta.Load()) }

// NotifyLeave is called when a member is declared dead or has said good-bye.
func (d *delegate) NotifyLeave(node *memberlist.Node) {
	d.table.gone(node.Name)
	d.metrics.members.Set(float64(d.table.alive()))
}

func (d *delegate) count(err error) {
	if rejected, ok := errors.AsType[errRejected](err); ok {
		d.metrics.count(rejected.reason, "")
	}
}

func addressOf(node *memberlist.Node) netip.AddrPort {
	ip, _ := netip.AddrFromSlice(node.Addr)
	return netip.AddrPortFrom(ip.Unmap(), node.Port)
}

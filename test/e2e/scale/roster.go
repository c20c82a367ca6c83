package main

import (
	"net"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/rollcall-dev/rollcall/agent/config"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func (m *member) identity() *rollcallv1.Identity {
	return &rollcallv1.Identity{Namespace: m.db.namespace, Cluster: m.db.name, ClusterUid: m.db.uid, Pod: m.pod, PodUid: m.uid,
		Zone: m.zone, Incarnation: m.incarnation, AgentVersion: "simulated"}
}

// roster returns the roster of the gossip: here every member knows all others at once.
func (m *member) roster() (*rollcallv1.Roster, <-chan struct{}) {
	db := m.db
	db.mu.Lock()
	defer db.mu.Unlock()
	m.sequence++
	r := &rollcallv1.Roster{Identity: m.identity(), Synced: true, Sequence: m.sequence}
	for i, other := range db.members {
		if other == nil {
			continue
		}
		h := &rollcallv1.Headline{Pod: other.pod, PodUid: other.uid, Incarnation: other.incarnation, Sequence: other.sequence,
			Phase: rollcallv1.Phase_PHASE_WATCHING, Member: rollcallv1.Membership_MEMBERSHIP_NOT_LIVE, Verdict: rollcallv1.Verdict_VERDICT_GREEN,
			Drain: other.drain, Alive: uint32(len(db.members)), Address: net.JoinHostPort(other.ip, strconv.Itoa(config.PortGRPC)), Node: db.node(i), Zone: other.zone}
		if db.isLive(i) {
			h.Member = rollcallv1.Membership_MEMBERSHIP_LIVE
		}
		r.Entries = append(r.Entries, &rollcallv1.RosterEntry{Liveness: rollcallv1.Liveness_LIVENESS_ALIVE, Headline: h, Since: durationpb.New(time.Since(other.live))})
	}
	return r, db.changed
}

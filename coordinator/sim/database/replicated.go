package database

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Replicate makes the database one primary with replicas that acknowledge its
// commits: one set of copies, of which one is written, and so many of the others
// must be there for that. The first pod's is the primary.
func (d *Database) Replicate(acks int, pods ...string) {
	d.acks = acks
	d.AddShard("data", pods...)
}

// Fix makes the primary one that keeps its role.
func (d *Database) Fix() { d.fixed = d.shards[0].leader }

// Fixed is the pod of a primary that keeps its role. It is empty if there is none.
func (d *Database) Fixed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fixed == "" {
		return ""
	}
	return PodName(d.fixed)
}

// lacking is how many of the others, as far as they run, are not yet as the fixed primary is. d.mu is
// held.
func (d *Database) lacking(s *shard) (n int) {
	for _, r := range s.copies {
		if at := d.nodes[r.node]; r.node != d.fixed && at.up && at.listed && !r.active && !r.ails {
			n++
		}
	}
	return n
}

// Acks is how many replicas must be there; 0: it is not such a database.
func (d *Database) Acks() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.acks
}

// Handovers is how often a leader has handed over as it was asked to.
func (d *Database) Handovers() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handovers
}

// handoverTime is how long a handover takes. Writes of a primary may be stopped for a while.
func (d *Database) handoverTime() time.Duration {
	took := d.draw(d.times.Handover)
	if d.acks > 0 && took > d.times.Handover[1]*3/4 {
		return 8 * took
	}
	return took
}

// Stopping is the pod of a primary whose agent was ordered to hand over and has stopped its writes. It
// is empty if there is none.
func (d *Database) Stopping() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.acks == 0 || d.shards[0].stops == "" || d.shards[0].stops != d.shards[0].leader {
		return ""
	}
	return PodName(d.shards[0].leader)
}

// keptWrites is what a primary answers that keeps its writes as it was ordered to.
func keptWrites(ready bool) engines.Writes {
	if ready {
		return engines.WritesReady
	}
	return engines.WritesKept
}

// replicated is what a member of such a database tells, besides what all do: who
// is the primary, that it goes after its replicas, and what must stay. d.mu is held.
func (d *Database) replicated(self string, o *engines.Observation) {
	data := &o.Groups[0]
	data.NeedsLeader = false
	primary := engines.Group{ID: "primary", Kind: engines.GroupRole, MinAvailable: 1, NeedsLeader: true}
	acks := engines.Group{ID: "acks", Kind: engines.GroupAcks, MinAvailable: d.acks}
	for i := range data.Members {
		m := data.Members[i]
		m.Eligible = m.State == engines.MemberActive
		if d.fixed == "" || m.Node == d.fixed {
			m.Leader = m.Leader && m.State == engines.MemberActive
			primary.Members = append(primary.Members, m)
		}
		if m.Leader {
			if m.Node == self {
				o.Roles = []string{"primary"}
			}
		} else {
			acks.Members = append(acks.Members, engines.Member{ID: m.ID, Node: m.Node, State: m.State})
			o.After = append(o.After, m.Node)
		}
		data.Members[i].Leader = false
	}
	if len(o.Roles) == 0 {
		o.Roles, o.After = []string{"replica"}, nil
	}
	if d.fixed != "" {
		o.Topology, o.Last = engines.FixedPrimary, len(o.Roles) > 0
	}
	o.Groups = append(o.Groups, primary, acks)
}

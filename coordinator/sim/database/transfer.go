package database

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// How long a state transfer takes.
var (
	incremental = [2]time.Duration{time.Second, 4 * time.Second}
	whole       = [2]time.Duration{60 * time.Second, 120 * time.Second}
)

// isDonor reports whether a member sends its data to another. d.mu is held, as in all below.
func (d *Database) isDonor(name string) bool { return d.receiverOf(name) != "" }

// receiverOf is to whom a member sends its data.
func (d *Database) receiverOf(name string) string {
	for _, other := range d.names {
		if m := d.galera.members[other]; m.stage == receiving && m.donor == name {
			return other
		}
	}
	return ""
}

// canSend reports whether a member may become a donor.
func (d *Database) canSend(name string) bool {
	n := d.nodes[name]
	return n.listed && !d.isSilent(n) && d.galera.members[name].stage == synced && !d.isDonor(name)
}

// transfer gives each member that waits a donor, as long as there are any, and breaks off what has
// lost its donor.
func (d *Database) transfer() {
	for _, name := range d.names {
		n, m := d.nodes[name], d.galera.members[name]
		if m.stage == receiving && !d.nodes[m.donor].listed {
			m.stage, m.donor = waiting, ""
			m.transfers++
		}
		if m.stage != waiting || d.isSilent(n) {
			continue
		}
		for _, from := range d.names {
			if d.canSend(from) {
				d.send(n, from)
				break
			}
		}
	}
}

// breakOff ends what a member sends, as its process has ended.
func (d *Database) breakOff(name string) {
	if to := d.receiverOf(name); to != "" {
		m := d.galera.members[to]
		m.stage, m.donor = waiting, ""
		m.transfers++
	}
}

// send has a donor send a member what that needs.
func (d *Database) send(n *node, from string) {
	m := d.galera.members[n.name]
	m.stage, m.donor = receiving, from
	m.transfers++
	this, takes := m.transfers, incremental
	if m.full {
		takes = whole
	}
	d.loop.Log("db", "%s sends to %s", PodName(from), PodName(n.name))
	d.loop.In(d.draw(takes), func() {
		defer d.change()()
		switch {
		case m.transfers != this:
			return
		case d.isSilent(n), d.isSilent(d.nodes[from]):
			m.stage, m.donor = waiting, ""
		default:
			d.sync(n)
		}
		d.transfer()
	})
}

// sync has a member serve.
func (d *Database) sync(n *node) {
	m, r := d.galera.members[n.name], d.copyOf(n)
	m.stage, m.full, m.donor = synced, false, ""
	r.state, r.active, r.alive, r.lost = engines.MemberActive, true, true, false
	d.loop.Log("db", "%s is synced", PodName(n.name))
	if n.joined != nil {
		d.loop.In(0, n.joined)
		n.joined = nil
	}
}

// Member is a member of a Galera database as it really is.
type Member struct {
	Pod string
	// Listed is true if the component has it, and Ended if its process has ended nevertheless.
	Listed, Ended bool
	Synced        bool
	// Donor is true if it sends its data, Joins if it receives it, or waits for a donor.
	Donor, Joins bool
}

// Component is what really is of a Galera database.
type Component struct {
	// Primary is true if there is one. Arbitrator is true if a member votes that has no pod.
	Primary, Arbitrator bool
	Members             []Member
}

// Whole reports whether every member is synced, and none sends its data.
func (c Component) Whole() bool {
	return c.Primary && !slices.ContainsFunc(c.Members, func(m Member) bool { return !m.Synced || m.Donor })
}

// Component of a Galera database.
func (d *Database) Component() Component {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := Component{Primary: d.galera.primary, Arbitrator: d.galera.arbitrator}
	for _, name := range d.names {
		m, n := d.galera.members[name], d.nodes[name]
		c.Members = append(c.Members, Member{
			Pod: PodName(name), Listed: n.listed, Ended: n.listed && m.ended, Synced: n.listed && m.stage == synced && !d.isSilent(n),
			Donor: d.isDonor(name), Joins: m.stage == waiting || m.stage == receiving,
		})
	}
	return c
}

package database

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Arbitrator is the name of a member that votes, and has neither data nor a pod.
const Arbitrator = "garbd"

// suspected is for how long the others wait for a member that is silent.
var suspected = [2]time.Duration{5 * time.Second, 6 * time.Second}

// galera is a database of members that all take writes, as long as they are in the primary
// component. Each has one vote. Who leaves in peace takes its vote along; who is silent is in
// the component until the others suspect it, and then they need more than half of its votes.
type galera struct {
	arbitrator bool
	// keeps is for how long the members keep what another misses. Who was away for longer needs
	// all of the data.
	keeps time.Duration
	// primary is true if there is a primary component. last are the names of its members, or of
	// the last one's. view counts the components.
	primary bool
	last    map[string]bool
	view    int
	members map[string]*member
	// heard is what the agents have told each other of their members, by who was told and who told.
	heard map[string]map[string]look
	// tells reports whether the agent in a pod tells that in another of its member.
	tells func(from, to string) bool
}

// member is a node of a Galera database.
type member struct {
	stage stage
	// full means that it needs all of the data; donor is who sends what it needs.
	full  bool
	donor string
	// transfers counts them, so that the end of one that was broken off is void.
	transfers int
	// gone is since when it is in no component; silent since when the others hear nothing of it.
	gone, silent time.Duration
	// ended means that the process which the component has as a member has ended.
	ended bool
}

// stage of a member in the component.
type stage uint8

const (
	outside stage = iota
	// waiting means that it needs a donor; receiving, that it has one.
	waiting
	receiving
	synced
)

// Galera makes the pods members of one primary component.
func (d *Database) Galera(arbitrator bool, keeps time.Duration, pods ...string) {
	d.galera = &galera{
		arbitrator: arbitrator, keeps: keeps, primary: true, last: map[string]bool{}, view: 1, members: map[string]*member{},
		heard: map[string]map[string]look{}, tells: func(string, string) bool { return true },
	}
	d.AddShard("data", pods...)
	d.shards[0].leader = ""
	for _, pod := range pods {
		d.galera.members[NodeName(pod)] = &member{stage: synced}
		d.galera.last[NodeName(pod)] = true
		d.nodeOf(pod)
	}
	if arbitrator {
		d.galera.last[Arbitrator] = true
	}
}

// IsGalera reports whether it is such a database.
func (d *Database) IsGalera() bool { return d.galera != nil }

// copyOf is the data of a member.
func (d *Database) copyOf(n *node) *replica {
	at := slices.IndexFunc(d.shards[0].copies, func(r *replica) bool { return r.node == n.name })
	return d.shards[0].copies[at]
}

// reaches reports whether the process on a node runs, and the others can hear of it.
func (n *node) reaches() bool { return n.up && !n.frozen && n.apart == 0 }

// quiets has the others wait for a member that is silent. d.mu is held, as in all below.
func (d *Database) quiets(n *node) {
	m := d.galera.members[n.name]
	if !n.listed {
		return
	}
	m.silent = d.loop.Now()
	d.loop.In(d.draw(suspected), func() {
		defer d.change()()
		d.expel()
	})
}

// isSilent reports whether the others hear nothing of a member of the component.
func (d *Database) isSilent(n *node) bool {
	return d.galera.members[n.name].ended || n.frozen || n.apart > 0
}

// expel puts the silent members out of the component, once all of them are suspected: the others
// agree with nobody before.
func (d *Database) expel() {
	g := d.galera
	var out []*node
	for _, name := range d.names {
		n, m := d.nodes[name], g.members[name]
		if !n.listed || !d.isSilent(n) {
			continue
		}
		if len(g.last) == 1 && !m.ended || d.loop.Now()-m.silent < suspected[0] {
			return
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return
	}
	for _, n := range out {
		d.loop.Log("db", "%s is put out of the component", PodName(n.name))
		d.putOut(n)
	}
	d.decide(out)
	for _, n := range out {
		if n.reaches() {
			d.enter(n)
		}
	}
}

// putOut takes a member out of the component.
func (d *Database) putOut(n *node) {
	m := d.galera.members[n.name]
	n.listed = false
	m.stage, m.gone, m.ended, m.donor = outside, d.loop.Now(), false, ""
	m.transfers++
	r := d.copyOf(n)
	r.state, r.active = engines.MemberDown, false
}

// listedNames are the members of the component as it is now.
func (d *Database) listedNames() map[string]bool {
	in := map[string]bool{}
	for _, name := range d.names {
		if d.nodes[name].listed {
			in[name] = true
		}
	}
	return in
}

// decide makes those that are left of the component the next one, if they are more than half of it and
// one of them has the data; otherwise those that were put out begin it, or did before they came.
func (d *Database) decide(out []*node) {
	g := d.galera
	g.view++
	in := d.listedNames()
	if len(in) > 0 && g.arbitrator {
		in[Arbitrator] = true
	}
	switch {
	case 2*len(in) <= len(g.last):
		d.loop.Log("db", "the primary component is lost: %d of %d", len(in), len(g.last))
		d.collapse()
	case !d.hasData():
		d.orphan(out)
	default:
		g.last = in
		d.transfer()
	}
}

// hasData reports whether a member of the component has the data.
func (d *Database) hasData() bool {
	return slices.ContainsFunc(d.names, func(name string) bool { return d.nodes[name].listed && d.galera.members[name].stage == synced })
}

// orphan is what becomes of a component that has nobody with the data any more: who had it last begins
// the next one.
func (d *Database) orphan(last []*node) {
	d.galera.last = map[string]bool{}
	for _, n := range last {
		if m := d.galera.members[n.name]; !m.full {
			d.galera.last[n.name] = true
		}
	}
	d.loop.Log("db", "nobody in the component has the data")
	d.collapse()
}

// collapse leaves all members without a primary component.
func (d *Database) collapse() {
	d.galera.primary = false
	for _, name := range d.names {
		if n := d.nodes[name]; n.listed {
			d.putOut(n)
		}
	}
}

// leave is a member that ends in peace: the component shrinks by its vote.
func (d *Database) leave(n *node) {
	g := d.galera
	d.putOut(n)
	if !g.primary {
		return
	}
	g.view++
	if !d.hasData() {
		d.orphan([]*node{n})
		return
	}
	delete(g.last, n.name)
	d.transfer()
}

// Enter brings the process in a pod into the component at once.
func (d *Database) Enter(pod string) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.up = true
	d.enter(n)
}

// enter brings a process that runs into the component.
func (d *Database) enter(n *node) {
	g := d.galera
	m := g.members[n.name]
	if n.listed || !n.reaches() {
		return // the others still have an earlier process of it, or it cannot reach them
	}
	if !g.primary {
		d.reform()
		return
	}
	if !slices.ContainsFunc(d.names, func(name string) bool { return d.nodes[name].listed && !d.isSilent(d.nodes[name]) }) {
		return
	}
	r := d.copyOf(n)
	m.stage, m.full = waiting, m.full || r.lost || d.loop.Now()-m.gone > g.keeps
	r.state, r.active = engines.MemberRecovering, false
	n.listed = true
	n.session++
	g.last[n.name] = true
	g.view++
	what := "an incremental"
	if m.full {
		what = "a full"
	}
	d.loop.Log("db", "%s is in the component and needs %s state transfer", PodName(n.name), what)
	d.transfer()
}

// reform makes a primary component of those that reach each other, if they are more than half of the
// last one. They have what it had.
func (d *Database) reform() {
	g := d.galera
	var with, others []*node
	have := 0
	if g.last[Arbitrator] {
		have++
	}
	for _, name := range d.names {
		switch n := d.nodes[name]; {
		case !n.reaches():
		case g.last[name]:
			with = append(with, n)
			have++
		default:
			others = append(others, n)
		}
	}
	whole := slices.ContainsFunc(with, func(n *node) bool { return !g.members[n.name].full })
	if g.primary || !whole || 2*have <= len(g.last) {
		return
	}
	g.primary, g.last = true, map[string]bool{}
	g.view++
	d.loop.Log("db", "there is a primary component again")
	for _, n := range with {
		n.listed = true
		n.session++
		g.last[n.name] = true
		if m := g.members[n.name]; m.full {
			m.stage = waiting
		} else {
			d.sync(n)
		}
	}
	if g.arbitrator {
		g.last[Arbitrator] = true
	}
	for _, n := range others {
		d.enter(n)
	}
	d.transfer()
}

// ends is the end of a process in Galera. In peace it leaves; otherwise the others have it as a member
// until they suspect it.
func (d *Database) ends(n *node, graceful bool) {
	m := d.galera.members[n.name]
	switch {
	case !n.listed || m.ended:
	case graceful && n.apart == 0:
		d.leave(n)
	default:
		m.ended, m.stage, m.donor = true, outside, ""
		m.transfers++
		d.quiets(n)
		d.breakOff(n.name)
		d.transfer()
	}
}

// Bootstrap begins a primary component with a member that runs, the one with the newest data if it does,
// and returns its pod, or nothing if none can. If only one runs that has not all of the data, a backup is
// restored there.
func (d *Database) Bootstrap() string {
	defer d.change()()
	g := d.galera
	first := ""
	worth := func(name string) int {
		switch {
		case name == "" || !d.nodes[name].reaches():
			return 0
		case g.members[name].full:
			return 1
		case !g.last[name]:
			return 2
		}
		return 3
	}
	for _, name := range d.names {
		if worth(name) > worth(first) {
			first = name
		}
	}
	if first == "" || g.primary {
		return ""
	}
	g.members[first].full = false
	g.last = map[string]bool{first: true}
	d.reform()
	d.again()
	return PodName(first)
}

// again has those try that could not enter before, when a member is heard again.
func (d *Database) again() {
	d.expel()
	for _, name := range d.names {
		d.enter(d.nodes[name])
	}
	d.transfer()
}

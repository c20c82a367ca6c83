package database

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// look is what an agent has told of its member.
type look struct {
	at time.Duration
	// down means that its server does not run, or does not listen before it has all of the data;
	// primary that it is in a primary component, of which view is the number.
	down, primary bool
	view          int
	ready, synced bool
	// unheard means that its agent tells nothing any more.
	unheard bool
}

// old is the age from which on a look no longer counts.
const old = 20 * time.Second

// remembered is for how long an agent that tells nothing is known to the others.
const remembered = 15 * time.Minute

// Tell has the agents tell each other of their members once a second. tells reports whether the agent
// in one pod tells that in another.
func (d *Database) Tell(tells func(from, to string) bool) {
	d.galera.tells = tells
	d.tell()
}

// tell is one round.
func (d *Database) tell() {
	for _, to := range d.names {
		for _, from := range d.names {
			if from != to {
				d.hear(from, to, d.galera.tells(PodName(from), PodName(to)))
			}
		}
	}
	d.loop.In(d.loop.Between(900*time.Millisecond, 1100*time.Millisecond), d.tell)
}

// hear notes what a member tells another.
func (d *Database) hear(from, to string, told bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	heard := d.galera.heard[to]
	if heard == nil {
		heard = map[string]look{}
		d.galera.heard[to] = heard
	}
	x, known := heard[from]
	switch {
	case told && !d.nodes[from].frozen: // a paused server answers nobody
		heard[from] = d.lookAt(from)
	case d.loop.Now()-x.at > remembered:
		delete(heard, from)
	case known:
		x.unheard = true
		heard[from] = x
	}
}

// lookAt is what a member says of itself. d.mu is held, as in all below.
func (d *Database) lookAt(name string) look {
	n, m := d.nodes[name], d.galera.members[name]
	in := n.listed && !m.ended
	return look{
		at: d.loop.Now(), down: !n.up || m.full && m.stage != outside && m.stage != synced, primary: in, view: d.galera.view,
		ready: in && m.stage == synced, synced: in && m.stage == synced && !d.isDonor(name),
	}
}

// vote is what a member says of another's vote, and of its data.
func (d *Database) vote(self, name string) (votes, data engines.MemberState) {
	x, agent := d.galera.heard[self][name]
	if name == self {
		x, agent = d.lookAt(name), true
	}
	switch {
	case !d.nodes[name].listed:
		return engines.MemberDown, engines.MemberDown
	case !agent:
		return engines.MemberActive, engines.MemberActive
	case x.unheard, d.loop.Now()-x.at > old:
		return engines.MemberUnknown, engines.MemberUnknown
	case x.down:
		return engines.MemberDown, engines.MemberDown
	case !x.primary:
		return engines.MemberUnknown, engines.MemberUnknown
	case !x.synced:
		return engines.MemberActive, engines.MemberRecovering
	}
	return engines.MemberActive, engines.MemberActive
}

// doubt is why the view of a member permits nothing; it is empty if it does.
func (d *Database) doubt(self string) string {
	own := d.lookAt(self)
	switch {
	case !own.primary:
		return PodName(self) + " is in no primary component"
	case !own.ready:
		return PodName(self) + " executes nothing yet"
	}
	for _, name := range d.names {
		x, heard := d.galera.heard[self][name]
		if heard && !x.unheard && d.loop.Now()-x.at <= old && !x.down && x.primary && x.view != own.view {
			return "they do not agree yet"
		}
	}
	return ""
}

// voters are the members of which one knows.
func (d *Database) voters(self string) []string {
	var out []string
	for _, name := range d.names {
		gone := d.galera.members[name].gone
		missed := gone > 0 && d.loop.Now()-gone < remembered
		if _, heard := d.galera.heard[self][name]; heard || name == self || d.nodes[name].listed || missed {
			out = append(out, name)
		}
	}
	return out
}

// memberSays is what an agent reports of a member.
func (d *Database) memberSays(self string) engines.Observation {
	n, own, doubt := d.nodes[self], d.lookAt(self), d.doubt(self)
	o := engines.Observation{Node: self, Version: n.version, Topology: engines.Galera}
	if own.down {
		o.Member, o.Health.Reason = engines.MembershipNotLive, "connection refused"
		return o
	}
	if o.Member = engines.MembershipUnknown; own.primary {
		o.Member = engines.MembershipLive
	}
	component := engines.Group{ID: "primary-component", Kind: engines.GroupQuorum}
	data := engines.Group{ID: "data", Kind: engines.GroupShard}
	o.Veto, o.Settled, o.Health = n.veto, doubt == "" && own.synced, engines.Health{Verdict: engines.VerdictGreen}
	for _, name := range d.voters(self) {
		votes, copied := d.vote(self, name)
		state := engines.MembershipUnknown
		switch {
		case votes == engines.MemberDown:
			state = engines.MembershipNotLive
		case votes == engines.MemberActive && (doubt == "" || name == self):
			state = engines.MembershipLive
		}
		o.Nodes = append(o.Nodes, engines.Node{Name: name, Address: name[:len(name)-len("_solr")], State: state})
		switch {
		case votes == engines.MemberDown && !d.nodes[name].listed && o.Health.Verdict == engines.VerdictGreen:
			o.Health = engines.Health{Verdict: engines.VerdictRecoverable, Reason: "not in the primary component: " + PodName(name)}
		case copied != engines.MemberActive && d.nodes[name].listed:
			o.Health = engines.Health{Verdict: engines.VerdictYellow, Reason: PodName(name) + " is not synced"}
		}
		if doubt != "" {
			votes, copied = engines.MemberUnknown, engines.MemberUnknown
		}
		component.Members = append(component.Members, engines.Member{ID: PodName(name), Node: name, State: votes})
		data.Members = append(data.Members, engines.Member{ID: PodName(name), Node: name, State: copied})
	}
	if own.primary && d.galera.arbitrator {
		state := engines.MemberActive
		if doubt != "" {
			state = engines.MemberUnknown
		}
		component.Members = append(component.Members, engines.Member{ID: Arbitrator, Node: Arbitrator, State: state})
	}
	if doubt != "" {
		o.Health = engines.Health{Verdict: engines.VerdictYellow, Reason: doubt}
	}
	component.MinAvailable = len(component.Members)/2 + 1
	o.Groups = []engines.Group{component, data}
	switch to := d.receiverOf(self); {
	case to != "":
		o.Busy = fmt.Sprintf("sends all of its data to %s (Donor/Desynced)", PodName(to))
	case own.primary && !own.ready:
		o.Busy = "receives an incremental state transfer"
	}
	return o
}

// mayLeave is what a drain says: it changes nothing and waits until the member can leave, even if it is
// killed in the middle.
func (d *Database) mayLeave(leaver string) engines.Progress {
	wait := func(why string) engines.Progress {
		return engines.Progress{State: engines.ProgressRunning, Detail: why, Total: 1}
	}
	done := engines.Progress{State: engines.ProgressDone}
	n := d.nodes[leaver]
	if !n.listed || d.galera.members[leaver].ended || d.BlindDrains {
		return done
	}
	if doubt := d.doubt(leaver); doubt != "" {
		return wait(doubt)
	}
	have, all, copies := 0, 0, 0
	for _, name := range d.voters(leaver) {
		all++
		votes, copied := d.vote(leaver, name)
		if name == leaver || votes != engines.MemberActive {
			continue
		}
		have++
		if copied == engines.MemberActive {
			copies++
		}
	}
	if d.galera.arbitrator {
		all++
		have++
	}
	switch {
	case d.isDonor(leaver):
		return wait("it is a donor: it is waited for")
	case 2*have <= all:
		return wait(fmt.Sprintf("%d of %d votes would be left", have, all))
	case copies == 0:
		return wait("no other member is synced")
	}
	return done
}

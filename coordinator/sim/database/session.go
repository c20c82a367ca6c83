package database

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// rejoins is from when a member can reach the register again until it is in it.
var rejoins = [2]time.Duration{200 * time.Millisecond, 2 * time.Second}

// LoseSession has the member in a pod leave the register and stay out of it until
// Rejoin, while its process runs and its data is as it was.
func (d *Database) LoseSession(pod string) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.apart++
	d.loop.Log("db", "%s loses its session", pod)
	if d.galera != nil {
		d.quiets(n)
		return
	}
	d.unlist(n)
}

// Rejoin ends what LoseSession began.
func (d *Database) Rejoin(pod string) {
	defer d.change()()
	n := d.nodeOf(pod)
	n.apart--
	if d.galera != nil {
		d.again()
	}
	d.relist(n)
}

// Freeze pauses the process in a pod: it answers nobody, and loses its session
// when that lasts. silent: who asks learns nothing; else that nobody answers is
// taken for not being a member.
func (d *Database) Freeze(pod string, silent bool) {
	defer d.change()()
	n := d.nodeOf(pod)
	if !n.up || n.frozen {
		return
	}
	n.frozen, n.silent = true, silent
	n.freezes++
	run, freezes := n.run, n.freezes
	d.loop.Log("db", "%s is paused", pod)
	d.silence(n)
	if d.galera != nil {
		d.quiets(n)
		return
	}
	d.loop.In(d.draw(d.times.Notice), func() {
		defer d.change()()
		if n.run == run && n.freezes == freezes && n.frozen {
			d.loop.Log("db", "%s is found to be gone", pod)
			d.unlist(n)
		}
	})
}

// Thaw has a paused process go on. One whose session is over has to join again,
// and knows that at once.
func (d *Database) Thaw(pod string) {
	defer d.change()()
	n := d.nodeOf(pod)
	if !n.frozen {
		return
	}
	n.frozen = false
	d.loop.Log("db", "%s goes on", pod)
	if !n.listed {
		d.relist(n)
		return
	}
	if d.galera != nil {
		r := d.copyOf(n)
		r.active = d.galera.members[n.name].stage == synced
		d.again()
		return
	}
	for _, s := range d.shards {
		for _, r := range s.copies {
			switch {
			case r.node != n.name:
			case r.alive && r.state == engines.MemberActive:
				r.active = true
				d.elect(s)
			case r.state == engines.MemberRecovering && !r.ails, r.waits && !d.heldBack(s, r): // allocation was put back meanwhile
				d.recover(n, s, r)
			}
		}
	}
	d.electOverseer()
}

// silence: no copy on the node serves. d.mu is held, as in all below.
func (d *Database) silence(n *node) {
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name {
				r.active = false
			}
		}
	}
}

// unlist takes a node out of the register, with all that it led.
func (d *Database) unlist(n *node) {
	n.listed = false
	d.silence(n)
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name {
				r.state = engines.MemberDown
			}
		}
		if s.leader == n.name {
			s.leader = ""
			d.elect(s)
		}
	}
	if d.overseer == n.name {
		d.overseer = ""
		d.electOverseer()
	}
}

// relist brings a process that runs back into the register after a while.
func (d *Database) relist(n *node) {
	run, freezes := n.run, n.freezes
	d.loop.In(d.draw(rejoins), func() {
		defer d.change()()
		if n.run == run && n.freezes == freezes && n.up && !n.frozen && !n.listed && n.apart == 0 {
			d.join(n)
		}
	})
}

// join puts a node whose process runs into the register, and brings its copies back.
func (d *Database) join(n *node) {
	if d.galera != nil {
		d.enter(n)
		return
	}
	n.listed = true
	n.session++
	d.loop.Log("db", "%s is a member", PodName(n.name))
	d.electOverseer()
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name {
				d.recover(n, s, r)
			}
		}
	}
	if n.joined != nil {
		d.loop.In(0, n.joined)
		n.joined = nil
	}
}

// serves reports whether the node's process runs, is not paused, and is a member.
func (n *node) serves() bool { return n.up && n.listed && !n.frozen }

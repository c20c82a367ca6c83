package database

import (
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Ail breaks the copy of a shard on a pod, while its process runs: it is down, or tries to recover
// without success. It is well again when the process has been started again, or never, when it is
// broken for ever.
func (d *Database) Ail(pod, id string, recovering, forEver bool) {
	defer d.change()()
	for _, s := range d.shards {
		for _, r := range s.copies {
			if s.id != id || r.node != NodeName(pod) {
				continue
			}
			r.active, r.alive, r.ails, r.forEver = false, false, true, forEver
			r.state, r.since = engines.MemberDown, time.Now()
			if recovering {
				r.state = engines.MemberRecovering
			}
			r.recoveries++
			if s.leader == r.node {
				s.leader = ""
				d.elect(s)
			}
			d.loop.Log("db", "%s of %s is broken on %s", r.id, s.id, pod)
		}
	}
}

// quiet is how long a copy must have been down on a member for that to know that it
// does not come back by itself.
const quiet = 10 * time.Second

// givenUp reports whether it is down, and nothing moves any more. Its member has nothing to wait
// for.
func (r *replica) givenUp(state engines.MemberState) bool {
	return state == engines.MemberDown && r.ails && time.Since(r.since) >= quiet
}

// Ails reports whether a pod has a copy that does not recover.
func (d *Database) Ails(pod string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.ails && r.node == NodeName(pod) {
				return true
			}
		}
	}
	return false
}

// Incurable tells whether a pod has a copy, and which shards have one, that no
// restart cures.
func (d *Database) Incurable() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]string{}
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.ails && r.forEver {
				out[s.id] = PodName(r.node)
			}
		}
	}
	return out
}

// cure is what a new process does to the copies on its node. d.mu is held.
func (d *Database) cure(n *node) {
	for _, s := range d.shards {
		for _, r := range s.copies {
			if r.node == n.name && !r.forEver {
				r.ails = false
			}
		}
	}
}

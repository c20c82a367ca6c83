package oracle

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
)

// heard is how long it takes at most until it is known that a member has ended of which the agent is
// heard, though the component has it yet.
const heard = 3 * time.Second

// component updates since when members have ended that the component has yet, send their data or wait
// for it.
func (o *Oracle) component(mark func(m map[string]time.Duration, name string, bad bool)) {
	if !o.db.IsGalera() {
		return
	}
	for _, m := range o.db.Component().Members {
		mark(o.since, m.Pod+" has ended", m.Ended && o.Tells(m.Pod))
		mark(o.since, m.Pod+" sends", m.Donor)
		mark(o.since, m.Pod+" joins", m.Listed && m.Joins)
	}
}

// hasBeen reports whether something has been so for longer than a while.
func (o *Oracle) hasBeen(what string, longer time.Duration) bool {
	since, is := o.since[what]
	return is && o.loop.Now()-since > longer
}

// besideUntold reports whether a member of Galera has gone by Rollcall's hand that had no agent.
func (o *Oracle) besideUntold(*corev1.Pod) bool {
	return o.db.IsGalera() && slices.ContainsFunc(slices.Collect(maps.Values(o.ours)), func(d departure) bool { return d.untold })
}

// leavesMembers is G1 and G2. A member that goes leaves in peace: the component shrinks by its vote.
func (o *Oracle) leavesMembers(removed *corev1.Pod) {
	c, pod := o.db.Component(), removed.Name
	if !c.Primary {
		return
	}
	next, alive, all, have, others := 0, 0, 0, 0, 0
	var self database.Member
	joins := ""
	for _, m := range c.Members {
		all++
		_, ours := o.ours[m.Pod]
		if m.Pod == pod {
			self = m
			continue
		}
		if m.Listed && !ours {
			next++
			if !o.hasBeen(m.Pod+" has ended", heard) {
				alive++
			}
		}
		if !ours && !o.known(m.Pod, m.Pod+"/data") {
			have++
		}
		if m.Synced && !ours {
			others++
		}
		if o.hasBeen(m.Pod+" joins", told) {
			joins = m.Pod
		}
	}
	if c.Arbitrator {
		next, alive, all, have = next+1, alive+1, all+1, have+1
	}
	if !self.Listed || self.Ended {
		return // it takes nothing away
	}
	if 2*alive <= next {
		o.Accuse("G1", "%s goes, and of the %d votes that the component has then only %d are there", pod, next, alive)
	}
	if self.Joins {
		return // it has no data yet
	}
	if 2*have <= all && o.asks(removed, votes) {
		o.Accuse("G1", "%s goes, and %d of %d votes are left", pod, have, all)
	}
	if !o.hasAgent(pod) {
		return
	}
	switch {
	case o.hasBeen(pod+" sends", told):
		o.Accuse("G2", "%s goes, which sends its data", pod)
	case joins != "" && joins != pod && others == 0:
		o.Accuse("G2", "%s goes, and %s can get its data from nobody else", pod, joins)
	}
}

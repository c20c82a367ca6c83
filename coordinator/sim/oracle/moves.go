package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
)

// place is a pod that has a copy of a shard.
type place struct{ pod, shard string }

// moves are what places notes.
type moves struct {
	// hosts are where copies were at the last look, left when one was moved away from there.
	hosts map[place]bool
	left  map[place]time.Duration
	// silent is since when nobody can tell. It is zero if somebody can.
	silent time.Duration
}

// places notes which copies have left a pod, and since when nobody could know that, because no
// member runs beside an agent.
func (o *Oracle) places(truth []database.Shard) {
	if !o.limits.Ephemeral {
		return
	}
	at, now := o.loop.Now(), map[place]bool{}
	for _, shard := range truth {
		for _, c := range shard.Copies {
			p := place{c.Pod, shard.ID}
			now[p] = true
			delete(o.left, p)
		}
	}
	for p := range o.hosts {
		if !now[p] {
			o.left[p] = at
		}
	}
	o.hosts = now
	if slices.ContainsFunc(o.server.Names(api.Pods), o.tended) {
		o.silent = 0
	} else if o.silent == 0 {
		o.silent = at
	}
}

// hadTheLast reports whether a pod is as one that has the last copy, but that the copy was moved
// away, and nobody is left who could have told that in time.
func (o *Oracle) hadTheLast(pod *corev1.Pod) bool {
	return o.silent > 0 && o.losesTheLast(pod, func(shard database.Shard) bool {
		left, had := o.left[place{pod.Name, shard.ID}]
		return had && o.silent-left <= noticed
	})
}

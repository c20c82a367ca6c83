package oracle

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// known reports whether it could be known that something is wrong with a pod.
func (o *Oracle) known(pod, what string) bool {
	at := o.loop.Now()
	bad, is := o.since[what]
	if !is {
		return false
	}
	if shows, unready := o.shows[pod]; unready && at-max(shows, bad) > shown {
		return true
	}
	if !o.asks(o.server.Pod(pod), members) {
		return false
	}
	if bad == 0 && o.db.Listed(pod) && !o.db.Frozen(pod) {
		return true // since before the world began to move
	}
	unlisted, out := o.unlisted[pod]
	return at-bad > noticed || out && at-unlisted > told
}

// agentless reports whether no pod has an agent, so only what Kubernetes shows can be known.
func (o *Oracle) agentless() bool { return !slices.ContainsFunc(o.server.Names(api.Pods), o.hasAgent) }

func (o *Oracle) hasAgent(pod string) bool {
	p := o.server.Pod(pod)
	return p != nil && len(p.Spec.InitContainers) > 0
}

package coordinator

import (
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/act"
	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// departures notes when pods went, whoever caused it.
//
// What was observed before the last departure was noticed is not fresh: it may describe a database
// that had one more member. And until the database itself has noticed, its members may still count
// on the one that went.
type departures struct {
	// began is when this coordinator took over.
	began time.Time
	// barrier is when the last departure was noticed.
	barrier time.Time
	// well are the pods that were healthy at the last look, by UID.
	well map[string]wellPod
	// open are the departures that the database is not known to have noticed, by pod name. One that
	// a predecessor noted is under the empty name.
	open map[string]departure
}

type wellPod struct {
	name     string
	restarts int // unknown for a pod that a predecessor saw
}

const unknown = -1

// believed is how old a predecessor's departure has to be at least to be taken for as old as it
// says. A later one counts from now, because the predecessor's clock may have differed from ours.
const believed = 10 * time.Minute

type departure struct {
	at  time.Time
	uid string
	// node is the pod's name in the database. It is empty if not known.
	node string
}

// newDepartures starts with what a predecessor noted last, and with the pods that it had claimed.
// Nothing that was observed before now is fresh to a new coordinator.
func newDepartures(now time.Time, taken act.Taken) *departures {
	d := &departures{began: now, barrier: now, well: map[string]wellPod{}, open: map[string]departure{}}
	last := taken.Cluster.Status.LastDeparture
	switch {
	case last.IsZero():
	case now.Sub(last.Time) < believed:
		d.open[""] = departure{at: now}
	default:
		d.open[""] = departure{at: last.Time}
	}
	for _, claim := range taken.Cluster.Status.Claims {
		switch {
		case taken.Standing[claim.UID]:
			d.well[claim.UID] = wellPod{name: claim.Pod, restarts: unknown}
		case !progress.HasGone(claim, "") || last.Before(claim.StartedAt.Time):
			// It has gone, but nobody has noted when.
			d.open[claim.Pod] = departure{at: now, uid: claim.UID}
		}
	}
	return d
}

// look compares the pods with those of the last look, and reports whether any has gone since.
func (d *departures) look(now time.Time, pods []kube.Pod, state agents.State) bool {
	well := make(map[string]wellPod, len(pods))
	for i := range pods {
		p := &pods[i]
		if p.Phase == kube.Ready || p.Phase == kube.Started {
			well[string(p.UID)] = wellPod{name: p.Name, restarts: p.Restarts}
		}
	}
	any := false
	for uid, before := range d.well {
		if after, still := well[uid]; still && (after.restarts == before.restarts || before.restarts == unknown) {
			continue
		}
		any = true
		d.open[before.name] = departure{at: now, uid: uid, node: state.Reports[uid].Report.GetNode()}
	}
	d.well = well
	if any {
		d.barrier = now
	}
	d.forgetNoticed(pods, state)
	return any
}

// forgetNoticed forgets departures that the database is known to have noticed: all agents that have
// reported since say that the member is not live, or the pod is a live member again. If its name in
// the database is not known, no agent may count on a member that is not there.
func (d *departures) forgetNoticed(pods []kube.Pod, state agents.State) {
	for name, gone := range d.open {
		if back(name, gone, pods, state) || noticed(gone, state) || gone.node == "" && d.allPresent(gone, pods, state) {
			delete(d.open, name)
		}
	}
}

// allPresent reports whether every agent has reported since the departure, and since this
// coordinator leads, and each node that one of them considers live is that of a healthy pod.
func (d *departures) allPresent(gone departure, pods []kube.Pod, state agents.State) bool {
	var reports []*rollcallv1.Report
	var there []string
	for i := range pods {
		p := &pods[i]
		if p.Phase != kube.Ready && p.Phase != kube.Started {
			continue
		}
		r := state.Reports[string(p.UID)]
		if !r.At.After(latest(gone.at, d.began)) || r.Report.GetError() != "" || len(r.Report.GetNodes()) == 0 {
			return false
		}
		reports, there = append(reports, r.Report), append(there, strings.ToLower(r.Report.GetNode()))
	}
	for _, r := range reports {
		for _, node := range r.GetNodes() {
			if node.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE && !slices.Contains(there, strings.ToLower(node.GetName())) {
				return false
			}
		}
	}
	return len(reports) > 0
}

func back(name string, gone departure, pods []kube.Pod, state agents.State) bool {
	for i := range pods {
		if p := &pods[i]; p.Name == name && p.Phase == kube.Ready {
			r, ok := state.Reports[string(p.UID)]
			return ok && r.At.After(gone.at) && r.Report.GetMember() == rollcallv1.Membership_MEMBERSHIP_LIVE
		}
	}
	return false
}

func noticed(gone departure, state agents.State) bool {
	if gone.node == "" {
		return false
	}
	spoke := false
	for uid, r := range state.Reports {
		if uid == gone.uid || !r.At.After(gone.at) || r.Report.GetError() != "" || len(r.Report.GetNodes()) == 0 {
			continue
		}
		spoke = true
		for _, node := range r.Report.GetNodes() {
			if strings.EqualFold(node.GetName(), gone.node) && node.GetMember() != rollcallv1.Membership_MEMBERSHIP_NOT_LIVE {
				return false
			}
		}
	}
	return spoke
}

// heard reports whether an agent has reported since a departure that had not before.
func (d *departures) heard(was, is agents.State) bool {
	for _, gone := range d.open {
		since := latest(gone.at, d.began)
		for uid, r := range is.Reports {
			if r.At.After(since) && !was.Reports[uid].At.After(since) {
				return true
			}
		}
	}
	return false
}

// last returns when the last departure was that the database may not have noticed. It is zero if
// there is none.
func (d *departures) last() time.Time {
	var last time.Time
	for _, gone := range d.open {
		if gone.at.After(last) {
			last = gone.at
		}
	}
	return last
}

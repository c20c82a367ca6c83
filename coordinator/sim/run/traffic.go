package run

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// traffic is what happens to everything that is on its way.
type traffic struct {
	w *world
	// cut are ways that are closed: "from>to", with * for everybody.
	cut map[string]bool
	// lose is how many of a hundred requests or answers are lost, late how long
	// others may take, double how many reports come twice or once more later.
	lose, double int
	late         time.Duration
	// behind is added to the lag of watches.
	behind time.Duration
	old    []*rollcallv1.Report
	// altered is what becomes of a report on its way. It is nil if nothing.
	altered func(from string, r *rollcallv1.Report) *rollcallv1.Report
}

// closed reports whether there is a way.
func (t *traffic) closed(from, to string) bool {
	return len(t.cut) > 0 && (t.cut[from+">"+to] || t.cut["*>"+to] || t.cut[from+">*"])
}

func (w *world) blocked(from, to string) bool {
	return w.dead(from) || w.closed(from, to) || w.lose > 0 && w.loop.Chance(w.lose)
}

// dead reports whether nothing new is sent by a process that has crashed.
func (w *world) dead(who string) bool {
	for _, p := range w.processes {
		if p.name == who {
			return p.dead
		}
	}
	return false
}

func (w *world) slow(from, to string) time.Duration {
	if w.late == 0 || !w.loop.Chance(20) {
		return 0
	}
	return w.loop.Between(0, w.late)
}

// lag of a process's watch.
func (w *world) lag() time.Duration {
	return w.loop.Between(time.Millisecond, w.scenario.Lag) + w.loop.Between(0, w.behind)
}

// Carry is the way of requests to the API server: see api.Way.
func (w *world) Carry(user, _ string, serve, back func()) {
	if w.blocked(user, "api") {
		return
	}
	w.loop.In(w.loop.Between(200*time.Microsecond, w.scenario.Trip)+w.slow(user, "api"), func() {
		serve()
		if w.closed("api", user) || w.lose > 0 && w.loop.Chance(w.lose) {
			return
		}
		w.loop.In(w.loop.Between(200*time.Microsecond, w.scenario.Trip)+w.slow("api", user), back)
	})
}

// reach is the way of a process to the database of the pod that has an address, which asks
// for no credentials. Without a pod there, or a way, nothing is answered.
func (p *process) reach(ctx context.Context, _ model.Spec, ip string) (engines.Engine, error) {
	w, key := p.w, p.name+" reaches "+ip
	var shared *clock.Served[engines.Engine]
	err := w.loop.Call(ctx, key, func(answered func()) {
		var first bool
		shared, first = clock.Twin[engines.Engine](w.loop, key)
		if shared.Wait(answered); !first {
			return
		}
		pods := w.pods()
		at := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Status.PodIP == ip })
		if at < 0 {
			return
		}
		pod := pods[at].Name
		w.loop.Log(p.name, "asks the database of %s itself", pod)
		w.hub.Carry(p.name, pod, func() {
			w.hub.Carry(pod, p.name, func() {
				shared.Response = w.db.Engine(pod)
				if !w.db.Up(pod) {
					shared.Err = errors.New("connection refused")
				}
				shared.Tell()
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return shared.Response, shared.Err
}

// tamper sends reports twice, and old ones again.
func (w *world) tamper(_, pod string, r *rollcallv1.Report) []*rollcallv1.Report {
	if w.altered != nil {
		r = w.altered(pod, r)
	}
	out := []*rollcallv1.Report{r}
	if w.double == 0 {
		return out
	}
	w.old = append(w.old, r)
	if len(w.old) > 20 {
		w.old = w.old[1:]
	}
	if w.loop.Chance(w.double) {
		out = append(out, r)
	}
	if w.loop.Chance(w.double) {
		old := w.old[w.loop.Rand.IntN(len(w.old))]
		if old.GetIdentity().GetPodUid() == r.GetIdentity().GetPodUid() {
			out = append(out, old)
		}
	}
	return out
}

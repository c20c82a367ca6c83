package naive

import (
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Section "Versions", "all go at once".

// crosses reports whether in an outage, under sameMinor, an outdated pod that brings an update
// comes back with a version that does not talk to everything that runs, unless the oldest version
// that runs in its pool is this very one.
func (w *world) crosses(c *candidate) bool {
	to, ok := parse(w.pool(c.Pod).Version)
	here, anywhere := w.running(c.Pool), w.running("")
	if !ok || !w.outage() || !w.s.Cluster.Engine.SameMinor || !w.outdated(c.Pod) || w.bringsNoUpdate(c) {
		return false
	}
	return !(len(here) > 0 && here[0] == to) &&
		slices.ContainsFunc(anywhere, func(v version) bool { return otherMinor(to, v) })
}

// lookBehind notes whether any pod would not go along, while none of those that would is claimed,
// and which of them something else holds.
func (w *world) lookBehind() {
	var cross []*candidate
	for _, c := range w.order {
		if w.crosses(c) {
			cross = append(cross, c)
		}
	}
	if len(cross) == 0 || slices.ContainsFunc(cross, func(c *candidate) bool { return w.claimed(c.Pod) }) {
		return
	}
	to, _ := parse(w.firstPool(cross).Version)
	trial := newWorld(w.s)
	trial.order = trial.candidates()
	held := map[string]bool{}
	for c := range trial.askAll() {
		held[c.Name] = true
	}
	for _, p := range w.pods {
		if !runs(p) || p.Phase == model.PodPhaseTerminating || w.nodeGone(p) {
			continue
		}
		i := slices.IndexFunc(cross, func(c *candidate) bool { return c.Pod == p })
		if i >= 0 {
			next, _ := parse(w.pool(p).Version)
			staysHeld := held[p.Name] && !w.outageBegun()
			w.staysByTemplate = w.staysByTemplate || !held[p.Name] && otherMinor(next, to)
			w.anyBehind = w.anyBehind || staysHeld || !held[p.Name] && otherMinor(next, to)
			if staysHeld {
				w.heldBehind = append(w.heldBehind, p)
			}
			continue
		}
		if !w.live(p) || w.outdated(p) || w.goesForGood(p) || report(p) == nil {
			continue
		}
		if v, ok := parse(report(p).EngineVersion); ok && otherMinor(v, to) {
			w.anyBehind, w.staysByTemplate = true, true
		}
	}
}

// firstPool of the snapshot with such a pod.
func (w *world) firstPool(cross []*candidate) *model.Pool {
	for i := range w.s.Pools {
		if slices.ContainsFunc(cross, func(c *candidate) bool { return c.Pool == w.s.Pools[i].Name }) {
			return &w.s.Pools[i]
		}
	}
	return nil
}

// notAllAtOnce holds the pods that would go along while others would not. A pod that something else
// holds keeps that hold.
func (w *world) notAllAtOnce(c *candidate) bool {
	return w.anyBehind && w.crosses(c) && (w.early != nil || !slices.Contains(w.heldBehind, c.Pod))
}

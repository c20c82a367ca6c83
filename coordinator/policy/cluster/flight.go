package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Flights are the pods that are being emptied: marked to be replaced or removed, whatever the
// cause, and not yet excluded. The pods that a pass chooses to replace are added.
type Flights struct {
	Pods  []*Pod // in canonical order, then as chosen
	Zones ZoneSet
}

// NewFlights lists the pods that are being emptied before a pass.
func NewFlights(x *Index) *Flights {
	f := &Flights{}
	for i := range x.Pods {
		if p := &x.Pods[i]; x.inFlight(p) {
			f.Add(p)
		}
	}
	for _, p := range x.claimedUnseen() {
		if c := p.Claim; (c.Action == model.ActionReplace || c.Action == model.ActionRemove) && !isEmptied(c) {
			f.Add(p)
		}
	}
	return f
}

// Add charges a pod.
func (f *Flights) Add(p *Pod) {
	f.Pods = append(f.Pods, p)
	f.Zones.Add(p)
}

// inFlight reports whether data is still to be moved off the pod. Scale-downs count, so they leave
// less room for replacements. In a pool that is shut down nothing moves.
func (x *Index) inFlight(p *Pod) bool {
	marked := x.IsMarked(p)
	if p.Removal.Excluded || p.OwnPool.Shutdown || !marked && (p.Phase == model.PodPhaseMissing || !GoesForGood(p)) {
		return false
	}
	c := p.Claim
	acted := c != nil && (p.Phase == model.PodPhaseMissing || c.UID == p.UID) && (c.Action == model.ActionReplace || c.Action == model.ActionRemove)
	return !acted || !isEmptied(c)
}

// isEmptied reports whether the evacuation was acknowledged.
func isEmptied(c *model.Claim) bool {
	switch c.Phase {
	case model.PhaseDrained, model.PhaseEmptied, model.PhaseOpened, model.PhaseGone:
		return true
	}
	return c.EmptiedAt != nil
}

// Unblocks names a pod that would make room when it is done.
func (f *Flights) Unblocks() string {
	if len(f.Pods) == 0 {
		return "a higher limit"
	}
	return f.Pods[0].Name + " excluded"
}

// Text lists the pods in flight, at most a few of them.
func (f *Flights) Text() string {
	return FirstFew(f.Pods, func(p *Pod) string { return p.Name })
}

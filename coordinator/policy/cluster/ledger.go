package cluster

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Ledger is how much may be unavailable, what is, and what a pass has added.
type Ledger struct {
	most        int          // pods that may be unavailable
	units       map[Unit]int // desired pods of each
	Limit       int          // the same, or a whole unit if that is more
	Unavailable []*Pod       // in canonical order, before the pass
	Claimed     int
	Serving     int    // those of Unavailable that still serve and are not chosen
	Chosen      []*Pod // what the pass has added
	ByHand      int    // claimed or chosen, in the snapshot or not
	text        string // of UnavailableText, empty when it must be made again
	ZoneLimit   int
	Zones       ZoneSet // with an unavailable pod
	HandZones   ZoneSet // with a pod claimed or chosen
}

// NewLedger counts what is unavailable before a pass.
func NewLedger(x *Index) *Ledger {
	b := &Ledger{units: x.unitSizes()}
	b.most, _ = x.Spec.Policy.MaxUnavailable.Resolve(x.Desired)
	b.Limit = b.most
	for _, size := range b.units {
		b.Limit = max(b.Limit, size)
	}
	if x.OneByOne {
		b.most, b.Limit = 1, 1 // nobody can say what a second pod would make unavailable
	}
	known := map[string]bool{}
	for i := range x.Pods {
		p := &x.Pods[i]
		if p.OwnZone != "" {
			known[p.OwnZone] = true
		}
		if p.Claim != nil {
			b.Claimed++
			b.HandZones.Add(p)
		}
		if p.Unavailable {
			b.Unavailable = append(b.Unavailable, p)
			b.Serving += Count(p.Serves)
			b.Zones.Add(p)
		}
	}
	for _, p := range x.claimedUnseen() {
		p.OwnUnit = x.unitOf(p)
		b.Claimed++
		b.HandZones.Add(p)
		b.Unavailable = append(b.Unavailable, p)
		b.Zones.Add(p)
	}
	b.ByHand = b.Claimed
	if q := x.Spec.Policy.MaxZonesUnavailable; q != nil {
		b.ZoneLimit, _ = q.Resolve(len(known))
	}
	return b
}

// Unseen is the place of a pod that the snapshot does not have.
const Unseen = -1

// claimedUnseen returns pods for claims whose pods the snapshot does not have. What was claimed
// stays charged until the claim is released.
func (x *Index) claimedUnseen() []*Pod {
	var list []*Pod
	for name, c := range x.Claims {
		if _, seen := x.ByName[name]; !seen {
			list = append(list, &Pod{
				Pod: &model.Pod{Name: name, Phase: model.PodPhaseMissing}, At: Unseen, Claim: c, OwnZone: c.Zone, Unavailable: true, UnavailableReason: ClaimedHow(c),
			})
		}
	}
	slices.SortFunc(list, func(a, b *Pod) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Choose charges a pod that a pass has chosen. A pod that is unavailable already costs nothing
// more.
func (b *Ledger) Choose(p *Pod) {
	b.ByHand += Count(p.Claim == nil) // a broken recreated pod is counted by its claim
	b.HandZones.Add(p)
	if p.Unavailable {
		b.Serving -= Count(p.Serves)
		return
	}
	b.Chosen = append(b.Chosen, p)
	b.text = ""
	b.Zones.Add(p)
}

// LimitFor returns how many may be unavailable together with the pod: a whole unit only if no other
// pod is.
func (b *Ledger) LimitFor(p *Pod) int {
	size := b.units[p.OwnUnit]
	if size <= b.most || b.Limit <= b.most {
		return b.most
	}
	for _, list := range [][]*Pod{b.Unavailable, b.Chosen} {
		if slices.ContainsFunc(list, func(o *Pod) bool { return o.OwnUnit != p.OwnUnit }) {
			return b.most
		}
	}
	return size
}

// Used returns how many pods are unavailable or chosen.
func (b *Ledger) Used() int { return len(b.Unavailable) + len(b.Chosen) }

// Unblocks names a pod whose return would make room.
func (b *Ledger) Unblocks() string {
	switch {
	case len(b.Unavailable) > 0:
		return OrAdvice(b.Unavailable[0].Name+" back", b.Unavailable[0])
	case len(b.Chosen) > 0:
		return b.Chosen[0].Name + " back"
	}
	return "a higher limit"
}

// UnavailableText lists the pods that are unavailable or chosen, at most a few of them.
func (b *Ledger) UnavailableText() string {
	if b.text == "" {
		b.text = b.listUnavailable()
	}
	return b.text
}

func (b *Ledger) listUnavailable() string {
	const most = 3
	var names []string
	for _, p := range b.Unavailable[:min(most, len(b.Unavailable))] {
		names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.UnavailableReason))
	}
	for _, p := range b.Chosen[:min(most-len(names), len(b.Chosen))] {
		names = append(names, p.Name+" (chosen)")
	}
	return fewOf(names, b.Used())
}

// Budget returns the budget for a plan.
func (b *Ledger) Budget() model.Budget {
	return model.Budget{
		Pods:  model.PodBudget{Limit: b.Limit, Away: len(b.Unavailable), Claimed: b.Claimed, Room: b.Limit - len(b.Unavailable)},
		Zones: model.ZoneBudget{Limit: b.ZoneLimit, Away: b.Zones.Number()},
	}
}

package cluster

import "github.com/rollcall-dev/rollcall/coordinator/model"

// Unit says which pods go together. Unknown pods go alone.
type Unit struct{ zone, narrowed string }

// Name is common to the steps of one unit: the annotation that narrows a zone, or the zone itself.
func (k Unit) Name() string {
	if k.narrowed != "" {
		return k.narrowed
	}
	return k.zone
}

// allPods is the unit of an announced outage.
var allPods = Unit{narrowed: string(model.UnitAll)}

// unitOf returns the unit of a pod. It is empty if the pod goes alone.
func (x *Index) unitOf(p *Pod) Unit {
	switch x.Spec.Policy.Unit {
	case model.UnitZone:
		if p.OwnZone == "" {
			return Unit{}
		}
		return Unit{zone: p.OwnZone, narrowed: p.Unit}
	case model.UnitAll:
		return allPods
	}
	return Unit{}
}

// ByUnit reports whether pods go by units of more than one.
func (x *Index) ByUnit() bool { return x.Spec.Policy.Unit != model.UnitPod }

// Outage reports whether everything goes at once, because a person announced and approved it.
func (x *Index) Outage() bool { return x.Spec.Policy.Unit == model.UnitAll }

// unitSizes returns the numbers of desired pods of the units. That many pods of one unit may be
// unavailable, or no unit could ever go.
func (x *Index) unitSizes() map[Unit]int {
	if !x.ByUnit() {
		return nil
	}
	sizes := map[Unit]int{}
	for i := range x.Pods {
		if p := &x.Pods[i]; p.Desired && p.OwnUnit != (Unit{}) {
			sizes[p.OwnUnit]++
		}
	}
	return sizes
}

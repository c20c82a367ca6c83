package naive

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Verdict is the page's decision on a snapshot.
type Verdict struct {
	Phase  model.ClusterPhase
	Budget model.Budget
	Order  []string
	// Steps without notes.
	Steps []model.Step
	// Holds with the rule and the group, and no words; those of the whole cluster first.
	Holds []model.Hold
	// Lines without words.
	Lines []model.Line
}

// world is one snapshot, and what has been decided of it so far.
type world struct {
	s    *model.Snapshot
	spec model.Spec
	pods []*model.Pod
	// adopting is true while pods are adopted in place, assumed if something unknown counts as good.
	adopting, assumed bool
	// barrier is the pod that is rechecked after its drain.
	barrier string

	order  []*candidate
	chosen []*candidate
	asked  map[*candidate]bool
	// batch is the unit that is asked about together now.
	batch []*candidate
	// corrected is the pod below the partition with whose correction the current pods go.
	corrected *model.Pod
	// early is asked about before its turn.
	early *candidate
	// tried are the pools in which a correction below the partition was tried.
	tried map[string]bool
	// anyBehind is true if some pod would not go along in an outage in which all must go.
	// heldBehind are those of them that something else holds.
	anyBehind  bool
	heldBehind []*model.Pod
	// staysByTemplate is true if some pod would stay behind for another reason than being held.
	staysByTemplate bool
	// heldByPartition are those that the last rule held.
	heldByPartition map[*candidate]bool
}

func newWorld(s *model.Snapshot) *world {
	w := &world{
		s: s, spec: s.Cluster.SpecWithDefaults(), pods: inOrder(s),
		asked: map[*candidate]bool{}, tried: map[string]bool{}, heldByPartition: map[*candidate]bool{},
	}
	w.standIn()
	return w
}

// Decide is the plan for a snapshot.
func Decide(s model.Snapshot) Verdict {
	w := newWorld(&s)
	v := Verdict{Budget: w.budget(), Order: []string{}}
	if !w.twoAreOne() {
		w.order = w.candidates()
		if !w.makesNoSense() {
			v.Steps = w.restores()
		}
	}
	holds := w.wholeHolds()
	w.lookBehind()
	podHolds := w.askAll()
	early := w.beforeItsTurn()
	delete(podHolds, early)
	for _, c := range w.order {
		v.Order = append(v.Order, c.Name)
		if hold, held := podHolds[c]; held {
			holds = append(holds, hold)
		}
	}
	for _, c := range w.chosen {
		step := w.step(c)
		step.BeforeTurn = c == early
		v.Steps = append(v.Steps, step)
	}
	v.Holds = holds
	v.Lines = w.partitions()
	v.Phase = w.phase(&v)
	return v
}

// askAll asks about every pod once, unit by unit, and returns the holds.
func (w *world) askAll() map[*candidate]model.Hold {
	holds := map[*candidate]model.Hold{}
	for _, c := range w.order {
		if w.asked[c] || w.correctBelowPartition(c) {
			continue
		}
		maps.Copy(holds, w.ask(w.together(c)))
	}
	return holds
}

// ask asks about each pod of a unit: it passes all rules and is chosen at once, or is held for
// itself.
func (w *world) ask(batch []*candidate) map[*candidate]model.Hold {
	holds := map[*candidate]model.Hold{}
	w.batch = batch
	for _, c := range batch {
		w.asked[c] = true
		if rule, group, held := w.firstHold(c); held {
			holds[c] = model.Hold{Pod: c.Name, Rule: rule, Group: group}
		} else {
			w.chosen = append(w.chosen, c)
		}
	}
	w.batch = nil
	return holds
}

// isChosen reports whether the plan takes it.
func (w *world) isChosen(p *model.Pod) bool { return find(w.chosen, p) != nil }

// awayOrChosen reports whether the pod is unavailable or chosen. A pod that passes all rules is
// chosen at once, and those after it are asked about with it unavailable.
func (w *world) awayOrChosen(p *model.Pod) bool { return w.away(p) || w.isChosen(p) }

func (w *world) step(c *candidate) model.Step {
	return model.Step{
		Pod: c.Name, UID: c.UID, Unit: w.unitName(c.Pod), Action: c.action, Prepare: c.prepare,
		Reason: c.reason, OutsideBudget: c.outside, Partition: c.target,
	}
}

// unitName returns the pod's unit or its zone, or All. It is empty with unit Pod.
func (w *world) unitName(p *model.Pod) string {
	switch w.unit() {
	case model.UnitAll:
		return string(model.UnitAll)
	case model.UnitZone:
		if zone := w.zone(p); zone == "" || p.Unit == "" {
			return zone
		}
		return p.Unit
	}
	return ""
}

// overridden reports whether an override switches the rule off for the pods that it names, until it
// expires. One of sole-copy, quorum, acks or node-gone that has "*" is void.
func (w *world) overridden(rule model.Rule, pod string) bool {
	return slices.ContainsFunc(w.spec.Overrides, func(o model.Override) bool {
		everybody := slices.Contains(o.Pods, "*")
		switch {
		case o.Rule != rule || !w.now().Before(o.Expires.Time):
			return false
		case everybody:
			return rule != model.RuleSoleCopy && rule != model.RuleQuorum && rule != model.RuleAcks && rule != model.RuleNodeGone
		}
		return slices.Contains(o.Pods, pod)
	})
}

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// everyPod stands for all pods in an override.
const everyPod = "*"

// cannotBeOverridden: nobody can answer for an input that makes no sense, and
// a pod that is on its way is on its way.
var cannotBeOverridden = map[Rule]bool{BadInput: true, Claimed: true, OnItsWay: true}

// needsNames: whoever gives up a copy or a quorum, or vouches for a machine being
// off, says whose.
var needsNames = map[Rule]bool{SoleCopy: true, QuorumLost: true, AcksLost: true, OnDeadNode: true}

// Flaw is what is wrong with a field.
// +kubebuilder:object:generate=false
type Flaw struct{ Field, What string }

// Flaws are what is wrong with an override. One that has expired switches nothing
// off, so what it names need not make sense any more.
func (o *Override) Flaws(now time.Time) []Flaw {
	var flaws []Flaw
	over := !o.Expires.IsZero() && !o.Expires.After(now)
	switch {
	case over:
	case !slices.Contains(Rules(), o.Rule):
		flaws = append(flaws, Flaw{"rule", fmt.Sprintf("is %q: no rule has this name", o.Rule)})
	case cannotBeOverridden[o.Rule]:
		flaws = append(flaws, Flaw{"rule", fmt.Sprintf("is %s, which cannot be overridden", o.Rule)})
	}
	if len(o.Pods) == 0 {
		flaws = append(flaws, Flaw{"pods", "is empty: names of pods or \"*\" are wanted"})
	}
	if !over && needsNames[o.Rule] && slices.Contains(o.Pods, everyPod) {
		flaws = append(flaws, Flaw{"pods", fmt.Sprintf("is \"*\", which the rule %s refuses: names of pods are wanted", o.Rule)})
	}
	if strings.TrimSpace(o.Reason) == "" {
		flaws = append(flaws, Flaw{"reason", "is empty: say why the rule is switched off"})
	}
	if o.Expires.IsZero() {
		flaws = append(flaws, Flaw{"expires", "is missing: the time at which the rule holds again is wanted"})
	}
	return flaws
}

// Overridable are the rules that an override can switch off, in their order.
func Overridable() []Rule {
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return cannotBeOverridden[r] })
}

// overrides answers which rules are switched off for which pods.
type overrides map[Rule][]*Override

func activeOverrides(list []Override, now time.Time) overrides {
	active := overrides{}
	for i := range list {
		o := &list[i]
		if cannotBeOverridden[o.Rule] || !o.Expires.After(now) {
			continue
		}
		if needsNames[o.Rule] && slices.Contains(o.Pods, everyPod) {
			continue
		}
		active[o.Rule] = append(active[o.Rule], o)
	}
	return active
}

// of returns the override of a rule for a pod, or nil. The pod "" asks for an
// override that is meant for every pod.
func (o overrides) of(rule Rule, pod string) *Override {
	for _, candidate := range o[rule] {
		if slices.Contains(candidate.Pods, everyPod) || pod != "" && slices.Contains(candidate.Pods, pod) {
			return candidate
		}
	}
	return nil
}

func (o *Override) note() string {
	return fmt.Sprintf("override of %s until %s: %s", o.Rule, o.Expires.UTC().Format(time.RFC3339), o.Reason)
}

package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Override switches off one rule for named pods until it expires.
type Override struct {
	// rule is the name of the rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Rule Rule `json:"rule"`
	// pods are names of pods, or "*" for all. The rules sole-copy, quorum and acks need names.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +listType=set
	// +kubebuilder:validation:items:MaxLength=253
	Pods []string `json:"pods"`
	// reason is why, for those who read it later.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`
	// expires is when the rule holds again.
	Expires Time `json:"expires"`
}

// everyPod in an override means all pods.
const everyPod = "*"

// cannotBeOverridden are the rules that no override switches off: invalid input is not
// decided on, and a pod that is already going cannot be held or let go.
var cannotBeOverridden = map[Rule]bool{RuleBadInput: true, RuleClaimed: true, RuleTerminating: true}

// needNames are the rules whose overrides must name pods: they give up a copy or a quorum,
// or vouch for a machine being off.
var needNames = map[Rule]bool{RuleSoleCopy: true, RuleQuorum: true, RuleAcks: true, RuleNodeGone: true}

// Flaw is what is wrong with a field.
// +kubebuilder:object:generate=false
type Flaw struct{ Field, What string }

// Flaws returns what is wrong with an override. An expired override switches nothing off,
// so its rule is not checked.
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
		flaws = append(flaws, Flaw{"pods", "is empty: must be names of pods or \"*\""})
	}
	if !over && needNames[o.Rule] && slices.Contains(o.Pods, everyPod) {
		flaws = append(flaws, Flaw{"pods", fmt.Sprintf("is \"*\", which the rule %s refuses: must be names of pods", o.Rule)})
	}
	if strings.TrimSpace(o.Reason) == "" {
		flaws = append(flaws, Flaw{"reason", "is empty: say why the rule is switched off"})
	}
	if o.Expires.IsZero() {
		flaws = append(flaws, Flaw{"expires", "is missing: must be the time at which the rule holds again"})
	}
	return flaws
}

// Overridable returns the rules that an override can switch off, in order.
func Overridable() []Rule {
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return cannotBeOverridden[r] })
}

// InForce reports whether the override is valid and has not expired.
func (o *Override) InForce(now time.Time) bool {
	return o.Expires.After(now) && !cannotBeOverridden[o.Rule] && !(needNames[o.Rule] && slices.Contains(o.Pods, everyPod))
}

// Covers reports whether the override applies to the pod; with "", whether it applies to
// every pod.
func (o *Override) Covers(pod string) bool {
	return slices.Contains(o.Pods, everyPod) || pod != "" && slices.Contains(o.Pods, pod)
}

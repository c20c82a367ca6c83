package policy

import (
	"fmt"
	"slices"
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

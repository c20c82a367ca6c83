package cluster

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// failsAfterDetection are the conditions to which failureDetectionSeconds applies.
var failsAfterDetection = map[string]bool{
	model.ConditionMissingProcesses: true, model.ConditionPodFailing: true, model.ConditionMissingPod: true, model.ConditionMissingPVC: true, model.ConditionMissingService: true, model.ConditionPodPending: true,
	model.ConditionProcessIsMarkedAsExcluded: true,
}

// Failure is a condition that has lasted for too long.
type Failure struct {
	Condition string
	Since     time.Time
	due       time.Time
}

// IsMarked reports whether it is recorded that this very pod is replaced.
func (x *Index) IsMarked(p *Pod) bool {
	if p.Removal.Marked != nil {
		return true
	}
	c := p.Claim
	if c == nil && x.OwnClaim != nil && x.OwnClaim.Pod == p.Name {
		c = x.OwnClaim
	}
	return c != nil && c.Action == model.ActionReplace && c.UID != "" && c.UID == p.UID
}

// RolledByReplacement reports whether the update strategy replaces this outdated pod. A pod that a
// person handed to its controller by force is restarted by that.
func (x *Index) RolledByReplacement(p *Pod) bool {
	if p.OwnPool.Force && p.OwnPool.Strategy == model.StrategyRollingUpdate {
		return false
	}
	switch x.Spec.Replacement.UpdateStrategy {
	case model.UpdateReplace:
		return IsOutdated(p)
	case model.UpdateReplaceTransactionSystem:
		return IsOutdated(p) && x.isTransactional(p.OwnReport)
	}
	return false
}

// isTransactional reports whether the pod is known by its roles to keep none of the database's
// data. It returns false for a pod whose roles are not known.
func (x *Index) isTransactional(r *model.Report) bool {
	return r != nil && len(r.Roles) > 0 &&
		!slices.ContainsFunc(r.Roles, func(role string) bool { return slices.Contains(x.Snapshot.Cluster.Engine.DataRoles, role) })
}

// Failing returns the condition that has been too old for the longest time. It notes when the next
// one will be.
func (x *Index) Failing(p *Pod) Failure {
	var worst Failure
	consider := func(condition string, since time.Time, patience int64) {
		f := Failure{Condition: condition, Since: since, due: since.Add(Span(patience))}
		switch {
		case !x.Now.After(f.due): // strictly older than that
			if next := f.due.Add(time.Nanosecond); x.ReplaceAt.IsZero() || next.Before(x.ReplaceAt) {
				x.ReplaceAt = next
			}
		case worst.Condition == "" || f.due.Before(worst.due) || f.due.Equal(worst.due) && f.Condition < worst.Condition:
			worst = f
		}
	}
	for _, c := range p.Conditions {
		if failsAfterDetection[c.Type] && !c.Since.IsZero() {
			consider(c.Type, c.Since.Time, x.Spec.Replacement.FailureDetectionSeconds)
		}
	}
	if since := x.taintedSince(p); !since.IsZero() {
		consider(model.ConditionNodeTaintReplacing, since, x.Spec.Replacement.TaintReplacementSeconds)
	}
	return worst
}

// taintedSince returns when the pod's node had been tainted for as long as the taint's option asks,
// or zero. A recorded condition is more precise than the taints, but does not count once no taint
// of the node has an option any more.
func (x *Index) taintedSince(p *Pod) time.Time {
	recorded := conditionSince(p, model.ConditionNodeTaintReplacing, "")
	n := x.nodes[p.Node]
	if n == nil || p.Node == "" {
		return recorded
	}
	var first time.Time
	matched := false
	for _, taint := range n.Taints {
		duration, ok := x.taintDuration(taint.Key, slices.Contains(p.Tolerates, taint.Key))
		if !ok {
			continue
		}
		matched = true
		since := taint.Since.Time
		if seen := conditionSince(p, model.ConditionNodeTaintDetected, taint.Key); seen.After(since) {
			since = seen // a newer pod has not been under it for longer
		}
		if since.IsZero() || duration > model.MaxSeconds {
			continue // not known, or a key that was exempted
		}
		if at := since.Add(Span(duration)); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if matched && !recorded.IsZero() {
		return recorded
	}
	return first
}

// taintDuration returns how long a taint must last: what its own key says, or else what "*" says.
// That does not apply to taints that a pod tolerates: it would come back under them, and go again,
// without end.
func (x *Index) taintDuration(key string, tolerated bool) (seconds int64, ok bool) {
	for _, option := range x.Spec.Replacement.Taints {
		switch {
		case option.DurationSeconds == nil: // switched off
		case option.Key == key:
			return *option.DurationSeconds, true
		case option.Key == everyTaint && !tolerated:
			seconds, ok = *option.DurationSeconds, true
		}
	}
	return seconds, ok
}

// everyTaint stands for the keys that have no option of their own.
const everyTaint = "*"

// conditionSince returns when a condition began, the earliest time if it is there twice, or zero.
func conditionSince(p *Pod, kind, key string) time.Time {
	var since time.Time
	for _, c := range p.Conditions {
		if c.Type == kind && c.Key == key && !c.Since.IsZero() && (since.IsZero() || c.Since.Before(since)) {
			since = c.Since.Time
		}
	}
	return since
}

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// failsAfterDetection are those that failureDetectionSeconds are about.
var failsAfterDetection = map[string]bool{
	model.MissingProcesses: true, model.PodFailing: true, model.MissingPod: true, model.MissingPVC: true, model.MissingService: true, model.PodPending: true,
	model.ProcessIsMarkedAsExcluded: true,
}

// replacement is why a pod is to be replaced: emptied, deleted together with
// its volume, and made anew under its name. The zero value: it is not.
type replacement struct {
	marked bool // by a person, or by the claim that replaces it
	forced bool // by a change that only a replacement brings
	failed failure
}

// failure is a condition that has stood for too long.
type failure struct {
	condition string
	since     time.Time
	due       time.Time
}

func (r *replacement) wanted() bool { return r.marked || r.forced || r.failed.condition != "" }

// forUpdate: it brings nothing but the update, and so obeys what updates obey.
func (r *replacement) forUpdate() bool { return r.forced && r.failed.condition == "" }

// whyReplace asks all that can make a pod one to be replaced. A pod that is
// marked already stays so, whatever has become of the reason.
//
// An outdated pod that is broken and takes nothing away is restarted rather
// than replaced, unless only a replacement brings what changed: a correction
// waits for no limit, and gives no volume up.
func (x *index) whyReplace(p *pod) replacement {
	if x.isMarked(p) {
		return replacement{marked: true}
	}
	why := replacement{forced: p.Phase != model.Missing && len(p.MustReplace) > 0}
	byStrategy := x.rolledByReplacement(p)
	if r := &x.spec.Replacement; r.Enabled && *r.MaxConcurrentFailed > 0 && !p.Exempt {
		why.failed = x.failing(p)
	}
	if (byStrategy || why.failed.condition != "") && x.isCorrected(p) {
		why.failed = failure{}
		return why
	}
	why.forced = why.forced || byStrategy
	return why
}

// isCorrected: it is broken, takes nothing away, and a restart brings another
// template.
func (x *index) isCorrected(p *pod) bool {
	why := x.whyBroken(p)
	if why == "" || !isOutdated(p) {
		return false
	}
	c := candidate{pod: p, reason: model.ReasonOutdated}
	x.chooseAction(&c)
	return x.nothingLost(&c, why)
}

// isMarked: somebody wrote down that this very pod is replaced.
func (x *index) isMarked(p *pod) bool {
	if p.Removal.Marked != nil {
		return true
	}
	c := p.claim
	if c == nil && x.own != nil && x.own.Pod == p.Name {
		c = x.own
	}
	return c != nil && c.Action == model.Replace && c.UID != "" && c.UID == p.UID
}

// goesForGood: a scale-down or a removal takes it, and nothing comes back.
func goesForGood(p *pod) bool { return p.Remove || !p.desired || scaledAway(p) }

// rolledByReplacement: the update strategy has this outdated pod replaced. One
// that a person handed to its controller by force is restarted by that.
func (x *index) rolledByReplacement(p *pod) bool {
	if p.pool.Force && p.pool.Strategy == model.RollingUpdateStrategy {
		return false
	}
	switch x.spec.Replacement.UpdateStrategy {
	case model.UpdateReplace:
		return isOutdated(p)
	case model.UpdateReplaceTransactionSystem:
		return isOutdated(p) && x.isTransactional(p.report)
	}
	return false
}

// isTransactional: it is known by its roles to keep none of the database's
// data. Of a pod of which no role is known, that is not known.
func (x *index) isTransactional(r *model.Report) bool {
	return r != nil && len(r.Roles) > 0 &&
		!slices.ContainsFunc(r.Roles, func(role string) bool { return slices.Contains(x.s.Cluster.Engine.DataRoles, role) })
}

// failing is the condition that has been too old for the longest time. It
// notes when the next one will be.
func (x *index) failing(p *pod) failure {
	var worst failure
	consider := func(condition string, since time.Time, patience int64) {
		f := failure{condition: condition, since: since, due: since.Add(span(patience))}
		switch {
		case !x.now.After(f.due): // strictly older than that
			if next := f.due.Add(time.Nanosecond); x.replaceAt.IsZero() || next.Before(x.replaceAt) {
				x.replaceAt = next
			}
		case worst.condition == "" || f.due.Before(worst.due) || f.due.Equal(worst.due) && f.condition < worst.condition:
			worst = f
		}
	}
	for _, c := range p.Conditions {
		if failsAfterDetection[c.Type] && !c.Since.IsZero() {
			consider(c.Type, c.Since.Time, x.spec.Replacement.FailureDetectionSeconds)
		}
	}
	if since := x.taintedSince(p); !since.IsZero() {
		consider(model.NodeTaintReplacing, since, x.spec.Replacement.TaintReplacementSeconds)
	}
	return worst
}

// taintedSince is when the pod's node had been tainted for as long as the
// taint's option asks, or zero. A recorded condition says it better than the
// taints, but is void once no taint of the node has an option any more.
func (x *index) taintedSince(p *pod) time.Time {
	recorded := conditionSince(p, model.NodeTaintReplacing, "")
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
		if seen := conditionSince(p, model.NodeTaintDetected, taint.Key); seen.After(since) {
			since = seen // a pod that came later has not been under it for longer
		}
		if since.IsZero() || duration > model.MaxSeconds {
			continue // not known, or a key that was exempted
		}
		if at := since.Add(span(duration)); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if matched && !recorded.IsZero() {
		return recorded
	}
	return first
}

// taintDuration is how long a taint must have stood: what its own key says, or
// else what "*" says. That one is not about taints that a pod tolerates: it would come
// back under them, and go again, without end.
func (x *index) taintDuration(key string, tolerated bool) (seconds int64, ok bool) {
	for _, option := range x.spec.Replacement.Taints {
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

// conditionSince is when a condition began, the earliest if it is there twice,
// or zero.
func conditionSince(p *pod, kind, key string) time.Time {
	var since time.Time
	for _, c := range p.Conditions {
		if c.Type == kind && c.Key == key && !c.Since.IsZero() && (since.IsZero() || c.Since.Before(since)) {
			since = c.Since.Time
		}
	}
	return since
}

// replaceText says why a candidate is replaced.
func (d *decision) replaceText(c *candidate) string {
	r := &c.replace
	switch {
	case r.marked:
		return "marked"
	case r.failed.condition != "":
		return fmt.Sprintf("%s for %s", r.failed.condition, seconds(d.x.now.Sub(r.failed.since)))
	case len(c.MustReplace) > 0:
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(c.MustReplace))), ", ") + " changed"
	}
	return "outdated, and replacement.updateStrategy is " + string(d.x.spec.Replacement.UpdateStrategy)
}

// Replacements names the pods that should be replaced, held or not, so that
// whoever cannot replace a pod can say so before it is decided.
func Replacements(s model.Snapshot) []string {
	if !mayReplace(&s) {
		return nil
	}
	x := newIndex(&s, "")
	var names []string
	for i := range x.pods {
		if p := &x.pods[i]; x.whyGo(p) == model.ReasonReplacement {
			names = append(names, p.Name)
		}
	}
	return names
}

// mayReplace answers quickly for nearly every snapshot that nobody is replaced.
func mayReplace(s *model.Snapshot) bool {
	r := s.Cluster.Spec.Replacement
	if r.Enabled || r.UpdateStrategy != "" && r.UpdateStrategy != model.UpdateDelete {
		return true
	}
	return slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Removal.Marked != nil || len(p.MustReplace) > 0 }) ||
		slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Action == model.Replace })
}

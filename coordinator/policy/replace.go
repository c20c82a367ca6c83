package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// replacement is why a pod is to be replaced: emptied, deleted together with its volume, and
// recreated under its name. The zero value means that it is not.
type replacement struct {
	marked bool // by a person, or by the claim that replaces it
	forced bool // by a change that only a replacement brings
	failed cluster.Failure
}

func (r *replacement) wanted() bool { return r.marked || r.forced || r.failed.Condition != "" }

// forUpdate reports whether the replacement only brings the update, and so obeys the rules for
// updates.
func (r *replacement) forUpdate() bool { return r.forced && r.failed.Condition == "" }

// replacementReason returns why a pod is to be replaced, from all possible causes. A pod that is
// marked already stays marked, whatever has become of the reason.
//
// An outdated pod that is broken and whose restart makes nothing unavailable is restarted rather
// than replaced, unless only a replacement brings the change: a correction waits for no limit, and
// gives up no volume.
func replacementReason(x *cluster.Index, p *cluster.Pod) replacement {
	if x.IsMarked(p) {
		return replacement{marked: true}
	}
	why := replacement{forced: p.Phase != model.PodPhaseMissing && len(p.MustReplace) > 0}
	byStrategy := x.RolledByReplacement(p)
	if r := &x.Spec.Replacement; r.Enabled && *r.MaxConcurrentFailed > 0 && !p.Exempt {
		why.failed = x.Failing(p)
	}
	if (byStrategy || why.failed.Condition != "") && isCorrected(x, p) {
		why.failed = cluster.Failure{}
		return why
	}
	why.forced = why.forced || byStrategy
	return why
}

// isCorrected reports whether the pod is broken, its restart makes nothing unavailable, and brings
// another template.
func isCorrected(x *cluster.Index, p *cluster.Pod) bool {
	why := x.FailureReason(p)
	if why == "" || !cluster.IsOutdated(p) {
		return false
	}
	c := candidate{Pod: p, reason: model.ReasonOutdated}
	chooseAction(x, &c)
	return nothingLost(x, &c, why)
}

// replaceText says why a candidate is replaced.
func (d *decision) replaceText(c *candidate) string {
	r := &c.replace
	switch {
	case r.marked:
		return "marked"
	case r.failed.Condition != "":
		return fmt.Sprintf("%s for %s", r.failed.Condition, seconds(d.x.Now.Sub(r.failed.Since)))
	case len(c.MustReplace) > 0:
		return strings.Join(slices.Compact(slices.Sorted(slices.Values(c.MustReplace))), ", ") + " changed"
	}
	return "outdated, and replacement.updateStrategy is " + string(d.x.Spec.Replacement.UpdateStrategy)
}

// Replacements returns the pods that should be replaced, held or not, so that a caller that cannot
// replace a pod can say so before the decision.
func Replacements(s model.Snapshot) []string {
	if !mayReplace(&s) {
		return nil
	}
	x := cluster.New(&s, "")
	var names []string
	for i := range x.Pods {
		if p := &x.Pods[i]; restartReason(x, p) == model.ReasonReplacement {
			names = append(names, p.Name)
		}
	}
	return names
}

// mayReplace returns false quickly for nearly every snapshot in which no pod is replaced.
func mayReplace(s *model.Snapshot) bool {
	r := s.Cluster.Spec.Replacement
	if r.Enabled || r.UpdateStrategy != "" && r.UpdateStrategy != model.UpdateDelete {
		return true
	}
	return slices.ContainsFunc(s.Pods, func(p model.Pod) bool { return p.Removal.Marked != nil || len(p.MustReplace) > 0 }) ||
		slices.ContainsFunc(s.Cluster.Status.Claims, func(c model.Claim) bool { return c.Action == model.ActionReplace })
}

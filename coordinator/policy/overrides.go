package policy

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// overrides are the overrides in force, by rule.
type overrides map[model.Rule][]*model.Override

func activeOverrides(list []model.Override, now time.Time) overrides {
	active := overrides{}
	for i := range list {
		if o := &list[i]; o.InForce(now) {
			active[o.Rule] = append(active[o.Rule], o)
		}
	}
	return active
}

// of returns the override of a rule for a pod, or nil. For an empty pod it returns one for every
// pod.
func (o overrides) of(rule model.Rule, pod string) *model.Override {
	for _, candidate := range o[rule] {
		if candidate.Covers(pod) {
			return candidate
		}
	}
	return nil
}

func overrideNote(o *model.Override) string {
	return fmt.Sprintf("override of %s until %s: %s", o.Rule, o.Expires.UTC().Format(time.RFC3339), o.Reason)
}

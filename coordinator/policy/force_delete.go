package policy

import (
	"cmp"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// Forbidden says why nothing may be removed at all. It returns an empty reason if it may.
func Forbidden(s *model.Snapshot) string {
	update := &s.Cluster.Spec.Update
	switch {
	case update.Paused || s.Cluster.Paused:
		return "everything is paused"
	case update.Mode == model.ModeObserve:
		return "update.mode is Observe"
	case len(model.Validate(s)) > 0:
		return "the input makes no sense"
	}
	return ""
}

// ForceDeletes returns the pods that are to be deleted without anybody knowing that their
// containers have ended: those that are terminating on a node that is gone, and that a person has
// named in an override of node-gone. They do not have to be candidates, and may be claimed. They
// count as unavailable.
func ForceDeletes(s model.Snapshot) []model.Pod {
	over := activeOverrides(s.Cluster.Spec.Overrides, s.Now.Time)
	if len(over[model.RuleNodeGone]) == 0 {
		return nil
	}
	x := cluster.New(&s, "")
	if Forbidden(&s) != "" {
		return nil
	}
	var list []model.Pod
	for i := range x.Pods {
		if p := &x.Pods[i]; x.StuckOnGoneNode(p) && p.UID != "" && over.of(model.RuleNodeGone, p.Name) != nil {
			list = append(list, *p.Pod)
		}
	}
	return list
}

func nameOr(name, otherwise string) string { return cmp.Or(name, otherwise) }

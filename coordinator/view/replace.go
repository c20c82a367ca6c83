package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// Changes that a restart on the same volume does not bring.
const (
	changedSelector  = "node selector"
	changedVolumes   = "volume claim templates"
	changedResources = "resources"
	changedSecurity  = "security context"
)

// mustReplace compares an outdated pod with its template. Volume claims are not part of a revision,
// so they are always compared. If a restart brings the change, the engine's pods are not replaced
// for it; but what a person requested by an option is, whatever the engine.
func (w *world) mustReplace(k *kube.Pod, pool *kube.Pool) []string {
	spec := &w.in.Kube.Cluster.Spec
	outdated := pool.Revision != "" && pool.Observed() && k.Revision != pool.Revision
	changed := []string{}
	if w.in.Replaced && k.Shape.Volumes != pool.Shape.Volumes {
		changed = append(changed, changedVolumes)
	}
	if !outdated {
		return changed
	}
	if w.in.Replaced && k.Shape.NodeSelector != pool.Shape.NodeSelector {
		changed = append(changed, changedSelector)
	}
	grew := pool.Shape.Requests.Grew(k.Shape.Requests) || pool.Shape.InitRequests.Grew(k.Shape.InitRequests)
	if spec.Replacement.OnResourceIncrease && grew {
		changed = append(changed, changedResources)
	}
	if spec.Replacement.OnSecurityContextChange && k.Shape.OtherOwner(pool.Shape) {
		changed = append(changed, changedSecurity)
	}
	return changed
}

// stuckEndingFor is for how long a pod may be ending before it counts as failing.
const stuckEndingFor = 5 * time.Minute

// conditions returns what is wrong with a pod that leads to its replacement, if that is enabled.
// Conditions that Kubernetes dates began then; for others it is recorded when they were first seen.
func (w *world) conditions(i int, q *model.Pod) []model.PodCondition {
	list := []model.PodCondition{}
	p := &w.pods[i]
	if !w.in.Kube.Cluster.Spec.Replacement.Enabled || !p.desired {
		return list
	}
	add := func(kind string, since time.Time) {
		if since.IsZero() {
			since = w.noticed(p.name, kind, "")
		}
		list = append(list, model.PodCondition{Type: kind, Since: model.At(since)})
	}
	k := p.kube
	if k == nil {
		add(model.ConditionMissingPod, time.Time{})
		return list
	}
	switch k.Phase {
	case kube.Pending, kube.NotStarted:
		add(model.ConditionPodPending, k.Created)
	case kube.Started, kube.Failed:
		add(model.ConditionPodFailing, k.Since)
	case kube.Terminating:
		if failing := k.Since.Add(stuckEndingFor); !w.in.Now.Before(failing) {
			add(model.ConditionPodFailing, failing)
		}
	}
	if k.NoVolume {
		add(model.ConditionMissingPVC, time.Time{})
	}
	if q.Report != nil && q.Report.Member == model.MembershipNotLive && (k.Phase == kube.Started || k.Phase == kube.Ready) {
		add(model.ConditionMissingProcesses, time.Time{})
	}
	if p.fresh && p.report.GetExcluded() && !w.claimed(p.name) {
		add(model.ConditionProcessIsMarkedAsExcluded, time.Time{})
	}
	for _, key := range w.taintsOf(k.Node) {
		list = append(list, model.PodCondition{Type: model.ConditionNodeTaintDetected, Key: key, Since: model.At(w.taintedSince(k, key))})
	}
	return list
}

// claimed reports whether Rollcall may be keeping data off the pod and has yet to undo that, or has
// removed it and waits for its return.
func (w *world) claimed(name string) bool {
	return slices.ContainsFunc(w.in.Kube.Cluster.Status.Claims, func(c model.Claim) bool { return c.Pod == name })
}

// taintsOf returns the keys of a node's taints for which there is an option, sorted. Each is
// tracked separately: when one began says nothing about another.
func (w *world) taintsOf(node string) []string {
	if node == "" {
		return nil
	}
	var keys []string
	for _, t := range w.in.Kube.Nodes[node].Taints {
		if slices.ContainsFunc(w.in.Kube.Cluster.Spec.Replacement.Taints, func(o model.ReplacementTaint) bool {
			return o.DurationSeconds != nil && (o.Key == t.Key || o.Key == "*")
		}) {
			keys = append(keys, t.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// taintedSince returns from when on the pod has been on a node with such a taint: since the taint
// was set, if Kubernetes notes that, or else since it was first seen; in neither case before the
// pod existed.
func (w *world) taintedSince(k *kube.Pod, key string) time.Time {
	first := w.in.Now
	for _, t := range w.in.Kube.Nodes[k.Node].Taints {
		if t.Key != key {
			continue
		}
		since := t.Since
		if since.IsZero() {
			since = w.noticed(k.Name, model.ConditionNodeTaintDetected, key)
		}
		if since.Before(first) {
			first = since
		}
	}
	if k.Created.After(first) {
		return k.Created
	}
	return first
}

// tolerated returns the keys of those taints of its node that a pod tolerates.
func (w *world) tolerated(k *kube.Pod) []string {
	var keys []string
	if k.Node == "" || k.Tolerations == "" {
		return nil
	}
	var not []string
	for _, t := range w.in.Kube.Nodes[k.Node].Taints {
		if k.Tolerates(t) {
			keys = append(keys, t.Key)
		} else {
			not = append(not, t.Key) // the same key can be there with several effects
		}
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(not, key) })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// noticed returns when a condition was first seen, by this coordinator or an earlier one.
func (w *world) noticed(pod, kind, key string) time.Time {
	first := w.in.Now
	for _, list := range [][]v1alpha1.PodCondition{w.in.Kube.Cluster.Status.PodConditions, w.in.Noticed} {
		for _, c := range list {
			if c.Pod == pod && c.Type == kind && c.Key == key && !c.Since.IsZero() && c.Since.Before(first) {
				first = c.Since.Time
			}
		}
	}
	return first
}

// removal reports whether somebody has marked the pod, or a claim says that nothing is left on it.
func (w *world) removal(k *kube.Pod) model.Removal {
	var r model.Removal
	if !k.Replace.IsZero() {
		at := model.At(k.Replace)
		r.Marked = &at
	}
	for i := range w.in.Kube.Cluster.Status.Claims {
		c := &w.in.Kube.Cluster.Status.Claims[i]
		r.Excluded = r.Excluded || c.UID == string(k.UID) && c.Action == model.ActionReplace && c.EmptiedAt != nil
	}
	return r
}

// Conditions returns the conditions of the pods of a snapshot that began before a time, as they are
// recorded.
func Conditions(s model.Snapshot, before time.Time) []v1alpha1.PodCondition {
	var list []v1alpha1.PodCondition
	for i := range s.Pods {
		for _, c := range s.Pods[i].Conditions {
			if !c.Since.After(before) {
				list = append(list, v1alpha1.PodCondition{Pod: s.Pods[i].Name, Type: c.Type, Key: c.Key, Since: c.Since})
			}
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.PodCondition) int {
		return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	return list[:min(len(list), v1alpha1.MaxPodConditions)]
}

package rollout

import (
	"maps"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/rollout/effect"
)

// Clients of a database with one primary may find it by a Service that selects pods by the label of
// their role. No two pods are ever labelled as the primary. What is not known changes no label.

// labels is what is known about the labels of roles beyond what the cache shows.
type labels struct {
	retry
	// written are the labels as the API server has shown them last, by UID, until the cache has them.
	written map[string]written
	// asked is the pod that is being labelled as the primary, or may be later, because that write
	// had no answer. It is empty if there is none.
	asked string
	// fenced is true if no earlier write can label a pod as the primary any more.
	fenced bool
}

type written struct{ role, resourceVersion string }

// unknownLabel is the label of a pod that may have any.
const unknownLabel = "?"

// label returns the label of a pod.
func (a *step) label(uid string) string {
	if uid == a.s.labels.asked {
		return unknownLabel
	}
	if w, ok := a.s.labels.written[uid]; ok {
		return w.role
	}
	return a.RoleLabels[uid]
}

// takesWrites reports whether a Service may send writes to a pod by its label.
func (a *step) takesWrites(uid string) bool {
	label := a.label(uid)
	return (label == model.RolePrimary || label == unknownLabel) && a.primaryGroup() != nil
}

// primaryGroup returns the group of which one member takes the writes. It returns nil if there is
// none: all members do, or it is not known.
func (a *step) primaryGroup() *model.Group {
	at := slices.IndexFunc(a.Snapshot.Groups, func(g model.Group) bool {
		return g.ID == model.PrimaryGroup && g.Kind == model.GroupRole && g.NeedsLeader
	})
	if at < 0 {
		return nil
	}
	return &a.Snapshot.Groups[at]
}

// primary returns the pod whose member takes the writes, by its own fresh report, with which no
// other fresh report disagrees. It returns nil if there is no such pod.
func (a *step) primary() *model.Pod {
	group := a.primaryGroup()
	if group == nil || a.Disputed {
		return nil
	}
	var found *model.Pod
	for _, m := range group.Members {
		if !m.Leader {
			continue
		}
		pod := podNamed(a.Snapshot, m.Pod)
		if found != nil || pod == nil || !says(pod, model.RolePrimary) {
			return nil
		}
		found = pod
	}
	for i := range a.Snapshot.Pods {
		if p := &a.Snapshot.Pods[i]; found != nil && p.UID != found.UID && says(p, model.RolePrimary) {
			return nil
		}
	}
	return found
}

// speaks reports whether a pod's own agent tells what its member is.
func speaks(pod *model.Pod) bool {
	r := pod.Report
	return pod.UID != "" && pod.Phase != model.PodPhaseMissing && r != nil && r.Self && r.UID == pod.UID && r.Member == model.MembershipLive
}

// says reports whether a pod's own agent tells, by a fresh report, that its member has a role.
func says(pod *model.Pod, role string) bool {
	return speaks(pod) && pod.Report.Fresh && slices.Contains(pod.Report.Roles, role)
}

// denies reports whether a pod's own agent tells, by a fresh report, that its member does not take
// the writes.
func denies(pod *model.Pod) bool {
	return speaks(pod) && pod.Report.Fresh && !slices.Contains(pod.Report.Roles, model.RolePrimary)
}

// labelRoles labels the pods by what their members are, where that is known and their labels say
// something else.
func (a *step) labelRoles() {
	r := &a.s.labels
	maps.DeleteFunc(r.written, func(uid string, w written) bool { return a.shows(uid, w) })
	if a.Snapshot.Cluster.Spec.Update.Mode == model.ModeObserve || !a.Object.DeletionTimestamp.IsZero() {
		return
	}
	e := effect.LabelRoles{Pools: a.Pools, Expected: a.expected()}
	primary := a.primary()
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		label := a.label(pod.UID)
		want := a.wantedLabel(pod, label, primary)
		switch target := (effect.Target{Pod: pod.Name, UID: pod.UID}); {
		case want == label:
		case want == model.RolePrimary:
			e.Primary = target
		default:
			e.Roles = append(e.Roles, effect.RoleLabel{Pod: target, Role: want})
			e.Fence = e.Fence || a.takesWrites(pod.UID)
		}
	}
	e.Fence = (e.Fence || e.Primary != (effect.Target{})) && !r.fenced
	wanted := len(e.Roles) > 0 || e.Primary != (effect.Target{})
	a.out.RolesDiffer = wanted || a.rolesMayDiffer()
	switch {
	case r.busy || !wanted:
	case a.now.Before(r.retryAt):
		a.out.wake(r.retryAt)
	default:
		r.busy, r.asked = true, e.Primary.UID
		a.effect(e)
	}
}

// shows reports whether the cache shows a pod as it was written, or newer. A pod that it does not
// show has gone.
func (a *step) shows(uid string, w written) bool {
	version, shown := a.ResourceVersions[uid]
	return !shown || notBefore(version, w.resourceVersion)
}

// wantedLabel returns the label that a pod should have: the one that it has, unless it is known to
// be wrong. A claimed pod is not labelled as a replica: it goes, and each write would delay that.
func (a *step) wantedLabel(pod *model.Pod, label string, primary *model.Pod) string {
	here := pod.UID != "" && pod.Phase != model.PodPhaseMissing
	leads := primary != nil && pod.UID == primary.UID
	follows := says(pod, model.RoleReplica) && !a.isClaimed(pod) && pod.Phase != model.PodPhaseTerminating
	switch {
	case !here || a.primaryGroup() == nil:
		return label
	case leads && !a.handsOver[pod.UID] && pod.Phase != model.PodPhaseTerminating:
		return model.RolePrimary
	case leads && !a.handsOver[pod.UID]:
		return label
	case !a.takesWrites(pod.UID) && follows:
		return model.RoleReplica
	case a.takesWrites(pod.UID) && (a.handsOver[pod.UID] || primary != nil || denies(pod)):
		if follows {
			return model.RoleReplica
		}
		return ""
	}
	return label
}

func (a *step) isClaimed(pod *model.Pod) bool {
	return slices.ContainsFunc(a.Record.Claims, func(c model.Claim) bool { return c.UID == pod.UID })
}

// rolesMayDiffer reports whether a pod's label is not what its agent has told, while no report is
// fresh, so that fresh ones are worth asking for. Several that take writes say nothing.
func (a *step) rolesMayDiffer() bool {
	others, differs := 0, false
	for i := range a.Snapshot.Pods {
		pod := &a.Snapshot.Pods[i]
		if pod.Report != nil && pod.Report.Fresh {
			return false
		}
		if !speaks(pod) || pod.Phase != model.PodPhaseReady || a.isClaimed(pod) {
			continue
		}
		label, leads := a.label(pod.UID), slices.Contains(pod.Report.Roles, model.RolePrimary)
		switch {
		case leads && label != model.RolePrimary:
			others++
		case !leads && slices.Contains(pod.Report.Roles, model.RoleReplica) && label != model.RoleReplica:
			differs = true
		case !leads && label == model.RolePrimary:
			differs = true
		}
	}
	return differs || others == 1
}

// whyLabelled says why the pod of a claim still has the label of a primary.
func (a *step) whyLabelled() string {
	if problem := a.s.labels.problem; problem != "" {
		return "its label says that it takes writes, and can not be taken off: " + problem
	}
	return "its label that says that it takes writes is taken off"
}

func (a *step) learnRolesLabelled(res effect.RolesLabelled) {
	a.noteSuperseded(res.Err)
	r := &a.s.labels
	r.busy = false
	for _, pod := range res.Pods {
		if r.written == nil {
			r.written = map[string]written{}
		}
		r.written[pod.UID] = written{pod.Role, pod.ResourceVersion}
	}
	if res.Unanswered {
		r.fenced = false
	} else {
		r.asked = ""
	}
	if res.Err != nil {
		a.out.warn("roles not labelled", "primary", res.Primary.Pod, "error", res.Err)
		r.failed(a.now, res.Err)
		return
	}
	r.succeeded()
	r.fenced = r.fenced || res.Fenced
	a.out.info("roles labelled", "primary", res.Primary.Pod)
}

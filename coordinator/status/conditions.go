package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// Reasons of conditions where no rule applies.
const (
	reasonDone        = "Done"
	reasonIdle        = "Idle"
	reasonPaused      = "Paused"
	reasonStalled     = "Stalled"
	reasonProgress    = "Progressing"
	reasonHealthy     = "Healthy"
	reasonNotYet      = "NotYetHealthy"
	reasonWasHealthy  = "WasHealthy"
	reasonNoPods      = "NoPods"
	reasonNoBudget    = "NoForeignBudget"
	reasonSelected    = "SelectsPods"
	reasonUnspecified = "Unknown"
	reasonPodsUnknown = "PodsUnknown"
	reasonAllowed     = "Allowed"
	reasonNotAllowed  = "NotAllowed"
)

// ReasonPodsUnavailable is the reason of Ready while pods are unavailable at rest, and of Available
// while some have been for longer than a start may take.
const ReasonPodsUnavailable = "PodsUnavailable"

// UnavailableTooLong begins the message of Available about those.
const UnavailableTooLong = "unavailable for longer than policy.startSeconds: "

// Conditions returns the conditions that follow from a decision and from those that the object has:
// a condition keeps its transition time as long as its status stays. Conditions of other types are
// kept.
//
// Ready, Reconciling and Stalled are those of kstatus, so that tools which wait for an object do
// not have to know this kind: an up-to-date cluster is Ready, one in mid-rollout is Reconciling,
// and one that cannot go on is Stalled.
func Conditions(d Decision, have []v1alpha1.Condition, generation int64) []v1alpha1.Condition {
	next := []metav1.Condition{ready(d), reconciling(d), stalled(d), available(d), initialized(d), foreignBudget(d), partitionReset(d)}
	if d.Withheld != "" || slices.ContainsFunc(have, func(c v1alpha1.Condition) bool { return c.Type == v1alpha1.ConditionWithheld }) {
		next = append(next, withheld(d))
	}
	return with(have, generation, d.DecidedAt, next...)
}

// Unknown returns the conditions of an object about which too little is known for a decision.
func Unknown(have []v1alpha1.Condition, why string, isStalled bool, generation int64, now time.Time) []v1alpha1.Condition {
	ready := condition(v1alpha1.ConditionReady, false, reasonPodsUnknown, why)
	ready.Status = metav1.ConditionUnknown
	if !isStalled {
		return with(have, generation, now, ready)
	}
	return with(have, generation, now, ready, condition(v1alpha1.ConditionStalled, true, reasonPodsUnknown, why))
}

// with returns the conditions with others in the place of those of the same types.
func with(have []v1alpha1.Condition, generation int64, at time.Time, next ...metav1.Condition) []v1alpha1.Condition {
	list := make([]metav1.Condition, 0, len(have)+len(next))
	for _, c := range have {
		list = append(list, metav1.Condition(c))
	}
	for _, c := range next {
		c.ObservedGeneration = generation
		c.LastTransitionTime = metav1.NewTime(at)
		meta.SetStatusCondition(&list, c)
	}
	out := make([]v1alpha1.Condition, 0, len(list))
	for _, c := range list {
		out = append(out, v1alpha1.Condition(c))
	}
	return out
}

func ready(d Decision) metav1.Condition {
	switch {
	case d.Phase == model.ClusterDone:
		return condition(v1alpha1.ConditionReady, true, reasonDone, "every pod runs the revision that its StatefulSet wants, and is back")
	case d.Phase == model.ClusterIdle && d.Pods.Away > 0:
		message := fmt.Sprintf("%d of %d pods are unavailable", d.Pods.Away, d.Pods.Desired)
		if absent := progress.UnavailablePods(&d.Moment); len(absent) > 0 {
			message += ": " + describe(absent)
		}
		return condition(v1alpha1.ConditionReady, false, ReasonPodsUnavailable, message)
	case d.Phase == model.ClusterIdle:
		return condition(v1alpha1.ConditionReady, false, reasonIdle, "nothing should go, and not everything is known to be up to date and back")
	}
	reason, message := why(d)
	return condition(v1alpha1.ConditionReady, false, reason, message)
}

func reconciling(d Decision) metav1.Condition {
	switch d.Phase {
	case model.ClusterRolling, model.ClusterWaiting:
		reason, message := why(d)
		return condition(v1alpha1.ConditionReconciling, true, reason, message)
	case model.ClusterPaused:
		return condition(v1alpha1.ConditionReconciling, false, reasonPaused, "the rollout is paused")
	case model.ClusterStalled:
		reason, message := why(d)
		return condition(v1alpha1.ConditionReconciling, false, reason, message)
	}
	return condition(v1alpha1.ConditionReconciling, false, phaseReason(d.Phase), "nothing should go")
}

func stalled(d Decision) metav1.Condition {
	if d.SpecError != nil {
		return condition(v1alpha1.ConditionStalled, true, string(model.RuleBadInput), d.SpecError.Error())
	}
	if d.Phase != model.ClusterStalled {
		return condition(v1alpha1.ConditionStalled, false, reasonProgress, "nothing has waited for longer than it may")
	}
	reason, message := why(d)
	return condition(v1alpha1.ConditionStalled, true, reason, message)
}

// available says what the database can do, whether or not a rollout is going on, and which pods
// have not served for longer than a start may take.
func available(d Decision) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionAvailable, Reason: string(model.RuleHealth), Message: d.Snapshot.Health.Reason}
	switch d.Snapshot.Health.Verdict {
	case model.VerdictGreen:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonHealthy, "the database is complete"
	case model.VerdictRecoverable, model.VerdictYellow:
		c.Status = metav1.ConditionTrue
		c.Message = cmp.Or(c.Message, "copies are missing; the database works without them")
	case model.VerdictRed:
		c.Status = metav1.ConditionFalse
		c.Message = cmp.Or(c.Message, "the database says that some of it does not work")
	default:
		c.Status = metav1.ConditionUnknown
		c.Message = cmp.Or(c.Message, "no agent says how the database is")
	}
	if overdue := progress.OverduePods(&d.Moment); len(overdue) > 0 {
		if c.Reason == reasonHealthy {
			c.Message = "the database works"
		}
		if c.Status == metav1.ConditionTrue {
			c.Reason = ReasonPodsUnavailable
		}
		c.Message += "; " + UnavailableTooLong + describe(overdue)
	}
	return c
}

func initialized(d Decision) metav1.Condition {
	if d.Snapshot.Cluster.Status.Initialized {
		return condition(v1alpha1.ConditionInitialized, true, reasonWasHealthy, "the database was healthy once")
	}
	if d.Pods.Desired == 0 {
		return condition(v1alpha1.ConditionInitialized, false, reasonNoPods, "no StatefulSet with the label rollcall.dev/cluster="+d.Key.Name+" wants a pod")
	}
	text := "the database has not been healthy yet"
	if why := Unhealthy(d); why != "" {
		text += ": " + why
	}
	return condition(v1alpha1.ConditionInitialized, false, reasonNotYet, text)
}

// Unhealthy returns what is missing until nothing is unavailable and the database says that it is
// complete or, while no agent can say so, until all pods are Ready. It is empty if nothing is
// missing.
func Unhealthy(d Decision) string {
	p, h := d.Pods, d.Snapshot.Health
	switch {
	case p.Away > 0 || p.Ready < p.Desired:
		return fmt.Sprintf("%d of %d pods are Ready, %d unavailable", p.Ready, p.Desired, p.Away)
	case h.Verdict == model.VerdictGreen, !slices.ContainsFunc(d.Snapshot.Pods, func(p model.Pod) bool { return p.Agent }):
		return ""
	}
	text := "its health is " + string(cmp.Or(h.Verdict, model.VerdictUnknown)) + ", not Green"
	if h.Reason != "" {
		text += ": " + h.Reason
	}
	return text
}

func foreignBudget(d Decision) metav1.Condition {
	for _, h := range d.Plan.Holds {
		if h.Rule == model.RuleForeignBudget {
			return condition(v1alpha1.ConditionForeignBudget, true, string(h.Rule), h.Reason)
		}
	}
	if d.Guard.ForeignBudget != "" {
		return condition(v1alpha1.ConditionForeignBudget, true, reasonSelected, d.Guard.ForeignBudget)
	}
	return condition(v1alpha1.ConditionForeignBudget, false, reasonNoBudget, "no PodDisruptionBudget of somebody else is in the way")
}

func withheld(d Decision) metav1.Condition {
	if d.Withheld == "" {
		return condition(v1alpha1.ConditionWithheld, false, reasonAllowed, "all that the DatabaseCluster names is allowed by those who may write its Secrets")
	}
	return condition(v1alpha1.ConditionWithheld, true, reasonNotAllowed, v1alpha1.Cut(d.Withheld, v1alpha1.MaxText))
}

// why returns the rule that holds the cluster, or else what the cluster is doing.
func why(d Decision) (reason, message string) {
	if d.Phase == model.ClusterStalled {
		return whyStalled(d)
	}
	if h, ok := firstHold(d.Plan); ok && len(d.Plan.Steps) == 0 {
		// While pods are going, only what will not pass with them counts.
		if len(d.Claims) == 0 || h.Pod == "" && !Passing(h.Rule) {
			return string(h.Rule), holdSummary(d.Plan, h)
		}
	}
	if len(d.Claims) > 0 {
		pods := make([]string, 0, len(d.Claims))
		for _, c := range d.Claims {
			pods = append(pods, c.Pod)
		}
		slices.Sort(pods)
		return phaseReason(d.Phase), fmt.Sprintf("%d of %d pods updated, on their way: %s", d.Pods.Updated, d.Pods.Desired, few(pods))
	}
	return phaseReason(d.Phase), fmt.Sprintf("%d of %d pods updated", d.Pods.Updated, d.Pods.Desired)
}

// firstHold returns the hold that says most about the cluster: one of the whole cluster if there is
// any, and otherwise that of the pod that is next, because the plan has them in this order.
func firstHold(p model.Plan) (model.Hold, bool) {
	for _, h := range p.Holds {
		if h.Rule != model.RuleClaimed && h.Rule != model.RuleTerminating {
			return h, true
		}
	}
	return model.Hold{}, false
}

func holdSummary(p model.Plan, h model.Hold) string {
	if h.Pod == "" {
		return h.Reason
	}
	if others := len(p.Holds) - 1; others > 0 {
		return fmt.Sprintf("%s: %s (and %d more held)", h.Pod, h.Reason, others)
	}
	return fmt.Sprintf("%s: %s", h.Pod, h.Reason)
}

// few returns a list of names, cut where more would not help.
func few(names []string) string {
	const most = 5
	text := ""
	for i, name := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", text, len(names)-most)
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// phaseReason returns the phase itself.
func phaseReason(p model.ClusterPhase) string { return string(cmp.Or(p, reasonUnspecified)) }

func condition(kind string, is bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

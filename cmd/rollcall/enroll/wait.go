package enroll

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Seen is what is known of the DatabaseCluster after everything was written.
type Seen struct {
	Cluster *v1alpha1.DatabaseCluster
	// Snapshot that the coordinator decided on last; nil means it could not be asked, and Events
	// have to do.
	Snapshot *model.Snapshot
	NotAsked error
	Events   []corev1.Event
}

// Guards reports whether pods are guarded, for which enroll waits; otherwise it only waits until
// the coordinator has decided once.
func (p *Plan) Guards() bool {
	spec := p.Cluster.Spec.WithDefaults()
	return spec.Guard == model.GuardEnforce && spec.Update.Mode != model.ModeObserve
}

// Decided returns what is missing until the coordinator has decided about all StatefulSets; empty
// means nothing.
func (p *Plan) Decided(c *v1alpha1.DatabaseCluster) string {
	unseen := slices.DeleteFunc(slices.Clone(p.Sets), func(s appsv1.StatefulSet) bool { return c.Status.UpdateRevisions[s.Name] != "" })
	switch {
	case c.Status.ObservedGeneration < max(c.Generation, 1):
		return fmt.Sprintf("no coordinator has looked at it yet; kubectl -n %s get pods shows whether one runs", p.Install)
	case len(unseen) > 0:
		return fmt.Sprintf("the coordinator has not yet looked at StatefulSet %s", unseen[0].Name)
	}
	return ""
}

// Waiting returns what is missing until a person can continue; empty means nothing.
func (p *Plan) Waiting(s Seen) string {
	if err := stays(s.Cluster); err != nil {
		return err.Error()
	}
	if text := p.Decided(s.Cluster); text != "" || !p.Guards() {
		return text
	}
	if text := condition(s.Cluster, v1alpha1.ConditionInitialized, metav1.ConditionTrue); text != "" {
		return text + ", so nothing is guarded yet"
	}
	enforcing, why := p.enforcing(s)
	if enforcing {
		return p.blind(s.Snapshot)
	}
	if text := condition(s.Cluster, v1alpha1.ConditionForeignBudget, metav1.ConditionFalse); text != "" {
		return text
	}
	return why
}

// blind says that agents which are there do not reach their servers, such as for a wrong password: then
// the database is not ready to go on. Empty means that none is, or that it is not known.
func (p *Plan) blind(s *model.Snapshot) string {
	if s == nil {
		return ""
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		ours := slices.ContainsFunc(p.Sets, func(set appsv1.StatefulSet) bool { return set.Name == pod.Pool })
		if ours && pod.Agent && pod.Report != nil && pod.Report.Self && pod.Report.Member == model.MembershipUnknown {
			why := ""
			if s.Health.Reason != "" {
				why = ": " + s.Health.Reason
			}
			return fmt.Sprintf("the agent of pod %s cannot tell how its server is, and no other pod goes%s", pod.Name, why)
		}
	}
	return ""
}

// condition returns the message of a condition that is not as it should be. A missing condition
// counts as not decided: Initialized must be set, and a problem with a budget must be reported.
func condition(c *v1alpha1.DatabaseCluster, kind string, want metav1.ConditionStatus) string {
	for _, have := range c.Status.Conditions {
		if have.Type == kind && have.Status == want {
			return ""
		} else if have.Type == kind {
			return have.Message
		}
	}
	if want == metav1.ConditionTrue {
		return "the coordinator has not said yet that the database was healthy"
	}
	return ""
}

func (p *Plan) enforcing(s Seen) (yes bool, why string) {
	if s.Snapshot != nil {
		if !s.Snapshot.Cluster.GuardEnforcing {
			return false, "Kubernetes does not refuse to remove its pods yet (guard.enabled of Rollcall's chart; deploy/docs/guard.md)"
		}
		open := p.open(s.Snapshot)
		if len(open) == 0 {
			return true, ""
		}
		if len(open) == 1 {
			return false, "1 of its pods has no guard yet: " + open[0]
		}
		return false, fmt.Sprintf("%d of its pods have no guard yet, such as %s", len(open), open[0])
	}
	switch newest := newestOf(s.Events, string(s.Cluster.UID)); {
	case newest == nil:
		return false, fmt.Sprintf("there is no Event %s of the last hour, and the coordinator could not be asked: %v", status.EventGuardEnforced, s.NotAsked)
	case newest.Reason != status.EventGuardEnforced:
		return false, fmt.Sprintf("Event %s: %s", newest.Reason, newest.Message)
	}
	return true, ""
}

// open returns running pods that Kubernetes would let anybody remove.
func (p *Plan) open(s *model.Snapshot) (names []string) {
	for i := range s.Pods {
		pod := &s.Pods[i]
		ours := slices.ContainsFunc(p.Sets, func(set appsv1.StatefulSet) bool { return set.Name == pod.Pool })
		if ours && pod.Guard == model.GuardNone && pod.Phase != model.PodPhaseMissing && pod.Phase != model.PodPhaseTerminating {
			names = append(names, pod.Name)
		}
	}
	return names
}

// guardEvents begin or end that Kubernetes refuses.
var guardEvents = []string{status.EventGuardEnforced, status.EventGuardLost, status.EventGuardExpired}

// newestOf them about this DatabaseCluster, and not one of the same name before it.
func newestOf(events []corev1.Event, uid string) (newest *corev1.Event) {
	for i := range events {
		e := &events[i]
		if !slices.Contains(guardEvents, e.Reason) || string(e.InvolvedObject.UID) != uid {
			continue
		}
		if newest == nil || !lastSeen(e).Before(lastSeen(newest)) {
			newest = e
		}
	}
	return newest
}

// lastSeen returns the time of an Event. Its field depends on the writer of the Event.
func lastSeen(e *corev1.Event) time.Time {
	last := e.EventTime.Time
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}

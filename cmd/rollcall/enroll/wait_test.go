package enroll

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// guarded is what is seen when a person can go on.
func guarded() Seen {
	c := cluster("search", model.Spec{Engine: model.Solr})
	c.Status.ObservedGeneration = c.Generation
	c.Status.UpdateRevisions = map[string]string{"solr": "v1"}
	c.Status.Conditions = []v1alpha1.Condition{
		{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue},
		{Type: v1alpha1.ConditionForeignBudget, Status: metav1.ConditionFalse, Message: "none is in the way"},
	}
	s := &model.Snapshot{Cluster: model.Cluster{GuardEnforcing: true}, Pods: []model.Pod{
		{Name: "solr-0", Pool: "solr", Phase: model.PodPhaseReady, Guard: model.GuardClosed},
		{Name: "solr-1", Pool: "solr", Phase: model.PodPhaseReady, Guard: model.GuardOpen},
		{Name: "solr-2", Pool: "solr", Phase: model.PodPhaseMissing, Guard: model.GuardNone},
		{Name: "other-0", Pool: "other", Phase: model.PodPhaseReady, Guard: model.GuardNone},
	}}
	return Seen{Cluster: &c, Snapshot: s}
}

func event(reason string, at int64) corev1.Event {
	return corev1.Event{Reason: reason, Message: "because", InvolvedObject: corev1.ObjectReference{UID: "c1"}, EventTime: metav1.NewMicroTime(time.Unix(at, 0))}
}

func TestWaitingFor(t *testing.T) {
	unasked := func(s *Seen, events ...corev1.Event) {
		s.Snapshot, s.NotAsked, s.Events = nil, errors.New("forbidden"), events
	}
	again := event(status.EventGuardEnforced, 10)
	again.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(time.Unix(40, 0))}
	kubectl := event(status.EventGuardEnforced, 0)
	kubectl.EventTime, kubectl.LastTimestamp = metav1.MicroTime{}, metav1.NewTime(time.Unix(50, 0))
	before := event(status.EventGuardEnforced, 60)
	before.InvolvedObject.UID = "c0"
	foreign := func(s *Seen) {
		s.Cluster.Status.Conditions[1].Status, s.Cluster.Status.Conditions[1].Message = metav1.ConditionTrue, "PodDisruptionBudget x selects solr-0"
	}
	for name, c := range map[string]struct {
		change func(*Seen)
		want   string
	}{
		"guarded":          {func(*Seen) {}, ""},
		"nobody looked":    {func(s *Seen) { s.Cluster.Status.ObservedGeneration-- }, "no coordinator has looked at it yet; kubectl -n rollcall-system get pods shows whether one runs"},
		"not at the label": {func(s *Seen) { s.Cluster.Status.UpdateRevisions = nil }, "the coordinator has not yet looked at StatefulSet solr"},
		"nothing said":     {func(s *Seen) { s.Cluster.Status.Conditions = nil }, "the coordinator has not said yet that the database was healthy, so nothing is guarded yet"},
		"never healthy": {func(s *Seen) {
			s.Cluster.Status.Conditions[0] = v1alpha1.Condition{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionFalse, Message: "the database has not been healthy yet"}
		}, "the database has not been healthy yet, so nothing is guarded yet"},
		"not refused":   {func(s *Seen) { s.Snapshot.Cluster.GuardEnforcing = false }, "Kubernetes does not refuse to remove its pods yet (guard.enabled of Rollcall's chart; deploy/docs/guard.md)"},
		"a budget":      {func(s *Seen) { s.Snapshot.Cluster.GuardEnforcing = false; foreign(s) }, "PodDisruptionBudget x selects solr-0"},
		"a pod is open": {func(s *Seen) { s.Snapshot.Pods[0].Guard = model.GuardNone }, "1 of its pods has no guard yet: solr-0"},
		"an agent that is not let in": {func(s *Seen) {
			s.Snapshot.Pods[1].Agent, s.Snapshot.Pods[1].Report = true, &model.Report{Self: true, Member: model.MembershipUnknown}
			s.Snapshot.Health.Reason = "no agent gives a verdict: solr: status 401"
		}, "the agent of pod solr-1 cannot tell how its server is, and no other pod goes: no agent gives a verdict: solr: status 401"},
		"an agent of another database": {func(s *Seen) {
			s.Snapshot.Pods[3].Agent, s.Snapshot.Pods[3].Report = true, &model.Report{Self: true, Member: model.MembershipUnknown}
		}, ""},
		"told": {func(s *Seen) {
			unasked(s, event(status.EventGuardLost, 10), event(status.EventGuardEnforced, 20), event("Other", 30))
		}, ""},
		"told again":         {func(s *Seen) { unasked(s, again, event(status.EventGuardExpired, 30)) }, ""},
		"told the old way":   {func(s *Seen) { unasked(s, event(status.EventGuardLost, 10), kubectl) }, ""},
		"lost":               {func(s *Seen) { unasked(s, event(status.EventGuardLost, 30), event(status.EventGuardEnforced, 20)) }, "Event GuardLost: because"},
		"expired":            {func(s *Seen) { unasked(s, event(status.EventGuardEnforced, 20), event(status.EventGuardExpired, 30)) }, "Event GuardExpired: because"},
		"told of one before": {func(s *Seen) { unasked(s, before) }, "there is no Event GuardEnforced of the last hour, and the coordinator could not be asked: forbidden"},
		"not told, a budget": {func(s *Seen) { unasked(s); foreign(s) }, "PodDisruptionBudget x selects solr-0"},
	} {
		s := guarded()
		c.change(&s)
		p, err := Decide(with(facts(set("solr", "solr", labelled("search"))), *s.Cluster), options("solr"))
		require.NoError(t, err)
		require.Equal(t, c.want, p.Waiting(s), name)
	}
}

// Where nothing is to be guarded a decision is enough.
func TestWaitingWithoutAGuard(t *testing.T) {
	for _, spec := range []model.Spec{
		{Engine: model.Solr, Guard: model.GuardAudit}, {Engine: model.Solr, Guard: model.GuardOff}, {Engine: model.Solr, Update: model.Update{Mode: model.ModeObserve}},
	} {
		s := guarded()
		s.Cluster.Spec, s.Cluster.Status.Conditions, s.Snapshot = spec, nil, nil
		p, err := Decide(with(facts(set("solr", "solr", labelled("search"))), *s.Cluster), options("solr"))
		require.NoError(t, err)
		require.False(t, p.Guards())
		require.Empty(t, p.Waiting(s))
		s.Cluster.Status.ObservedGeneration = 0
		require.NotEmpty(t, p.Waiting(s))
	}
}

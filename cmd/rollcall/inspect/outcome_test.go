package inspect

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func TestOutcome(t *testing.T) {
	held := func(phase string, rule model.Rule) *rollcallv1.Cluster {
		return &rollcallv1.Cluster{Phase: phase, Plan: &rollcallv1.Plan{Holds: []*rollcallv1.Hold{{Rule: string(rule)}}}}
	}
	for _, rule := range []model.Rule{model.RuleRolloutHalted, model.RuleVersionRefused, model.RuleBadInput} {
		require.Equal(t, outcomeFailed, outcomeOf(held("Waiting", rule)), rule)
		require.Equal(t, outcomeFailed, outcomeOf(held("Stalled", rule)), "failed says more")
	}
	require.Equal(t, outcomeStalled, outcomeOf(held("Stalled", model.RuleHealth)))
	require.Equal(t, outcomeOpen, outcomeOf(held("Waiting", model.RuleHealth)))
	require.Equal(t, outcomeOpen, outcomeOf(held("Paused", model.RulePaused)))
	require.Equal(t, outcomeOpen, outcomeOf(held("", model.RuleHealth)))
	require.Equal(t, outcomeDone, outcomeOf(&rollcallv1.Cluster{Phase: "Done"}))

	correcting := held("Rolling", model.RuleRolloutHalted)
	correcting.Claims = []*rollcallv1.Claim{{Pod: "search-5"}}
	require.Equal(t, outcomeFailed, outcomeOf(correcting), "the claim of the pod that failed stays open")
	correcting.Plan.Steps = []*rollcallv1.Step{{Pod: "search-5"}}
	require.Equal(t, outcomeOpen, outcomeOf(correcting), "what may go may be the correction")

	require.Equal(t, []int{0, 1, 2}, []int{outcomeDone.status(), outcomeFailed.status(), outcomeStalled.status()})
}

func TestUnseen(t *testing.T) {
	set := func(revision string, observed int64) []appsv1.StatefulSet {
		replicas := int32(2)
		return []appsv1.StatefulSet{{
			ObjectMeta: metav1.ObjectMeta{Name: "search", Generation: 3},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Ordinals: &appsv1.StatefulSetOrdinals{Start: 5}},
			Status:     appsv1.StatefulSetStatus{ObservedGeneration: observed, UpdateRevision: revision},
		}}
	}
	c := &rollcallv1.Cluster{PodStates: []*rollcallv1.PodState{{Pod: "search-5", Revision: "v2"}, {Pod: "search-6", Revision: "v2"}}}
	require.Empty(t, unseen(set("v2", 3), c))
	require.Contains(t, unseen(set("v2", 2), c), "Kubernetes has not yet looked")
	require.Contains(t, unseen(set("v3", 3), c), "the coordinator has not yet looked")
	require.Empty(t, unseen(set("v3", 3), &rollcallv1.Cluster{}), "without the states of pods nothing can be compared")
}

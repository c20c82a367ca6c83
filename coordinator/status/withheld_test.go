package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// What is not used is said wherever people look, with the command that allows it.
func TestWithheldIsSaid(t *testing.T) {
	d := search(t)
	withheld := func(list []v1alpha1.Condition) (found v1alpha1.Condition) {
		for _, c := range list {
			if c.Type == v1alpha1.ConditionWithheld {
				found = c
			}
		}
		return found
	}
	require.Empty(t, withheld(Conditions(d, nil, 1)))

	before := search(t)
	d.Withheld = "kubectl label secret"
	require.Equal(t, "kubectl label secret", eventOf(t, Events(&before, d), EventWithheld).Note)
	require.Empty(t, Events(&d, d))
	conditions := Conditions(d, nil, 1)
	require.Equal(t, metav1.ConditionTrue, withheld(conditions).Status)
	require.Equal(t, "NotAllowed", withheld(conditions).Reason)
	require.Equal(t, "kubectl label secret", withheld(conditions).Message)
	require.Equal(t, "kubectl label secret", ClusterProto(d).GetWithheld())
	e, err := Explain(d, "search-1")
	require.NoError(t, err)
	require.Equal(t, "kubectl label secret", factOf(t, e, "withheld").Value)

	d.Withheld = ""
	require.Equal(t, metav1.ConditionFalse, withheld(Conditions(d, conditions, 1)).Status)
}

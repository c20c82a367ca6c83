package v1alpha1

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConditionIsThatOfKubernetes(t *testing.T) {
	c := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: "pod-budget"}
	require.Equal(t, c, metav1.Condition(Condition(c)))
}

func TestSchemaAcceptsRuleNamesAsReasons(t *testing.T) {
	crd, err := os.ReadFile("../../../deploy/chart/files/rollcall.dev_databaseclusters.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(crd), "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
		"this pattern refuses the hyphens in the names of rules")
}

package manifests

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
)

// What the expressions mean is tried on a real API server (test/e2e/suite).
func TestGuardPolicyIsAboutClosedPods(t *testing.T) {
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	load(t, "ValidatingAdmissionPolicy", v1alpha1.GuardPolicy, &policy)
	require.Equal(t, admissionregistrationv1.Fail, *policy.Spec.FailurePolicy)
	require.Len(t, policy.Spec.MatchConstraints.ResourceRules, 1)
	rule := policy.Spec.MatchConstraints.ResourceRules[0]
	require.Equal(t, []admissionregistrationv1.OperationType{admissionregistrationv1.Delete}, rule.Operations)
	require.Equal(t, []string{"pods"}, rule.Resources)
	require.True(t, slices.ContainsFunc(policy.Spec.MatchConditions, func(c admissionregistrationv1.MatchCondition) bool {
		return strings.Contains(c.Expression, "'system:serviceaccount:"+Namespace+":rollcall-coordinator'")
	}), "the coordinator passes")
	require.Contains(t, policy.Spec.Validations[0].MessageExpression, v1alpha1.LabelGuard+"="+v1alpha1.GuardOpen)
	require.Contains(t, policy.Spec.Variables[2].Expression, v1alpha1.LabelGuardCluster)

	for name, c := range map[string]struct {
		action admissionregistrationv1.ValidationAction
		label  string
	}{
		v1alpha1.GuardPolicy:            {admissionregistrationv1.Deny, v1alpha1.GuardClosed},
		v1alpha1.GuardPolicy + "-audit": {admissionregistrationv1.Audit, v1alpha1.GuardAudit},
	} {
		var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
		load(t, "ValidatingAdmissionPolicyBinding", name, &binding)
		require.Equal(t, policy.Name, binding.Spec.PolicyName)
		require.Equal(t, []admissionregistrationv1.ValidationAction{c.action}, binding.Spec.ValidationActions)
		require.Equal(t, &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelGuard: c.label}}, binding.Spec.MatchResources.ObjectSelector)
	}
}

// Who may write StatefulSets does not open guards with that, webhook or not.
func TestTemplatesBringNoGuard(t *testing.T) {
	const name = v1alpha1.GuardPolicy + "-template"
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	load(t, "ValidatingAdmissionPolicy", name, &policy)
	require.Equal(t, admissionregistrationv1.Ignore, *policy.Spec.FailurePolicy, "all StatefulSets of the cluster pass here")
	require.Len(t, policy.Spec.MatchConstraints.ResourceRules, 1)
	rule := policy.Spec.MatchConstraints.ResourceRules[0]
	require.Equal(t, []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}, rule.Operations)
	require.Equal(t, []string{"statefulsets"}, rule.Resources)
	require.Equal(t, []string{"apps"}, rule.APIGroups)
	for _, c := range policy.Spec.MatchConditions {
		require.Contains(t, c.Expression, "'"+v1alpha1.LabelGuard+"'", c.Name)
	}
	require.Equal(t, "false", policy.Spec.Validations[0].Expression)
	require.Contains(t, policy.Spec.Validations[0].Message, "kubectl label pod NAME "+v1alpha1.LabelGuard+"="+v1alpha1.GuardOpen)

	var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	load(t, "ValidatingAdmissionPolicyBinding", name, &binding)
	require.Equal(t, name, binding.Spec.PolicyName)
	require.Equal(t, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, binding.Spec.ValidationActions)
	require.Nil(t, binding.Spec.MatchResources)
}

func TestExpiryIsConfinedAndSelectedByNobody(t *testing.T) {
	var job batchv1.CronJob
	load(t, "CronJob", "rollcall-guard-expire", &job)
	pod := job.Spec.JobTemplate.Spec.Template
	require.Equal(t, batchv1.ForbidConcurrent, job.Spec.ConcurrencyPolicy)
	container := pod.Spec.Containers[0]
	require.Equal(t, []string{"/rollcall"}, container.Command)
	require.Equal(t, []string{"guard-expire", "--install-namespace=" + Namespace, "--after=3600s"}, container.Args)
	require.True(t, *pod.Spec.SecurityContext.RunAsNonRoot)
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	require.NotEmpty(t, container.Resources.Limits)

	var service corev1.Service
	load(t, "Service", "rollcall-coordinator", &service)
	for name, value := range service.Spec.Selector {
		require.NotEqual(t, value, pod.Labels[name])
	}
	require.Equal(t, "rollcall-coordinator", lead.LeaseName)
}

// The plain manifest must not hold what runs when the chart is uninstalled.
func TestHooksAreLeftOut(t *testing.T) {
	text, err := os.ReadFile("rollcall.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(text), "helm.sh/hook:")
	require.NotContains(t, string(text), "guard-remove]")
	require.NotContains(t, string(text), "name: rollcall-guard-remove")
}

// The hook runs with the rights that the chart gives it, before anything is removed.
func TestChartRemovesGuardsFirst(t *testing.T) {
	text, err := helm(t, "templates/guard-expire.yaml", "--namespace", "own", "--set", "guardExpirySeconds=120")
	require.NoError(t, err)
	require.Contains(t, string(text), "helm.sh/hook: pre-delete")
	require.Contains(t, string(text), "- guard-remove")
	require.Contains(t, string(text), "--install-namespace=own")
	require.Contains(t, string(text), "--after=120s")

	text, err = helm(t, "templates/guard.yaml", "--namespace", "own")
	require.NoError(t, err)
	require.Contains(t, string(text), "'system:serviceaccount:own:rollcall-coordinator'")
	text, err = helm(t, "templates/rbac.yaml", "--set", "guard.enabled=false")
	require.NoError(t, err)
	require.Contains(t, string(text), "poddisruptionbudgets", "what was made before must still be found and removed")
	_, err = helm(t, "templates/guard.yaml", "--set", "guard.enabled=false")
	require.Error(t, err, "there is none")
}

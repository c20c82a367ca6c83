package manifests

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// helm renders one template of the chart, or answers why it does not.
func helm(t *testing.T, template string, args ...string) ([]byte, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds helm")
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=test/tools/helm/go.mod", "helm",
		"template", "rollcall", "deploy/chart", "-s", template}, args...)...)
	cmd.Dir = "../.."
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		out = problem.Bytes()
	}
	return out, err
}

// Labels and annotations that the chart sets may be given anew, but no key is
// written twice and no label changes that the Deployment selects by.
func TestChartTakesItsOwnLabelsAsValues(t *testing.T) {
	text, err := helm(t, "templates/deployment.yaml", "--set-json",
		`podLabels={"app.kubernetes.io/name":"rollcall","app.kubernetes.io/part-of":"platform","team":"search"}`,
		"--set-json", `podAnnotations={"kubectl.kubernetes.io/default-container":"other"}`)
	require.NoError(t, err)
	var d appsv1.Deployment
	require.NoError(t, yaml.UnmarshalStrict(text, &d))
	require.Equal(t, map[string]string{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator",
		"app.kubernetes.io/part-of": "platform", "team": "search"}, d.Spec.Template.Labels)
	require.Equal(t, map[string]string{"kubectl.kubernetes.io/default-container": "other"}, d.Spec.Template.Annotations)

	text, err = helm(t, "templates/deployment.yaml", "--set-json", `podLabels={"app.kubernetes.io/name":"mine"}`)
	require.Error(t, err)
	require.Contains(t, string(text), "value must be 'rollcall'")
}

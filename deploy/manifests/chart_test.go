package manifests

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/test/tool"
)

// helm renders one template of the chart, or answers why it does not.
func helm(t *testing.T, template string, args ...string) ([]byte, error) {
	t.Helper()
	return run(t, "helm", append([]string{"template", "rollcall", "deploy/chart", "-s", template}, args...)...)
}

// run runs one of test/tools in the repository's root, and answers what it
// prints, or else what it complains of.
func run(t *testing.T, name string, args ...string) ([]byte, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds " + name)
	}
	cmd := tool.Command(t.Context(), "../..", name, args...)
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		out = append(problem.Bytes(), out...)
	}
	return out, err
}

// Traces are off unless a collector is named, and that by a URL.
func TestChartNamesACollector(t *testing.T) {
	env := func(args ...string) map[string]string {
		text, err := helm(t, "templates/deployment.yaml", args...)
		require.NoError(t, err, string(text))
		var d appsv1.Deployment
		require.NoError(t, yaml.UnmarshalStrict(text, &d))
		values := map[string]string{}
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			values[e.Name] = e.Value
		}
		return values
	}
	require.NotContains(t, env(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	require.Equal(t, "http://collector:4317", env("--set", "tracing.endpoint=http://collector:4317")["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
	text, err := helm(t, "templates/deployment.yaml", "--set", "tracing.endpoint=collector:4317")
	require.Error(t, err)
	require.Contains(t, string(text), "/tracing/endpoint")
}

// TestNamedNetworks: none unless they are named, and only networks.
func TestNamedNetworks(t *testing.T) {
	for value, flag := range map[string]string{"gossipCIDRs": "gossip-cidrs", "stopHookCIDRs": "stop-hook-cidrs"} {
		text, err := helm(t, "templates/deployment.yaml")
		require.NoError(t, err)
		require.NotContains(t, string(text), flag)
		text, err = helm(t, "templates/deployment.yaml", "--set", "agent."+value+"={10.244.0.0/16,fd00::/48}")
		require.NoError(t, err)
		require.Contains(t, string(text), "- --"+flag+"=10.244.0.0/16,fd00::/48\n")
		text, err = helm(t, "templates/deployment.yaml", "--set", "agent."+value+"={pods}")
		require.Error(t, err)
		require.Contains(t, string(text), "/agent/"+value+"/0")
	}
}

// TestWebhookClientCA: the authorities are mounted and named, and who changes them has
// the coordinators start anew.
func TestWebhookClientCA(t *testing.T) {
	deployment := func(args ...string) (d appsv1.Deployment) {
		text, err := helm(t, "templates/deployment.yaml", args...)
		require.NoError(t, err, string(text))
		require.NoError(t, yaml.UnmarshalStrict(text, &d))
		return d
	}
	require.Empty(t, deployment().Spec.Template.Spec.Volumes)
	const ca = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n"
	d := deployment("--set-string", "webhook.clientCA="+ca)
	container := d.Spec.Template.Spec.Containers[0]
	require.Contains(t, container.Args, "--webhook-client-ca="+container.VolumeMounts[0].MountPath+"/ca.crt")
	require.Equal(t, container.VolumeMounts[0].Name, d.Spec.Template.Spec.Volumes[0].Name)
	require.NotEqual(t, d.Spec.Template.Annotations, deployment("--set-string", "webhook.clientCA="+ca+ca).Spec.Template.Annotations)

	text, err := helm(t, "templates/webhook.yaml", "--set", "webhook.enabled=false", "--set-string", "webhook.clientCA="+ca)
	require.NoError(t, err, string(text))
	var object corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict(text, &object))
	require.Equal(t, d.Spec.Template.Spec.Volumes[0].ConfigMap.Name, object.Name)
	require.Equal(t, ca, object.Data["ca.crt"])
	_, err = helm(t, "templates/deployment.yaml", "--set-string", "webhook.clientCA=a")
	require.Error(t, err)
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

package manifests

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/test/race"
)

const (
	fileOfAlerts  = "../chart/files/alerts.yaml"
	testsOfAlerts = "deploy/manifests/testdata/alerts_test.yaml"
	linkOfRunbook = "https://github.com/rollcall-dev/rollcall/blob/main/deploy/docs/runbook.md#"
)

type (
	ruleGroups struct {
		Groups []ruleGroup `json:"groups"`
	}
	ruleGroup struct {
		Name  string      `json:"name"`
		Rules []alertRule `json:"rules"`
	}
	alertRule struct {
		Alert       string            `json:"alert"`
		Expr        string            `json:"expr"`
		For         string            `json:"for,omitempty"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
)

func readAlerts(t *testing.T) ruleGroups {
	t.Helper()
	text, err := os.ReadFile(fileOfAlerts)
	require.NoError(t, err)
	var groups ruleGroups
	require.NoError(t, yaml.UnmarshalStrict(text, &groups))
	require.NotEmpty(t, groups.Groups)
	return groups
}

func (g ruleGroups) alerts() (all []alertRule) {
	for _, group := range g.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// TestAlertsAreComplete: what everybody who is paged wants to be told, and asked
// of metrics and rules that exist.
func TestAlertsAreComplete(t *testing.T) {
	exist := series(t)
	page, err := os.ReadFile(pageOfMetrics)
	require.NoError(t, err)
	tests, err := os.ReadFile("testdata/alerts_test.yaml")
	require.NoError(t, err)
	for _, a := range readAlerts(t).alerts() {
		require.Regexp(t, "^Rollcall[A-Z]", a.Alert)
		requireKnown(t, exist, a.Expr, a.Alert)
		require.Contains(t, []string{"critical", "warning"}, a.Labels["severity"], a.Alert)
		require.Equal(t, linkOfRunbook+strings.ToLower(a.Alert), a.Annotations["runbook_url"], a.Alert)
		for _, text := range []string{"summary", "description"} {
			require.NotEmpty(t, a.Annotations[text], a.Alert)
		}
		require.Len(t, a.Annotations, 3, a.Alert)
		if a.For != "" {
			_, err := time.ParseDuration(a.For)
			require.NoError(t, err, a.Alert)
		}
		require.Contains(t, string(page), "\n| `"+a.Alert+"` | "+a.Labels["severity"]+" | ", "%s has no row in %s", a.Alert, pageOfMetrics)
		for _, part := range []string{"fires", "does not"} {
			require.Contains(t, string(tests), "- name: "+a.Alert+" "+part, "no test of when it "+part)
		}
	}
}

// TestAlertsFire has Prometheus itself read the rules, and tries when each fires
// and when it does not.
func TestAlertsFire(t *testing.T) {
	race.Night(t)
	out, err := run(t, "promtool", "check", "rules", "--lint=all", "--lint-fatal", "deploy/chart/files/alerts.yaml")
	require.NoError(t, err, "%s", out)
	out, err = run(t, "promtool", "test", "rules", testsOfAlerts)
	require.NoError(t, err, "%s", out)
}

// TestChartHasTheAlerts: the same ones, in an object of the operator.
func TestChartHasTheAlerts(t *testing.T) {
	text, err := helm(t, "templates/prometheusrule.yaml", "--namespace", "own", "--set", "metrics.alerts.enabled=true",
		"--set", "metrics.alerts.labels.release=prom")
	require.NoError(t, err, "%s", text)
	var object struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              ruleGroups `json:"spec"`
	}
	require.NoError(t, yaml.UnmarshalStrict(text, &object))
	require.Equal(t, metav1.TypeMeta{APIVersion: operatorVersion, Kind: "PrometheusRule"}, object.TypeMeta)
	require.Equal(t, "own", object.Namespace)
	require.Equal(t, "prom", object.Labels["release"])
	require.Equal(t, readAlerts(t), object.Spec)
	require.True(t, slices.ContainsFunc(object.Spec.alerts(), func(a alertRule) bool {
		return strings.Contains(a.Annotations["summary"], "{{ $labels.cluster }}")
	}), "Helm leaves Prometheus' templates alone")
}

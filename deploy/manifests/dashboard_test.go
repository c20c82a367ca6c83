package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/test/race"
)

const fileOfDashboard = "../chart/files/dashboard.json"

type (
	dashboard struct {
		Title         string  `json:"title"`
		UID           string  `json:"uid"`
		SchemaVersion int     `json:"schemaVersion"`
		Panels        []panel `json:"panels"`
		Templating    struct {
			List []struct {
				Name       string      `json:"name"`
				Type       string      `json:"type"`
				Datasource *datasource `json:"datasource"`
				Query      any         `json:"query"`
				Definition string      `json:"definition"`
			} `json:"list"`
		} `json:"templating"`
	}
	datasource struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	panel struct {
		ID          int          `json:"id"`
		Type        string       `json:"type"`
		Title       string       `json:"title"`
		Description string       `json:"description"`
		Datasource  *datasource  `json:"datasource"`
		GridPos     grid         `json:"gridPos"`
		Targets     []paneTarget `json:"targets"`
		FieldConfig struct {
			Defaults struct {
				Unit string `json:"unit"`
			} `json:"defaults"`
		} `json:"fieldConfig"`
	}
	grid       struct{ X, Y, W, H int }
	paneTarget struct {
		RefID        string      `json:"refId"`
		Expr         string      `json:"expr"`
		LegendFormat string      `json:"legendFormat"`
		Datasource   *datasource `json:"datasource"`
	}
)

// chosen is the data source that a person chooses at the top.
var chosen = &datasource{Type: "prometheus", UID: "${datasource}"}

func (g grid) overlaps(other grid) bool {
	return g.X < other.X+other.W && other.X < g.X+g.W && g.Y < other.Y+other.H && other.Y < g.Y+g.H
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(fileOfDashboard)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	require.NotEmpty(t, d.Panels)
	return d
}

func TestDashboardIsInOrder(t *testing.T) {
	d := readDashboard(t)
	require.Equal(t, "Rollcall", d.Title)
	require.NotEmpty(t, d.UID)
	require.GreaterOrEqual(t, d.SchemaVersion, 41)
	ids := map[int]string{}
	for i, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		require.NotContains(t, ids, p.ID, p.Title)
		ids[p.ID] = p.Title
		require.Positive(t, p.GridPos.W, p.Title)
		require.Positive(t, p.GridPos.H, p.Title)
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for _, other := range d.Panels[:i] {
			require.False(t, p.GridPos.overlaps(other.GridPos), "%q lies on %q", p.Title, other.Title)
		}
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.Equal(t, chosen, p.Datasource, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			require.Equal(t, chosen, target.Datasource, p.Title)
			require.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
		}
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type != "datasource" {
			require.Equal(t, chosen, v.Datasource, v.Name)
		}
	}
	require.Equal(t, []string{"datasource", "namespace", "cluster"}, variables)
}

// TestDashboardAsksForWhatExists: and, all panels together, for every metric.
func TestDashboardAsksForWhatExists(t *testing.T) {
	exist := append(series(t), "ALERTS") // Prometheus's own
	d := readDashboard(t)
	asked := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			requireKnown(t, exist, target.Expr, p.Title)
			for _, name := range metricsOf(target.Expr) {
				asked[name] = true
			}
		}
	}
	for _, v := range d.Templating.List {
		for _, name := range named.FindAllString(v.Definition, -1) {
			require.Contains(t, exist, name, v.Name)
		}
	}
	for _, m := range metricsInCode(t) {
		require.True(t, asked[m.name] || asked[m.name+"_bucket"], "no panel shows %s", m.name)
	}
}

var (
	legendLabel = regexp.MustCompile(`{{(\w+)}}`)
	grouped     = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// TestLegendsNameWhatIsThere: a label that an aggregation drops would be empty, and lines without a name look alike.
func TestLegendsNameWhatIsThere(t *testing.T) {
	seen := 0
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			for _, label := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				by := grouped.FindStringSubmatch(target.Expr)
				if by == nil {
					require.NotRegexp(t, `^(sum|max|min|avg|count)\(`, target.Expr, p.Title)
					continue
				}
				require.Contains(t, strings.Split(strings.ReplaceAll(by[1], " ", ""), ","), label[1], "%s: the legend of %s", p.Title, target.Expr)
				seen++
			}
			// Nor may two lines have one name: each label by which there are several is in it.
			if by := grouped.FindStringSubmatch(target.Expr); by != nil && p.Type == "timeseries" {
				for label := range strings.SplitSeq(strings.ReplaceAll(by[1], " ", ""), ",") {
					require.True(t, label == "le" || strings.Contains(target.LegendFormat, "{{"+label+"}}"), "%s: %s is not in the legend of %s", p.Title, label, target.Expr)
				}
			}
			if len(p.Targets) > 1 {
				require.NotContains(t, []string{"", "__auto"}, target.LegendFormat, "%s: which is which", p.Title)
			}
		}
	}
	require.Greater(t, seen, 10)
}

var variable = regexp.MustCompile(`\$\w+`)

// TestDashboardParses has Prometheus itself read each expression, as a rule.
func TestDashboardParses(t *testing.T) {
	race.Night(t) // on each commit test/dashboard evaluates them
	values := map[string]string{"$cluster": ".+", "$namespace": ".+", "$__rate_interval": "5m"}
	type recording struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []recording
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			expr := variable.ReplaceAllStringFunc(target.Expr, func(name string) string {
				require.Contains(t, values, name, p.Title)
				return values[name]
			})
			rules = append(rules, recording{Record: fmt.Sprintf("panel:%d:%s", p.ID, target.RefID), Expr: expr})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := run(t, "promtool", "check", "rules", "--lint=none", file)
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), fmt.Sprintf("%d rules found", len(rules)))
}

func TestChartHasTheDashboard(t *testing.T) {
	text, err := helm(t, "templates/dashboard.yaml", "--set", "metrics.dashboard.enabled=true",
		"--set", "metrics.dashboard.annotations.grafana_folder=Databases", "--set", "metrics.dashboard.labels.team=search")
	require.NoError(t, err, "%s", text)
	var object corev1.ConfigMap
	require.NoError(t, yaml.UnmarshalStrict(text, &object))
	require.Equal(t, "1", object.Labels["grafana_dashboard"])
	require.Equal(t, "search", object.Labels["team"])
	require.Equal(t, map[string]string{"grafana_folder": "Databases"}, object.Annotations)
	require.Len(t, object.Data, 1)
	var have, want bytes.Buffer
	file, err := os.ReadFile(fileOfDashboard)
	require.NoError(t, err)
	require.NoError(t, json.Compact(&have, []byte(strings.TrimSpace(object.Data["rollcall.json"]))))
	require.NoError(t, json.Compact(&want, file))
	require.Equal(t, want.String(), have.String())
	require.Less(t, len(file), 512<<10, "a ConfigMap holds 1 MiB")
}

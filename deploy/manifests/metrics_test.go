package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const pageOfMetrics = "../docs/metrics.md"

var (
	named     = regexp.MustCompile(`\brollcall_[a-z0-9_]+\b`)
	metricRow = regexp.MustCompile("(?m)^\\| `(rollcall_[a-z0-9_]+)` \\|")
)

// TestEveryMetricIsDocumented: one row each, in the table of who has it.
func TestEveryMetricIsDocumented(t *testing.T) {
	text, err := os.ReadFile(pageOfMetrics)
	require.NoError(t, err)
	before, after, ok := strings.Cut(string(text), "\n## Of the agents\n")
	require.True(t, ok)
	require.Contains(t, before, "\n## Of the coordinators\n")
	for who, part := range map[owner]string{ofCoordinator: before, ofAgent: after} {
		var rows []string
		for _, m := range metricRow.FindAllStringSubmatch(part, -1) {
			rows = append(rows, m[1])
		}
		var want []string
		for _, m := range metricsInCode(t) {
			if m.owner == who {
				want = append(want, m.name)
			}
		}
		require.ElementsMatch(t, want, rows, "%s: the rows of the %s", pageOfMetrics, who)
	}
}

// TestDocumentedMetricsExist: what people read, copy and click on.
func TestDocumentedMetricsExist(t *testing.T) {
	exist := series(t)
	files, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, file := range append(files, "../../README.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range named.FindAllString(string(text), -1) {
			require.Contains(t, exist, name, file)
		}
	}
}

// series are the names under which the metrics are queried: those of Rollcall,
// and those of every Go process.
func series(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range metricsInCode(t) {
		if m.histogram {
			names = append(names, m.name+"_bucket", m.name+"_sum", m.name+"_count")
		}
		names = append(names, m.name) // of a histogram in prose, and as a native one
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		names = append(names, f.GetName())
	}
	return names
}

// What is in an expression beside names of metrics, in the order in which it is
// cut out.
var notMetrics = []*regexp.Regexp{
	regexp.MustCompile(`"(?:[^"\\]|\\.)*"`),
	regexp.MustCompile(`\{[^}]*\}`),
	regexp.MustCompile(`\[[^\]]*\]`),
	regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`),
	regexp.MustCompile(`\b[a-z_]+\s*\(`),
	regexp.MustCompile(`\b(?:and|or|unless|bool|offset|group_left|group_right)\b`),
	regexp.MustCompile(`\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b`),
}

var identifier = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*`)

// metricsOf are the metrics that an expression asks for.
func metricsOf(expr string) []string {
	for _, r := range notMetrics {
		expr = r.ReplaceAllString(expr, " ")
	}
	return identifier.FindAllString(expr, -1)
}

func TestMetricsOf(t *testing.T) {
	for expr, want := range map[string][]string{
		`sum by (a, b) (rate(x_total{c=~"d|e"}[5m])) > 0.5 and on (f) time() - y > 14 * 86400`: {"x_total", "y"},
		`histogram_quantile(0.9, sum by (le) (rate(x_bucket[$__rate_interval])))`:              {"x_bucket"},
		`absent(x == 1)`:               {"x"},
		`x unless ignoring (b) y or z`: {"x", "y", "z"},
		`max by(a)(x) == bool 1e3`:     {"x"},
	} {
		require.Equal(t, want, metricsOf(expr), expr)
	}
}

var ruleMatcher = regexp.MustCompile(`\brule\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)

// requireKnown: the expression asks for what exists, and for rules that exist.
func requireKnown(t *testing.T, exist []string, expr, where string) {
	t.Helper()
	names := metricsOf(expr)
	require.NotEmpty(t, names, where)
	for _, name := range names {
		require.Contains(t, exist, name, where)
	}
	for _, m := range ruleMatcher.FindAllStringSubmatch(expr, -1) {
		for rule := range strings.SplitSeq(m[1], "|") {
			require.True(t, slices.Contains(model.Rules(), model.Rule(rule)), "%s: there is no rule %q", where, rule)
		}
	}
}

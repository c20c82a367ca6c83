package dashboard

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	fileOfDashboard = "../../deploy/chart/files/dashboard.json"
	fileOfAlerts    = "../../deploy/chart/files/alerts.yaml"
	recorded        = "testdata/stuck"
	// stalledBy is the rule at the end of the recording, which is when a person is paged.
	stalledBy = "rollout-halted"
)

// empty are panels that show nothing of this recording, and why.
var empty = map[string]string{
	"Alerts that fire":               "the test that was recorded mends what it broke within the minute that RollcallStalled waits; TestAlertsAreEvaluated shortens it",
	"Stop hooks":                     "an agent ends with its pod, and none was scraped in the seconds between its stop hook and its end",
	"Clocks of agents' nodes":        "the recording was made before coordinators told of clocks",
	"Agents: rejected":               "nobody sent agents anything wrong",
	"Coordinators: refused":          "nobody sent coordinators anything wrong",
	"Partition":                      "the StatefulSet of MariaDB has OnDelete",
	"Time since the partition moved": "the StatefulSet of MariaDB has OnDelete",
}

func view(t *testing.T) (View, Dashboard) {
	t.Helper()
	d, err := Read(fileOfDashboard)
	require.NoError(t, err)
	store, err := Open(recorded)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	require.NoError(t, store.Alert(t.Context(), fileOfAlerts))
	return View{Store: store, From: store.From, To: store.To, Scrape: 5 * time.Second}, d
}

// TestEveryPanelShowsData checks that graphs show the whole recording, and that tables and numbers,
// which show one moment, show its end.
func TestEveryPanelShowsData(t *testing.T) {
	v, d := view(t)
	seen := 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		lines, err := v.Answers(t.Context(), d, p)
		require.NoError(t, err)
		if why, ok := empty[p.Title]; ok {
			require.Empty(t, lines, "%s is said to be empty: %s", p.Title, why)
			continue
		}
		require.NotEmpty(t, lines, "%s shows nothing", p.Title)
		seen++
	}
	require.Greater(t, seen, 30)
}

// TestEveryQueryHasAPart checks that every query has data, also in a panel with several queries.
func TestEveryQueryHasAPart(t *testing.T) {
	v, d := view(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			if target.Instant || empty[p.Title] != "" {
				continue
			}
			one := p
			one.Targets = []Target{target}
			lines, err := v.Answers(t.Context(), d, one)
			require.NoError(t, err)
			require.NotEmpty(t, lines, "%s: %s", p.Title, target.Expr)
		}
	}
}

// TestLegendsTellLinesApart checks that each label in them exists, and no two lines of a panel have
// one name.
func TestLegendsTellLinesApart(t *testing.T) {
	v, d := view(t)
	for _, p := range d.Panels {
		lines, err := v.Answers(t.Context(), d, p)
		require.NoError(t, err)
		names := map[string]bool{}
		for _, l := range lines {
			i := slices.IndexFunc(p.Targets, func(target Target) bool { return target.RefID == l.RefID })
			require.Empty(t, Unresolved(p.Targets[i], l.Labels), "%s: labels that %s has not", p.Title, l.Labels)
			require.NotEmpty(t, strings.TrimSpace(l.Name), p.Title)
			require.False(t, names[l.Name], "%s: two lines are %q", p.Title, l.Name)
			names[l.Name] = true
			if p.Type == "timeseries" {
				require.LessOrEqual(t, len(l.Name), 60, p.Title)
			}
		}
		if p.Type == "timeseries" {
			require.LessOrEqual(t, len(lines), 12, "%s: nobody can tell so many lines apart", p.Title)
		}
	}
}

// shown is the table of a panel on the first screen.
func shown(t *testing.T, v View, d Dashboard, title string) Table {
	t.Helper()
	i := slices.IndexFunc(d.Panels, func(p Panel) bool { return p.Title == title })
	require.GreaterOrEqual(t, i, 0, title)
	require.Less(t, d.Panels[i].GridPos.Y+d.Panels[i].GridPos.H, 24, "%s is on the first screen", title)
	lines, err := v.Answers(t.Context(), d, d.Panels[i])
	require.NoError(t, err)
	table, err := tabulate(d.Panels[i], lines)
	require.NoError(t, err)
	return table
}

// TestPagedPersonSeesWhy checks that the first screen names the database, the rule, and since when.
func TestPagedPersonSeesWhy(t *testing.T) {
	v, d := view(t)
	stalled := shown(t, v, d, "Stalled by which rule, and for how long")
	require.Equal(t, []string{"database", "rule", "without progress for"}, stalled.Columns)
	require.Len(t, stalled.Rows, 1)
	require.Equal(t, []any{"demo/mariadb", stalledBy}, stalled.Rows[0][:2])
	require.Greater(t, stalled.Rows[0][2], 60.0)
	waits := shown(t, v, d, "What waits, and for which rule")
	require.Equal(t, []string{"database", "rule", "holds"}, waits.Columns)
	require.True(t, slices.ContainsFunc(waits.Rows, func(row []any) bool { return row[1] == stalledBy }), "%v", waits.Rows)
	pods := shown(t, v, d, "Pods by state")
	require.Equal(t, []string{"database", "desired", "ready", "updated", "current", "unavailable", "failed"}, pods.Columns)
	require.Len(t, pods.Rows, 1)
	require.Equal(t, []any{"demo/mariadb", 3.0}, pods.Rows[0][:2])
	i := slices.IndexFunc(d.Panels, func(p Panel) bool { return p.Title == "Why it waits" })
	lines, err := v.Answers(t.Context(), d, d.Panels[i])
	require.NoError(t, err)
	for _, name := range []string{"stalled: foreign-budget", "stalled: " + stalledBy, "pod-budget"} {
		require.True(t, slices.ContainsFunc(lines, func(l Line) bool { return l.Name == name }), name)
	}
}

// TestAlertsAreEvaluated checks that the chart's alerts are evaluated. One of them waits a shorter
// time here.
func TestAlertsAreEvaluated(t *testing.T) {
	text, err := os.ReadFile(fileOfAlerts)
	require.NoError(t, err)
	before, after, ok := strings.Cut(string(text), "expr: rollcall_stalled == 1\n        for: 1m\n")
	require.True(t, ok)
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(file, []byte(before+"expr: rollcall_stalled == 1\n"+after), 0o600))
	d, err := Read(fileOfDashboard)
	require.NoError(t, err)
	store, err := Open(recorded)
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.Alert(t.Context(), file))
	alerts := shown(t, View{Store: store, From: store.From, To: store.To, Scrape: 5 * time.Second}, d, "Alerts that fire")
	require.Equal(t, Table{
		Columns: []string{"alert", "database", "rule", "severity"},
		Rows:    [][]any{{"RollcallStalled", "demo/mariadb", stalledBy, "warning"}},
	}, alerts)
	over, err := store.Range(t.Context(), `ALERTS{alertname="RollcallStalled"}`, store.From, store.To, 5*time.Second)
	require.NoError(t, err)
	require.Len(t, over, 2, "one for each rule that stalled it")
	require.Less(t, len(over[0].Points)*5, 120, "it ended with the stall")
}

// TestOneDatabaseCanBeChosen checks that choosing the recorded database shows the same lines, and
// choosing another one shows none that belong to one database.
func TestOneDatabaseCanBeChosen(t *testing.T) {
	v, d := view(t)
	of := func(chosen string) (n int) {
		v.Chosen = map[string]string{"cluster": chosen}
		for _, p := range d.Panels {
			if len(p.Targets) == 0 || !strings.Contains(p.Targets[0].Expr, "$cluster") {
				continue
			}
			lines, err := v.Answers(t.Context(), d, p)
			require.NoError(t, err)
			n += len(lines)
		}
		return n
	}
	require.Equal(t, of(""), of("demo/mariadb"))
	require.Zero(t, of("demo/other"))
}

// TestWhatIsNotKnownIsAnError checks that nothing of a panel is left out in silence.
func TestWhatIsNotKnownIsAnError(t *testing.T) {
	v, d := view(t)
	for name, change := range map[string]struct {
		change func(*Panel)
		want   string
	}{
		"type":           {func(p *Panel) { p.Type = "piechart" }, `panels of the type "piechart" are not known`},
		"unit":           {func(p *Panel) { p.FieldConfig.Defaults.Unit = "furlongs" }, `the unit "furlongs" is not known`},
		"variable":       {func(p *Panel) { p.Targets[0].Expr = `rollcall_pods{cluster="$nobody"}` }, "no variable $nobody"},
		"query":          {func(p *Panel) { p.Targets[0].Expr = "sum(" }, "parse error"},
		"color":          {func(p *Panel) { override(t, p, "color", `{"mode":"fixed","fixedColor":"mauve"}`) }, `color "mauve"`},
		"property":       {func(p *Panel) { override(t, p, "custom.spin", `1`) }, `an override of "custom.spin" is not known`},
		"transformation": {func(p *Panel) { p.Type, p.Transformations = "table", []Transformation{{ID: "magic"}} }, `the transformation "magic" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			one := d
			i := slices.IndexFunc(d.Panels, func(p Panel) bool { return p.Title == "Memory" })
			p := d.Panels[i]
			p.Targets = slices.Clone(p.Targets)
			change.change(&p)
			one.Panels = []Panel{p}
			require.ErrorContains(t, v.Draw(t.Context(), io.Discard, one, ""), change.want)
		})
	}
}

func override(t *testing.T, p *Panel, property, value string) {
	t.Helper()
	var o Override
	require.NoError(t, json.Unmarshal([]byte(`{"matcher":{"id":"byRegexp","options":"/.*/"},"properties":[{"id":"`+property+`","value":`+value+`}]}`), &o))
	p.FieldConfig.Overrides = []Override{o}
}

// TestPageHasNothingFromElsewhere checks that it can be opened anywhere, and says what drew it.
func TestPageHasNothingFromElsewhere(t *testing.T) {
	v, d := view(t)
	var out bytes.Buffer
	require.NoError(t, v.Draw(t.Context(), &out, d, "drawn by <b>a test</b>"))
	require.NotRegexp(t, `(src|href)=|url\(|@import|<script`, out.String())
	require.Contains(t, out.String(), "drawn by &lt;b&gt;a test")
	require.NotContains(t, out.String(), "NaN")
	require.NotContains(t, out.String(), "{{")
	require.NotContains(t, out.String(), "$")
}

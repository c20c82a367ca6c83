package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// runbookEntry is a part of the runbook: a name, and what is said under it.
type runbookEntry struct{ name, text string }

var (
	runbookHeading  = regexp.MustCompile("(?m)^### `(.+)`$")
	runbookItem     = regexp.MustCompile(`(?m)^- \*\*([A-Z][a-z ]+)\*\*: \S`)
	runbookOverride = regexp.MustCompile(`(?m)^- \*\*Override\*\*: (not possible|possible by name only|possible)[.,;:]`)
	runbookRow      = regexp.MustCompile("(?m)^\\| `([A-Z][a-z]+)` \\|")
	runbookLink     = regexp.MustCompile(`\]\(#([^)]+)\)`)
)

// readRunbook splits the runbook at its headings of the third level: rules, phases
// and Events, alerts.
func readRunbook(t testing.TB) (rules, events, alerts []runbookEntry, whole string) {
	t.Helper()
	data, err := os.ReadFile("../../deploy/docs/runbook.md")
	require.NoError(t, err)
	whole = string(data)
	first, rest, ok := strings.Cut(whole, "\n## Phases and Events\n")
	require.True(t, ok, "the runbook has no part about phases and Events")
	second, third, ok := strings.Cut(rest, "\n## Alerts\n")
	require.True(t, ok, "the runbook has no part about alerts")
	return runbookEntries(first), runbookEntries(second), runbookEntries(third), whole
}

func runbookEntries(text string) []runbookEntry {
	var list []runbookEntry
	at := runbookHeading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		list = append(list, runbookEntry{text[m[2]:m[3]], text[m[1]:end]})
	}
	return list
}

func (e runbookEntry) items() []string {
	var names []string
	for _, m := range runbookItem.FindAllStringSubmatch(e.text, -1) {
		names = append(names, m[1])
	}
	return names
}

// One entry for each, in the order in which they are asked, and what it says of overrides is so.
func TestRunbookHasEveryRule(t *testing.T) {
	rules, _, _, _ := readRunbook(t)
	var names []model.Rule
	for _, e := range rules {
		names = append(names, model.Rule(e.name))
		require.Equal(t, []string{"Means", "Look at", "Unblocks", "Override"}, e.items(), e.name)
		says := runbookOverride.FindStringSubmatch(e.text)
		require.NotEmpty(t, says, "%s: can it be overridden?", e.name)
		require.Equal(t, howToOverride(t, model.Rule(e.name)), says[1], e.name)
	}
	require.Equal(t, model.Rules(), names)
}

// howToOverride asks the policy's own validation.
func howToOverride(t testing.TB, rule model.Rule) string {
	refused := func(pods string) bool {
		d := search(t, func(s *model.Snapshot) {
			s.Cluster.Spec.Overrides = []model.Override{{
				Rule: rule, Pods: []string{pods}, Reason: "why not", Expires: model.At(s.Now.Add(time.Hour)),
			}}
		})
		return len(model.Validate(&d.Snapshot)) > 0
	}
	switch {
	case refused("search-0"):
		return "not possible"
	case refused("*"):
		return "possible by name only"
	}
	return "possible"
}

// The table of claimed pods has every phase that a claim can enter, in their order.
func TestRunbookHasEveryPhase(t *testing.T) {
	_, _, _, whole := readRunbook(t)
	_, table, found := strings.Cut(whole, "\n| a claimed pod is | which means |\n")
	require.True(t, found, "the runbook has no table of claimed pods")
	table, _, _ = strings.Cut(table, "\n\n")
	var names []model.ClaimPhase
	for _, m := range runbookRow.FindAllStringSubmatch(table, -1) {
		names = append(names, model.ClaimPhase(m[1]))
	}
	entered := slices.DeleteFunc(model.ClaimPhases(), func(p model.ClaimPhase) bool { return p == model.PhaseRejoined })
	require.Equal(t, entered, names)
}

// One entry for each reason in event.go; Stalled is that of the phase, too.
func TestRunbookHasEveryEvent(t *testing.T) {
	_, events, _, whole := readRunbook(t)
	var names []string
	for _, e := range events {
		names = append(names, e.name)
		items := e.items()
		require.NotEmpty(t, items, e.name)
		require.Equal(t, "Means", items[0], e.name)
		require.Equal(t, "Do", items[len(items)-1], e.name)
	}
	require.ElementsMatch(t, reasonsOfEvents(t), names)
	require.Contains(t, names, string(model.ClusterStalled))
	lower := strings.ToLower(whole) // as anchors are
	for _, link := range runbookLink.FindAllStringSubmatch(whole, -1) {
		if !strings.Contains(lower, "\n## "+strings.ReplaceAll(link[1], "-", " ")+"\n") {
			require.Contains(t, lower, "### `"+link[1]+"`\n", "a link leads nowhere")
		}
	}
}

// Whoever looks up what an adoption stands still with finds what a person has to do.
func TestRunbookKnowsThePrimaryWithoutAnAgent(t *testing.T) {
	rules, _, _, whole := readRunbook(t)
	held := []model.Rule{model.RuleNoLeader, model.RuleHealth, model.RuleNoReport, model.RuleVeto}
	for _, e := range rules {
		if slices.Contains(held, model.Rule(e.name)) {
			require.Contains(t, e.text, "(#the-primary-has-no-agent-yet)", e.name)
		}
	}
	_, section, _ := strings.Cut(whole, "\n## The primary has no agent yet\n")
	section, _, _ = strings.Cut(section, "\n## ")
	require.Contains(t, section, "(mysql.md#move-the-role-by-hand)")
	require.Contains(t, section, "rollcall.dev/guard=open")
}

// One entry for each in the chart's file, in its order, and each alert leads to its own. What their
// expressions ask for is looked at in deploy/manifests.
func TestRunbookHasEveryAlert(t *testing.T) {
	_, _, alerts, _ := readRunbook(t)
	var names []string
	for _, e := range alerts {
		names = append(names, e.name)
		require.Equal(t, []string{"Means", "Look at", "Do"}, e.items(), e.name)
	}
	data, err := os.ReadFile("../../deploy/chart/files/alerts.yaml")
	require.NoError(t, err)
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &file))
	var want []string
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			want = append(want, rule.Alert)
			require.True(t, strings.HasSuffix(rule.Annotations["runbook_url"], "/deploy/docs/runbook.md#"+strings.ToLower(rule.Alert)), rule.Alert)
		}
	}
	require.Equal(t, want, names)
}

// reasonsOfEvents are the exported names of event.go's first constants.
func reasonsOfEvents(t testing.TB) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	require.NoError(t, err)
	var reasons []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if spec.Names[0].IsExported() {
				reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				reasons = append(reasons, reason)
			}
		}
	}
	require.NotEmpty(t, reasons)
	return reasons
}

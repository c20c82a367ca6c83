package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// script is a golden script: a snapshot, and the plan that it expects.
type script struct {
	snapshot model.Snapshot
	plan     []string
}

func readScript(t testing.TB, file string) *script {
	t.Helper()
	text, plan := readGolden(t, file)
	return &script{decodeYAML(t, text), strings.Split(strings.TrimSpace(plan), "\n")}
}

// holds returns the plan's lines in which a rule holds a pod, or the cluster.
func (s *script) holds(rule model.Rule) []string {
	var lines []string
	for _, line := range s.plan {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == "hold" && strings.TrimSuffix(words[2], ":") == string(rule) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *script) steps() int {
	return len(slices.DeleteFunc(slices.Clone(s.plan), func(line string) bool { return !strings.HasPrefix(line, "go ") }))
}

// lacks says what a rule's three scripts do not show: that the rule holds a pod, that it lets one
// go, or what an override of it does.
func lacks(rule model.Rule, holds, passes, overridden *script) []string {
	var missing []string
	ofAPod := func(line string) bool { return !strings.HasPrefix(line, "hold   - ") }
	if !slices.ContainsFunc(holds.holds(rule), ofAPod) {
		missing = append(missing, "_holds has no pod that it holds")
	}
	if len(passes.holds(rule)) > 0 || passes.steps() == 0 {
		missing = append(missing, "_passes has a hold by it, or no step")
	}
	field := fmt.Sprintf("].rule is %s, which cannot be overridden", rule)
	refused := slices.ContainsFunc(overridden.holds(model.RuleBadInput), func(line string) bool { return strings.Contains(line, field) })
	note := fmt.Sprintf("override of %s until ", rule)
	noted := slices.ContainsFunc(Decide(overridden.snapshot).Steps, func(s model.Step) bool {
		return slices.ContainsFunc(s.Notes, func(n string) bool { return strings.HasPrefix(n, note) })
	})
	if rule == model.RuleNodeGone { // its override lets no pod go: the pod is going, and is deleted
		noted = len(overridden.holds(rule)) == 0 && len(ForceDeletes(overridden.snapshot)) == 1
	}
	switch {
	case !overridable(rule) && !refused:
		missing = append(missing, "_overridden is not refused as bad input that names the override")
	case overridable(rule) && !noted:
		missing = append(missing, "_overridden has no step with a note of the override")
	}
	return missing
}

// Each rule has a script in which it is the reason, one in which it just does not hold, and one in
// which it is overridden, or cannot be.
func TestEveryRuleHasScripts(t *testing.T) {
	for _, rule := range model.Rules() {
		t.Run(string(rule), func(t *testing.T) {
			base := "testdata/rule_" + strings.ReplaceAll(string(rule), "-", "_")
			require.Empty(t, lacks(rule,
				readScript(t, base+"_holds.txt"), readScript(t, base+"_passes.txt"), readScript(t, base+"_overridden.txt")))
		})
	}
}

// A script that has the right name but does not show what it is named for is noticed.
func TestScriptsOfTheWrongContent(t *testing.T) {
	for _, rule := range []model.Rule{model.RuleBusy, model.RuleClaimed, model.RuleHealth} {
		base := "testdata/rule_" + string(rule)
		holds, passes, overridden := readScript(t, base+"_holds.txt"), readScript(t, base+"_passes.txt"), readScript(t, base+"_overridden.txt")
		require.Empty(t, lacks(rule, holds, passes, overridden))
		require.Len(t, lacks(rule, passes, passes, overridden), 1)
		require.Len(t, lacks(rule, holds, holds, overridden), 1)
		require.Len(t, lacks(rule, holds, passes, holds), 1)
		require.Len(t, lacks(rule, holds, passes, passes), 1)
		require.Len(t, lacks(rule, holds, &script{plan: []string{"order  -"}}, overridden), 1)
		onlyCluster := &script{plan: []string{"order  solr-0", "hold   - " + string(rule) + ": all"}}
		require.Len(t, lacks(rule, onlyCluster, passes, overridden), 1)
	}
}

// The names that the model declares are those of the rules, in the order in which they are asked.
func TestEveryDeclaredRuleIsAsked(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../model/rule.go", nil, 0)
	require.NoError(t, err)
	var declared []model.Rule
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		name, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		declared = append(declared, model.Rule(name))
		return false
	})
	require.Equal(t, declared, model.Rules())
	var asked []model.Rule
	for _, r := range rules {
		if !slices.Contains(asked, r.name) {
			asked = append(asked, r.name)
		}
	}
	require.Equal(t, declared, asked)
}

// TestEverySeedSentenceHasAScript guards against scripts being lost.
func TestEverySeedSentenceHasAScript(t *testing.T) {
	for seed, least := range map[string]int{"solr": 37, "opensearch": 55, "moco": 41} {
		files, err := filepath.Glob("testdata/" + seed + "_seed_*.txt")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(files), least, seed)
	}
}

// Every hold has a known rule, a reason and what unblocks it; every pod of the order has a step or
// a hold, and no pod both.
func TestHoldsSayWhatAndWhatEndsThem(t *testing.T) {
	known := map[model.Rule]bool{}
	for _, r := range model.Rules() {
		require.False(t, known[r], "%s is listed twice", r)
		known[r] = true
	}
	for name, s := range goldenSnapshots(t) {
		t.Run(name, func(t *testing.T) {
			requireSound(t, s, Decide(s))
		})
	}
}

func requireSound(t testing.TB, s model.Snapshot, p model.Plan) {
	t.Helper()
	seen := map[string]int{}
	for _, step := range p.Steps {
		if step.Action != model.ActionRestore {
			seen[step.Pod]++
		}
	}
	cluster := true
	for _, h := range p.Holds {
		require.NotEmpty(t, h.Rule)
		require.NotEmpty(t, h.Reason)
		require.NotEmpty(t, h.Unblocks)
		if h.Pod == "" {
			require.True(t, cluster, "holds of the whole cluster come first")
			continue
		}
		cluster = false
		seen[h.Pod]++
	}
	require.Len(t, p.Order, len(seen))
	for _, pod := range p.Order {
		require.Equal(t, 1, seen[pod], "%s", pod)
	}
	require.GreaterOrEqual(t, p.RetryAfterSeconds, int64(0))
	require.NotEmpty(t, p.Phase)
	require.GreaterOrEqual(t, p.Forecast.Seconds, p.Forecast.BoundSeconds)
}

func TestExplainTellsAllThatHolds(t *testing.T) {
	s := goldenSnapshots(t)["rule_leader_last_holds"]
	s.Pods[0].Report.Busy = "backup"
	s.Cluster.Paused = true
	rules := []model.Rule{}
	for _, h := range Explain(s, s.Pods[0].Name) {
		require.Equal(t, s.Pods[0].Name, h.Pod)
		rules = append(rules, h.Rule)
	}
	require.Equal(t, []model.Rule{model.RulePaused, model.RuleBusy, model.RuleLeaderLast}, rules)
	require.Empty(t, Explain(s, "nobody"))
}

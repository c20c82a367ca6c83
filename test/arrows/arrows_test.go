package arrows

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

func TestArrows(t *testing.T) {
	packages, err := List(root, "./agent/...", "./engines/...", "./cmd/...", "./coordinator/...", "./test/fdbsim/...")
	require.NoError(t, err)
	require.Equal(t, []string{"engines/foundationdb", "engines/galera", "engines/memory", "engines/mysql", "engines/opensearch", "engines/solr", "engines/zookeeper"}, Adapters(packages),
		"a new adapter is one of these; what adapters share is listed in rules.go")
	// The model, the policy and the core that steps by them are no foreign packages to each other.
	for i, p := range packages {
		for _, pure := range []string{"policy", "progress", "rollout", "model"} {
			packages[i].Standard = packages[i].Standard || strings.HasPrefix(p.ImportPath+"/", Module+"/coordinator/"+pure+"/")
		}
	}
	for _, b := range Check(Module, packages, Rules(packages)) {
		t.Error(b)
	}
	for _, path := range []string{"agent", "agent/gossip", "engines", "coordinator/model", "coordinator/policy", "coordinator/rollout", "cmd/rollcall", "cmd/rollcall-agent", "cmd/rollcall-coordinator", "coordinator/sim/run", "test/fdbsim/model"} {
		found := false
		for _, p := range packages {
			found = found || p.ImportPath == Module+"/"+path
		}
		require.True(t, found, "%s is looked at", path)
	}
}

// Each rule is broken by each arrow that it forbids, for each adapter that there is
// and for one that is new.
func TestEachRuleCanBreak(t *testing.T) {
	packages, err := List(root, "./agent/...", "./engines/...", "./cmd/...", "./coordinator/...", "./test/fdbsim/...")
	require.NoError(t, err)
	packages = append(packages, Package{ImportPath: Module + "/engines/new"})
	rules := Rules(packages)
	tried := 0
	for _, rule := range rules {
		forbidden := rule.Never
		if rule.StandardOnly {
			forbidden = []string{"example.com/lib"}
		}
		require.NotEmpty(t, forbidden, rule.Name)
		require.NotEmpty(t, rule.From, rule.Name)
		for _, from := range rule.From {
			for _, to := range forbidden {
				if !strings.Contains(to, ".") {
					to = Module + "/" + to
				}
				got := Check(Module, []Package{{ImportPath: Module + "/" + from, Deps: []string{to + "/below"}}}, rules)
				require.Contains(t, got, Break{rule.Name, Module + "/" + from, to + "/below"})
				tried++
			}
		}
	}
	require.Greater(t, tried, 200)
	for _, want := range []Break{
		{"engines/new knows no other adapter", "engines/new", "engines/solr"},
		{"engines/mysql knows no other adapter", "engines/mysql/gtid", "engines/new"},
		{"the agent's library knows no database", "agent", "engines/foundationdb"},
		{"what adapters share knows none of them", "engines/sorted", "engines/mysql/gtid"},
		{"no room of the coordinator knows a database", "coordinator/view", "engines/new"},
		{"the rollout core is values in, values out", "coordinator/rollout", "coordinator/act"},
		{"the model and the policy know no engine", "coordinator/policy", "engines"},
		{"the model and the policy know no engine", "coordinator/model", "engines"},
		{"what is known of a cluster knows no rules", "coordinator/policy/cluster", "coordinator/policy"},
		{"a forecast knows no rules", "coordinator/policy/forecast", "coordinator/policy"},
		{"the model decides nothing", "coordinator/model", "coordinator/policy"},
		{"effects know nothing of who decides on them", "coordinator/rollout/effect", "coordinator/rollout"},
	} {
		want.From, want.To = Module+"/"+want.From, Module+"/"+want.To
		require.Contains(t, Check(Module, []Package{{ImportPath: want.From, Deps: []string{want.To}}}, rules), want)
	}
	require.Empty(t, Check(Module, []Package{
		{ImportPath: Module + "/engines/mysql", Deps: []string{Module + "/engines/mysql/gtid", Module + "/engines/web"}},
		{ImportPath: Module + "/coordinator", Deps: []string{Module + "/engines/mysql"}},
		{ImportPath: Module + "/cmd/rollcall-agent", Deps: []string{Module + "/engines/solr"}},
	}, rules))
}

// A module in which rules are broken, some directly and some through another
// package.
func TestArrowsFailWhenBroken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + Module + "\n\ngo 1.26\n\nrequire (\n k8s.io/fake v0.0.0\n example.com/lib v0.0.0\n)\n" +
			"replace k8s.io/fake => ./k8s\nreplace example.com/lib => ./lib\n",
		"k8s/go.mod":                    "module k8s.io/fake\n",
		"k8s/fake.go":                   "package fake\n",
		"lib/go.mod":                    "module example.com/lib\n",
		"lib/lib.go":                    "package lib\n",
		"agent/agent.go":                "package agent\nimport _ \"" + Module + "/inner\"\n",
		"agent/gossip/gossip.go":        "package gossip\nimport _ \"" + Module + "/engines\"\n",
		"inner/inner.go":                "package inner\nimport _ \"k8s.io/fake\"\n",
		"engines/engine.go":             "package engines\n",
		"engines/solr/solr.go":          "package solr\nimport _ \"" + Module + "/coordinator\"\n",
		"coordinator/coordinator.go":    "package coordinator\n",
		"coordinator/sim/sim.go":        "package sim\n",
		"test/sim/sim.go":               "package sim\n",
		"cmd/rollcall/main.go":          "package main\nimport _ \"" + Module + "/test/sim\"\nfunc main() {}\n",
		"test/fdbsim/model/model.go":    "package model\nimport _ \"" + Module + "/engines\"\n",
		"cmd/rollcall-coordinator/m.go": "package main\nimport _ \"" + Module + "/coordinator/sim\"\nfunc main() {}\n",
		"coordinator/policy/policy.go":  "package policy\nimport (\n _ \"example.com/lib\"\n _ \"strings\"\n)\n",
		"coordinator/rollout/step.go":   "package rollout\nimport (\n _ \"example.com/lib\"\n _ \"strings\"\n)\n",
		"cmd/rollcall-agent/main.go":    "package main\nimport (\n _ \"" + Module + "/coordinator\"\n _ \"" + Module + "/engines/solr\"\n)\nfunc main() {}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	packages, err := List(dir, "./...")
	require.NoError(t, err)
	var got []string
	for _, b := range Check(Module, packages, Rules(packages)) {
		got = append(got, strings.ReplaceAll(b.String(), Module+"/", ""))
	}
	require.Equal(t, []string{
		"engines know databases only: engines/solr depends on coordinator",
		"gossip knows nothing of databases: agent/gossip depends on engines",
		"no program has tests in it: cmd/rollcall depends on test/sim",
		"policy is values in, values out: coordinator/policy depends on example.com/lib",
		"the agent knows no Kubernetes: agent depends on k8s.io/fake",
		"the agent knows no coordinator: cmd/rollcall-agent depends on coordinator",
		"the rollout core is values in, values out: coordinator/rollout depends on example.com/lib",
		"the simulated FoundationDB knows nothing of Rollcall: test/fdbsim/model depends on engines",
		"what runs beside a database has no simulation: cmd/rollcall-coordinator depends on coordinator/sim",
	}, got)
}

// onlyHere may remove pods and volume claims.
const onlyHere = "coordinator/act/remove.go"

// testSupport stands in for an API server in tests, and testPages are rollouts to show in them.
const (
	testSupport = "coordinator/kubetest"
	testPages   = "coordinator/status/web/webtest"
)

// naiveTwin decides a second time in tests.
const naiveTwin = "coordinator/policy/naive"

// onlyForTests are the packages that only tests import, which TestTestSupportIsNotLinked holds.
var onlyForTests = []string{testSupport, testPages, naiveTwin}

func TestOneFileRemovesPods(t *testing.T) {
	removals, err := ScanTree(root, []string{"coordinator", "cmd", "agent", "engines"}, func(path string) bool {
		return path == onlyHere || strings.HasPrefix(path, testSupport+"/")
	})
	require.NoError(t, err)
	for _, r := range removals {
		t.Error(r)
	}
	source, err := os.ReadFile(filepath.Join(root, onlyHere))
	require.NoError(t, err)
	allowed, err := Scan(onlyHere, source)
	require.NoError(t, err)
	require.NotEmpty(t, allowed, "the scan recognises what the one file does")
}

func TestTestSupportIsNotLinked(t *testing.T) {
	packages, err := List(root, "./cmd/...")
	require.NoError(t, err)
	for _, folder := range onlyForTests {
		for _, p := range packages {
			require.NotEqual(t, Module+"/"+folder, p.ImportPath)
		}
		sources, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, sources, "%s is there, and has not moved", folder)
	}
}

// TestTheTwinSharesNothing but the model with what it judges.
func TestTheTwinSharesNothing(t *testing.T) {
	packages, err := List(root, "./"+naiveTwin)
	require.NoError(t, err)
	for _, p := range packages {
		if p.ImportPath != Module+"/"+naiveTwin {
			continue
		}
		for _, imported := range p.Imports {
			if strings.Contains(imported, ".") {
				require.Equal(t, Module+"/coordinator/model", imported, "above all not what the policy counts by, coordinator/policy/cluster")
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(root, naiveTwin, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	judged := regexp.MustCompile(`(policy|model)\.(Decide|Recheck|Returned|Explain|Validate|Successors|Replacements|ForceDeletes|Rules|Overridable)\(`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, judged, string(source), file)
	}
}

func TestScanFindsRemovals(t *testing.T) {
	for body, want := range map[string]string{
		`c.PolicyV1().Evictions(ns).Evict(ctx, e)`:                          "calls Evict",
		`c.CoreV1().Pods(ns).EvictV1(ctx, e)`:                               "calls EvictV1",
		`c.CoreV1().Pods(ns).Delete(ctx, name, o)`:                          "calls Delete of Pods",
		`c.CoreV1().PersistentVolumeClaims(ns).Delete(ctx, name, o)`:        "calls Delete of PersistentVolumeClaims",
		`pods := c.CoreV1().Pods(ns); pods.Delete(ctx, name, o)`:            "not named on the spot",
		`s.pods.Delete(ctx, name, o)`:                                       "not named on the spot",
		`c.CoreV1().Pods(ns).DeleteCollection(ctx, o, l)`:                   "calls DeleteCollection of Pods",
		`d.Resource(gvr).Namespace(ns).Delete(ctx, name, o)`:                "calls Delete of Namespace",
		`c.CoreV1().RESTClient().Delete().Resource("pods").Name(n).Do(x)`:   "calls Delete of RESTClient",
		`c.CoreV1().Pods(ns).Create(ctx, e, o, "eviction")`:                 "subresource eviction",
		`rest.Post().Resource("pods").SubResource("eviction").Do(ctx)`:      "subresource eviction",
		`r.Verb("POST").Resource("pods/eviction").Do(ctx)`:                  "subresource pods/eviction",
		`go func() { defer c.CoreV1().Pods(ns).Delete(ctx, name, o) }()`:    "calls Delete of Pods",
		`c.CoreV1().Services(ns).Delete(ctx, name, o)`:                      "",
		`c.PolicyV1().PodDisruptionBudgets(ns).Delete(ctx, name, o)`:        "",
		`delete(m, k); m.Delete(k); gauge.Delete(labels)`:                   "",
		`slices.Delete(s, 1, 2)`:                                            "",
		`strings.HasSuffix(path, "/eviction")`:                              "",
		`for _, verb := range []string{"eviction"} { use(verb); c.Pods() }`: "",
	} {
		removals, err := Scan("x.go", []byte("package x\nimport \"slices\"\nfunc f() {\n"+body+"\n}\n"))
		require.NoError(t, err, body)
		if want == "" {
			require.Empty(t, removals, body)
			continue
		}
		require.NotEmpty(t, removals, body)
		require.Contains(t, removals[0].String(), want, body)
		require.Contains(t, removals[0].String(), "x.go:4")
	}
	_, err := Scan("x.go", []byte("not Go"))
	require.Error(t, err)
}

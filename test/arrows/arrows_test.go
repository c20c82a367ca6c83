package arrows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/rollcall-dev/rollcall"

var root = filepath.Join("..", "..")

var kubernetes = []string{"k8s.io", "sigs.k8s.io"}

var rules = []Rule{
	{Name: "the agent knows no Kubernetes", From: []string{"agent", "cmd/rollcall-agent"}, Never: kubernetes},
	{Name: "the agent knows no coordinator", From: []string{"agent", "cmd/rollcall-agent"}, Never: []string{"coordinator"}},
	{Name: "the agent's library knows no database", From: []string{"agent"}, Never: []string{
		"engines/solr", "engines/opensearch", "engines/memory", "engines/web",
	}},
	{Name: "an adapter knows no other", From: []string{"engines/solr"}, Never: []string{"engines/opensearch"}},
	{Name: "an adapter knows no other", From: []string{"engines/opensearch"}, Never: []string{"engines/solr"}},
	{Name: "what adapters share knows none of them", From: []string{"engines/web", "engines/credentials"}, Never: []string{
		"engines/solr", "engines/opensearch",
	}},
	{Name: "gossip knows nothing of databases", From: []string{"agent/gossip"}, Never: []string{"engines"}},
	{Name: "engines know databases only", From: []string{"engines"}, Never: append([]string{"agent", "coordinator", "proto", "github.com/hashicorp/memberlist"}, kubernetes...)},
	{Name: "no program has tests in it", From: []string{"agent", "cmd", "coordinator", "engines", "proto"}, Never: []string{"test"}},
	// Only rollcall rehearse has a simulation to show, and it runs on a person's machine.
	{Name: "what runs beside a database has no simulation", From: []string{
		"agent", "engines", "cmd/rollcall-agent", "cmd/rollcall-coordinator",
	}, Never: []string{"coordinator/sim"}},
	// What proves the FoundationDB adapter must not make the adapter's mistakes, so they share nothing.
	{Name: "the simulated FoundationDB knows nothing of Rollcall", From: []string{"test/fdbsim"}, Never: []string{
		"agent", "cmd", "coordinator", "engines", "proto",
	}},
	{Name: "policy is values in, values out", From: []string{"coordinator/policy"}, StandardOnly: true},
}

func TestArrows(t *testing.T) {
	packages, err := List(root, "./agent/...", "./engines/...", "./cmd/...", "./coordinator/...", "./test/fdbsim/...")
	require.NoError(t, err)
	// The policy's own packages are no foreign ones.
	for i, p := range packages {
		if strings.HasPrefix(p.ImportPath, module+"/coordinator/policy") {
			packages[i].Standard = true
		}
	}
	for _, b := range Check(module, packages, rules) {
		t.Error(b)
	}
	for _, path := range []string{"agent", "agent/gossip", "engines", "coordinator/policy", "cmd/rollcall", "cmd/rollcall-agent", "cmd/rollcall-coordinator", "coordinator/sim/run", "test/fdbsim/model"} {
		found := false
		for _, p := range packages {
			found = found || p.ImportPath == module+"/"+path
		}
		require.True(t, found, "%s is looked at", path)
	}
}

// A module in which every rule is broken, once directly and once through another
// package.
func TestArrowsFailWhenBroken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module " + module + "\n\ngo 1.26\n\nrequire (\n k8s.io/fake v0.0.0\n example.com/lib v0.0.0\n)\n" +
			"replace k8s.io/fake => ./k8s\nreplace example.com/lib => ./lib\n",
		"k8s/go.mod":                    "module k8s.io/fake\n",
		"k8s/fake.go":                   "package fake\n",
		"lib/go.mod":                    "module example.com/lib\n",
		"lib/lib.go":                    "package lib\n",
		"agent/agent.go":                "package agent\nimport _ \"" + module + "/inner\"\n",
		"agent/gossip/gossip.go":        "package gossip\nimport _ \"" + module + "/engines\"\n",
		"inner/inner.go":                "package inner\nimport _ \"k8s.io/fake\"\n",
		"engines/engine.go":             "package engines\n",
		"engines/solr/solr.go":          "package solr\nimport _ \"" + module + "/coordinator\"\n",
		"coordinator/coordinator.go":    "package coordinator\n",
		"coordinator/sim/sim.go":        "package sim\n",
		"test/sim/sim.go":               "package sim\n",
		"cmd/rollcall/main.go":          "package main\nimport _ \"" + module + "/test/sim\"\nfunc main() {}\n",
		"test/fdbsim/model/model.go":    "package model\nimport _ \"" + module + "/engines\"\n",
		"cmd/rollcall-coordinator/m.go": "package main\nimport _ \"" + module + "/coordinator/sim\"\nfunc main() {}\n",
		"coordinator/policy/policy.go":  "package policy\nimport (\n _ \"example.com/lib\"\n _ \"strings\"\n)\n",
		"cmd/rollcall-agent/main.go":    "package main\nimport (\n _ \"" + module + "/coordinator\"\n _ \"" + module + "/engines/solr\"\n)\nfunc main() {}\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	packages, err := List(dir, "./...")
	require.NoError(t, err)
	var got []string
	for _, b := range Check(module, packages, rules) {
		got = append(got, strings.ReplaceAll(b.String(), module+"/", ""))
	}
	require.Equal(t, []string{
		"engines know databases only: engines/solr depends on coordinator",
		"gossip knows nothing of databases: agent/gossip depends on engines",
		"no program has tests in it: cmd/rollcall depends on test/sim",
		"policy is values in, values out: coordinator/policy depends on example.com/lib",
		"the agent knows no Kubernetes: agent depends on k8s.io/fake",
		"the agent knows no coordinator: cmd/rollcall-agent depends on coordinator",
		"the simulated FoundationDB knows nothing of Rollcall: test/fdbsim/model depends on engines",
		"what runs beside a database has no simulation: cmd/rollcall-coordinator depends on coordinator/sim",
	}, got)
}

// onlyHere may remove pods and volume claims.
const onlyHere = "coordinator/act/remove.go"

// testSupport stands in for an API server in tests; no program links it, which
// TestTestSupportIsNotLinked holds.
const testSupport = "coordinator/kubetest"

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
	for _, p := range packages {
		require.NotEqual(t, module+"/"+testSupport, p.ImportPath)
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

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// contract lists the commands that users may rely on, and what each prints with -o.
var contract = map[string][]string{
	"get": {"json", "yaml", "wide"}, "status": {"json", "yaml"}, "explain": {"json", "yaml"}, "plan": {"json", "yaml"},
	"snapshot": {"json", "yaml"}, "watch": nil, "pause": nil, "resume": nil, "approve": nil, "override": nil, "restart": nil,
	"replace": nil, "drain": nil, "doctor": {"json", "yaml"}, "enroll": {"json", "yaml"}, "inject": nil, "journal": {"json", "yaml"}, "replay": {"json", "yaml"},
	"install": nil, "uninstall": nil, "upgrade-agents": {"json"}, "guard-expire": nil, "version": {"json", "yaml"}, "completion": nil,
}

// More than the contract: guard-remove, page, rehearse and what cobra adds.
func TestEachCommandSaysHowItIsUsed(t *testing.T) {
	root := newRoot("rollcall", genericiooptions.NewTestIOStreamsDiscard())
	var there []string
	for _, c := range root.Commands() {
		there = append(there, c.Name())
		require.NotEmpty(t, c.Short, c.Name())
		require.Contains(t, c.Example, "rollcall ", "%s: an example", c.Name())
		require.Contains(t, c.Long, "exit status", "%s: what its exit status means", c.Name())
		if c.Name() != "completion" {
			require.Contains(t, c.Example, "rollcall "+c.Name(), "%s: an example of it", c.Name())
		}
		for _, format := range contract[c.Name()] {
			require.NotNil(t, c.Flag("output"), c.Name())
			require.Contains(t, strings.Fields(strings.ReplaceAll(c.Flag("output").Usage, ",", " ")), format, c.Name())
			require.NoError(t, c.Flags().Set("output", format), c.Name())
		}
	}
	for name := range contract {
		require.Contains(t, there, name)
	}
	for _, name := range append(slices.Clone(there), "completion bash") {
		streams, _, out, stderr := genericiooptions.NewTestIOStreams()
		args := append(append([]string{"rollcall"}, strings.Fields(name)...), "--help")
		require.Equal(t, cli.ExitDone, run(t.Context(), args, streams), "%s: %s", name, stderr)
		require.Contains(t, out.String(), "Usage:", name)
	}
}

func TestGetWide(t *testing.T) {
	w := newWorld(t, rolling(t))
	lines := strings.Split(w.must("get", "-o", "wide"), "\n")
	require.Equal(t, []string{"NAME", "ENGINE", "PHASE", "UPDATED", "READY", "UNAVAIL", "FAILED", "LIMIT", "FORECAST", "DECIDED", "WAITING", "FOR"}, strings.Fields(lines[0]))
	row := strings.Fields(lines[1])
	require.Equal(t, "1", row[7])
	require.NotEqual(t, "-", row[8])
	require.NotEqual(t, "-", row[9])
	require.NotContains(t, w.must("get"), "FORECAST")
	for _, line := range strings.Split(w.must("get", "-A", "-o", "wide"), "\n") {
		require.LessOrEqual(t, len(line), 120, line)
	}
}

// TestNamesAreCompleted checks that shells complete the names that exist.
func TestNamesAreCompleted(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.object(&v1alpha1.DatabaseCluster{})
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	w.set("/api/v1/namespaces/prod/pods", &corev1.PodList{Items: []corev1.Pod{{ObjectMeta: named("search-0")}, {ObjectMeta: named("search-1")}}})
	w.set(setsPath, &appsv1.StatefulSetList{Items: []appsv1.StatefulSet{{ObjectMeta: named("solr")}, {ObjectMeta: named("zk")}}})
	w.set("/api/v1/namespaces", &corev1.NamespaceList{Items: []corev1.Namespace{{ObjectMeta: named("prod")}, {ObjectMeta: named("test")}}})
	w.set("/api/v1/nodes", &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: named("node-1")}, {ObjectMeta: named("other")}}})
	for line, want := range map[string]string{
		"status|":                      "search",
		"get|":                         "search",
		"watch|":                       "search",
		"plan|":                        "search",
		"pause|":                       "search",
		"approve|--what|adopt|":        "search",
		"journal|":                     "search",
		"snapshot|":                    "search",
		"upgrade-agents|":              "search",
		"status|search|":               "",
		"explain|":                     "search-0 search-1",
		"explain|search-1":             "search-1",
		"explain|--database-cluster|":  "search",
		"replace|":                     "search-0 search-1",
		"restart|search|--pod|":        "search-0 search-1",
		"override|search|--pod|":       "search-0 search-1",
		"enroll|":                      "solr zk",
		"enroll|solr|":                 "zk",
		"enroll|solr|--engine|":        "Solr OpenSearch MySQL MariaDB Galera ZooKeeper FoundationDB",
		"drain|":                       "node-1 other",
		"drain|n":                      "node-1",
		"status|-n|":                   "prod test",
		"get|--install-namespace|t":    "test",
		"get|-o|":                      "text wide json yaml",
		"approve|search|--what|adop":   "adopt",
		"rehearse|--fault|kill-leader": "kill-leader",
	} {
		out := w.must(append([]string{"__complete"}, strings.Split(line, "|")...)...)
		offered, directive, _ := strings.Cut(out, ":")
		var got []string
		for _, l := range strings.Split(offered, "\n") {
			if name, _, _ := strings.Cut(l, "\t"); name != "" && strings.HasPrefix(name, line[strings.LastIndex(line, "|")+1:]) {
				got = append(got, name)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), line)
		require.Equal(t, "4", strings.TrimSpace(directive), "%s: no files are offered", line)
	}
	// Whoever may not list pods is offered none, and no words about that where they would be typed.
	w.forbid("/api/v1/namespaces/prod/pods")
	code, stdout, _ := w.run("__complete", "explain", "")
	require.Zero(t, code)
	require.Equal(t, ":1\n", stdout)
}

func TestCompletionScriptsAreScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		streams, _, out, stderr := genericiooptions.NewTestIOStreams()
		require.Equal(t, cli.ExitDone, run(t.Context(), []string{"rollcall", "completion", shell}, streams), stderr)
		require.Contains(t, out.String(), "rollcall", shell)
		if shell != "bash" {
			continue
		}
		check := exec.CommandContext(t.Context(), "bash", "-n")
		check.Stdin = strings.NewReader(out.String())
		said, err := check.CombinedOutput()
		require.NoError(t, err, string(said))
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/rollcall-dev/rollcall/cmd/printable"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/locked"
	"github.com/rollcall-dev/rollcall/test/terminal"
)

// What strangers send: a title, a cleared screen, colours, text that runs backwards.
const (
	hostile = "\x1b]0;owned\a\x1b[2J\u009b31m\u202eevil\u2066\r\b\x7f\u2028end"
	// notUTF8 is for where it may be: 0x9b begins a sequence on terminals of eight bits.
	notUTF8 = hostile + "\x9b31m\xff"
)

// screen is what a printable.Writer writes.
func screen(text string) string {
	var out bytes.Buffer
	w := printable.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	w.Flush()
	return out.String()
}

func harmless(t *testing.T, text string, of ...string) {
	t.Helper()
	require.Equal(t, screen(text), text, "%q", of)
}

// hostileWorld is a coordinator whose words are all another's.
func hostileWorld(t *testing.T) *world {
	return newWorld(t, rolling(t, func(s *model.Snapshot) {
		s.Health.Verdict, s.Health.Reason = model.VerdictRed, hostile
		for i := range s.Pods {
			p := &s.Pods[i]
			p.Zone, p.Node, p.Revision = hostile, hostile, hostile
			p.Report.Roles = []string{hostile}
		}
		s.Pods[1].Name += hostile
	}))
}

// No command writes to a terminal what a coordinator's words would have it do.
func TestWordsDoNotSteerTheTerminal(t *testing.T) {
	w := hostileWorld(t)
	for _, args := range [][]string{
		{"get"}, {"get", "-A"}, {"get", "-o", "wide"}, {"status", "search"}, {"explain", "search-0"}, {"explain", "search-1" + hostile}, {"plan", "search"},
		{"snapshot", "search"}, {"journal", "search"}, {"doctor", "search"}, {"__complete", "explain", ""}, {"__complete", "status", ""},
	} {
		code, stdout, stderr := w.run(args...)
		harmless(t, stdout, args...)
		harmless(t, stderr, args...)
		if args[0] == "status" || args[0] == "plan" {
			require.Zero(t, code, stderr)
			require.Contains(t, stdout, "evil")
		}
	}
	for _, args := range [][]string{{"get"}, {"status", "search"}, {"explain", "search-0"}, {"plan", "search"}, {"snapshot", "search"}} {
		asJSON, asYAML := w.must(append(args, "-o", "json")...), w.must(append(args, "-o", "yaml")...)
		harmless(t, asJSON, args...)
		harmless(t, asYAML, args...)
		require.True(t, json.Valid([]byte(asJSON)), asJSON)
		if args[0] == "snapshot" {
			s, err := model.Decode([]byte(asJSON))
			require.NoError(t, err)
			require.Equal(t, hostile, s.Health.Reason, "nothing is lost")
		}
	}
	for _, args := range [][]string{{"get"}, {"status", "search"}, {"explain", "search-0"}, {"plan", "search"}} {
		out, err := terminal.Run(w.on(nil, args...), 100, 40)
		require.NoError(t, err, out)
		harmless(t, colours.ReplaceAllString(out, ""), args...)
	}
}

// refusing is an API server that says no, and warns, in its own words.
func refusing(rw http.ResponseWriter, _ *http.Request) bool {
	rw.Header().Add("Warning", "299 - \"a warning \u202eevil\"") // with more, client-go does not show it
	answer(rw, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: hostile})
	return true
}

// Each command with each of its flags, before an API server that is hostile, too.
func TestArgumentsAndRefusalsDoNotSteerTheTerminal(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.mu.Lock()
	w.serving = refusing
	w.mu.Unlock()
	t.Chdir(t.TempDir())
	tried := 0
	try := func(args ...string) {
		tried++
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, stdout, stderr := w.runUntil(ctx, args...)
		harmless(t, stdout, args...)
		harmless(t, stderr, args...)
	}
	try(notUTF8)
	try("--" + notUTF8)
	try("help", notUTF8)
	root := newRoot("rollcall", genericiooptions.NewTestIOStreamsDiscard())
	for _, c := range root.Commands() {
		name := c.Name()
		try(name, notUTF8)
		try(name, "search")
		try(name, "--"+notUTF8)
		try("__complete", name, "--"+notUTF8, "")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				try(name, "search", "--"+f.Name+"="+notUTF8)
			}
		})
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { try("status", "search", "--"+f.Name+"="+notUTF8) })
	require.Greater(t, tried, 150)
	_, _, stderr := w.run("status", "search")
	require.Contains(t, stderr, "evil", "the refusal is told")
}

// What libraries write past the commands: warnings of an API server, and what is wrong
// with a completion.
func TestLibrariesDoNotSteerTheTerminal(t *testing.T) {
	w := newWorld(t, rolling(t))
	w.mu.Lock()
	w.serving = refusing
	w.mu.Unlock()
	out, _ := terminal.Run(w.on(nil, "pause", "search"), 100, 40)
	require.Contains(t, out, `a warning \u202eevil`)
	for _, args := range [][]string{
		{"doctor", "search"}, {"__complete", "status", "--" + hostile, ""}, {"__complete", "get", "-o", hostile, ""}, {hostile},
	} {
		out, _ := terminal.Run(w.on(nil, args...), 100, 40)
		require.Contains(t, out, "evil")
		harmless(t, out, args...)
	}
}

func TestLogsDoNotSteerTheTerminal(t *testing.T) {
	var out locked.Buffer
	logTo(&out)
	t.Cleanup(func() { logTo(os.Stderr) })
	klog.Errorf("from klog: %s", notUTF8)
	klog.Flush()
	log.Printf("from log: %s", notUTF8)
	require.Contains(t, out.String(), "from klog: \\u001b")
	require.Contains(t, out.String(), "from log: \\u001b")
	harmless(t, out.String())
}

// Files of all kinds, read as each document that there is.
func TestFilesDoNotSteerTheTerminal(t *testing.T) {
	w := newWorld(t, rolling(t))
	quoted, err := json.Marshal(hostile)
	require.NoError(t, err)
	snapshot := w.must("snapshot", "search")
	for i, text := range []string{
		notUTF8, "{", "{" + notUTF8 + ": 1}", "? " + notUTF8,
		fmt.Sprintf("{%s: 1, %[1]s: 2}", quoted), fmt.Sprintf("%s: .nan", quoted), fmt.Sprintf("a: *%s", quoted), "a: &x\u202e 1\nb: *y\u202e",
		fmt.Sprintf(`{"version": %s}`, quoted), fmt.Sprintf(`{"version": 1, %s: 1}`, quoted), fmt.Sprintf(`{"kind": %s, "apiVersion": %[1]s}`, quoted),
		strings.ReplaceAll(snapshot, `"search-1"`, string(quoted)), strings.ReplaceAll(snapshot, `"Solr"`, string(quoted)), strings.ReplaceAll(snapshot, `"Ready"`, string(quoted)),
		fmt.Sprintf("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %s}\nspec: {template: {metadata: {labels: {rollcall.dev/cluster: %[1]s}}}}\n", quoted),
		fmt.Sprintf("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {template: {spec: %s}}\n", quoted),
		fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: %s\n", quoted),
		fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: %s}}]\n", quoted),
		fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: https://127.0.0.1:1, certificate-authority: %s}}]\nusers: [{name: u, user: {exec: {apiVersion: %[1]s, command: %[1]s, interactiveMode: Never}}}]\n", quoted),
	} {
		file := filepath.Join(t.TempDir(), "a\x1b[2J"+hostile[:4])
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		for _, args := range [][]string{
			{"plan", "--snapshot", file}, {"plan", "--snapshot", file, "-o", "yaml"}, {"explain", "search-0", "--snapshot", file}, {"replay", file},
			{"page", "--listen", "127.0.0.1:0", "--journal", file},
			{"inject", "-f", file, "--agent-image", "a"}, {"doctor", "-f", file}, {"doctor", "-f", file, "-o", "json"}, {"status", "search", "--kubeconfig", file}, {"status", "search", "--coordinator", "127.0.0.1:1", "--ca", file},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			_, stdout, stderr := w.runUntil(ctx, args...)
			cancel()
			if args[0] != "inject" { // the user's own document, into a pipe
				harmless(t, stdout, append(args, fmt.Sprint(i))...)
			}
			harmless(t, stderr, append(args, fmt.Sprint(i))...)
		}
	}
}

// Into a pipe the user's own documents go as they are; on a terminal they do not steer it.
func TestManifestsAreWrittenAsTheyAre(t *testing.T) {
	w := newWorld(t)
	manifest := "# \u202eevil\u202c\nkind: ConfigMap\n"
	file := filepath.Join(t.TempDir(), "m.yaml")
	require.NoError(t, os.WriteFile(file, []byte(manifest), 0o600))
	args := []string{"inject", "-f", file, "--agent-image", "a"}
	require.Equal(t, manifest, w.must(args...))
	out, err := terminal.Run(w.on(nil, args...), 100, 40)
	require.NoError(t, err, out)
	require.Contains(t, out, `# \u202eevil\u202c`)
}

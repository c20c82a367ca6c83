package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// written is a Markdown file with its code blocks.
type written struct {
	file  string // from the root of the repository
	prose string // without code blocks
	spans []string
	// blocks are the blocks of code, fenced or indented, without the indentation.
	blocks []string
}

const repository = "../.."

// pages are the README and what is in deploy/docs and .github.
func pages(t *testing.T) []written {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repository, "deploy", "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	github, err := filepath.Glob(filepath.Join(repository, ".github", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, github)
	files = append(files, github...)
	var out []written
	for _, name := range append(files, filepath.Join(repository, "README.md")) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := filepath.Rel(repository, name)
		require.NoError(t, err)
		out = append(out, writtenIn(filepath.ToSlash(file), string(text)))
	}
	return out
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

func writtenIn(file, text string) written {
	p := written{file: file}
	var prose, block []string
	fenced, list := false, false
	end := func() {
		if code := dedent(block); strings.TrimSpace(code) != "" {
			p.blocks = append(p.blocks, code)
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
			end()
		case fenced, line == "" && len(block) > 0:
			block = append(block, line)
		case indent >= 7, indent >= 4 && !list: // text below a list item is indented by up to 3
			block = append(block, line)
		default:
			end()
			if line != "" {
				list = listItem.MatchString(line) || list && indent > 0
			}
			prose = append(prose, line)
		}
	}
	end()
	p.prose = strings.Join(prose, "\n")
	for _, m := range codeSpan.FindAllStringSubmatch(p.prose, -1) {
		p.spans = append(p.spans, m[1])
	}
	return p
}

var listItem = regexp.MustCompile(`^([0-9]+\.|[-*]) `)

func dedent(lines []string) string {
	least := -1
	for _, l := range lines {
		if indent := len(l) - len(strings.TrimLeft(l, " ")); l != "" && (least < 0 || indent < least) {
			least = indent
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = l[min(max(least, 0), len(l)):]
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n")
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are those that a file's headings get where Markdown is shown.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, file))
	require.NoError(t, err)
	var out []string
	for _, m := range heading.FindAllStringSubmatch(writtenIn(file, string(text)).prose, -1) {
		out = append(out, strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return out
}

func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	seen := 0
	for _, p := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(p.prose, ""), -1) {
			target, anchor, anchored := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			seen++
			to := p.file
			if target != "" {
				to = path.Join(path.Dir(p.file), target)
				require.FileExists(t, filepath.Join(repository, to), "%s: %s", p.file, m[1])
			}
			if anchored {
				require.Contains(t, anchors(t, to), anchor, "%s: %s", p.file, m[1])
			}
		}
	}
	require.Greater(t, seen, 50, "links are found")
}

func TestEveryPageIsInTheIndex(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(repository, "deploy", "docs", "README.md"))
	require.NoError(t, err)
	for _, p := range pages(t) {
		if name, ok := strings.CutPrefix(p.file, "deploy/docs/"); ok && name != "README.md" {
			require.Contains(t, string(index), "["+name+"]("+name+")")
		}
	}
}

// parts are the commands of a line.
var parts = regexp.MustCompile(`&&|\|\||[|;]`)

// commands are those of a page, each with its words: what is typed, not what is printed.
func (p written) commands() [][]string {
	var out [][]string
	lines := slices.Clone(p.spans)
	for _, b := range p.blocks {
		lines = append(lines, strings.Split(strings.ReplaceAll(b, "\\\n", " "), "\n")...)
	}
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " #")
		for _, command := range parts.Split(line, -1) {
			words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(command), "$ "))
			if len(words) > 1 && words[0] == "kubectl" && words[1] == "rollcall" {
				words = words[1:]
			}
			if len(words) > 0 {
				words[0] = strings.TrimPrefix(words[0], "bin/")
				out = append(out, words)
			}
		}
	}
	return out
}

// foreign are flags that a page names by themselves, of programs that are not ours.
var foreign = map[string]string{
	"admission-control-config-file":      "kube-apiserver",
	"force":                              "kubectl delete",
	"use-service-account-credentials":    "kube-controller-manager",
	"locality_zoneid":                    "fdbserver",
	"locality_instance_id":               "fdbserver",
	"locality_dns_name":                  "fdbserver",
	"replace-on-security-context-change": "the FoundationDB operator",
}

// elsewhere are the flags that our other programs define.
func elsewhere(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	defined := regexp.MustCompile(`\.\w*Var\(&[\w.]+, "([a-z-]+)"`)
	for _, file := range []string{"cmd/rollcall-agent/main.go", "cmd/rollcall-coordinator/options.go"} {
		text, err := os.ReadFile(filepath.Join(repository, file))
		require.NoError(t, err)
		found := defined.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found, file)
		for _, m := range found {
			out[m[1]] = true
		}
	}
	return out
}

// hasFlag reports whether the word is a flag of the command, or no flag at all.
func hasFlag(cmd *cobra.Command, word string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	cmd.InitDefaultHelpFlag()
	switch {
	case !strings.HasPrefix(word, "-") || name == "":
		return true
	case strings.HasPrefix(word, "--"):
		return cmd.Flag(name) != nil
	}
	short := func(f *pflag.FlagSet) bool { return f.ShorthandLookup(name[:1]) != nil }
	return short(cmd.Flags()) || short(cmd.InheritedFlags())
}

// TestCommandsOfThePagesExist checks that the commands in the pages exist.
func TestCommandsOfThePagesExist(t *testing.T) {
	root := newRoot("rollcall", genericiooptions.NewTestIOStreamsDiscard())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	anyFlag := elsewhere(t)
	for _, c := range append(root.Commands(), root) {
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) { anyFlag[f.Name] = true })
		c.InheritedFlags().VisitAll(func(f *pflag.Flag) { anyFlag[f.Name] = true })
	}
	makefile, err := os.ReadFile(filepath.Join(repository, "Makefile"))
	require.NoError(t, err)
	seen := map[string]int{}
	for _, p := range pages(t) {
		for _, words := range p.commands() {
			where := p.file + ": " + strings.Join(words, " ")
			switch {
			case words[0] == "rollcall":
				cmd, rest, err := root.Find(words[1:])
				require.NoError(t, err, where)
				require.True(t, cmd != root || len(words) == 1 || strings.HasPrefix(words[1], "-"), "%s: no such command", where)
				for _, word := range rest {
					require.True(t, hasFlag(cmd, strings.Trim(word, "[]()")), "%s: no flag %s", where, word)
				}
				seen["rollcall"]++
			case words[0] == "make" && len(words) > 1 && !strings.HasPrefix(words[1], "bin/"):
				require.Contains(t, string(makefile), "\n"+words[1]+":", where)
				seen["make"]++
			}
		}
		for _, span := range p.spans {
			name, _, _ := strings.Cut(strings.Fields(span)[0], "=")
			if flag := strings.TrimLeft(name, "-"); flag != name && len(flag) > 1 {
				require.True(t, anyFlag[flag] || foreign[flag] != "", "%s: nothing has the flag %s", p.file, name)
				seen["flag"]++
			}
		}
	}
	require.Greater(t, seen["rollcall"], 60, "commands are found")
	require.Greater(t, seen["make"], 10, "targets are found")
	require.Greater(t, seen["flag"], 10, "flags are found")
}

// TestDatabaseClustersOfThePagesAreOnes checks that DatabaseClusters in the pages, and parts of
// their specs, have only existing fields.
func TestDatabaseClustersOfThePagesAreOnes(t *testing.T) {
	whole, pieces := 0, 0
	for _, p := range pages(t) {
		for _, block := range p.blocks {
			var d v1alpha1.DatabaseCluster
			switch {
			case strings.Contains(block, "\nkind: "+v1alpha1.Kind+"\n"):
				require.NoError(t, yaml.UnmarshalStrict([]byte(block), &d), "%s:\n%s", p.file, block)
				require.Equal(t, v1alpha1.GroupVersion.String(), d.APIVersion, p.file)
				require.NotEmpty(t, d.Name, p.file)
				require.NotEmpty(t, d.Spec.Engine, p.file)
				whole++
			case strings.HasPrefix(block, "spec:\n"):
				require.NoError(t, yaml.UnmarshalStrict([]byte(block), &d), "%s:\n%s", p.file, block)
				pieces++
			}
		}
	}
	require.GreaterOrEqual(t, whole, 2)
	require.GreaterOrEqual(t, pieces, 2)
}

// TestConceptsShowWhatIsPrinted checks that the output in concepts.md is what the commands print
// for its snapshot.
func TestConceptsShowWhatIsPrinted(t *testing.T) {
	const file = "deploy/docs/concepts.md"
	text, err := os.ReadFile(filepath.Join(repository, file))
	require.NoError(t, err)
	p := writtenIn(file, string(text))
	t.Chdir(t.TempDir())
	shown := 0
	for _, block := range p.blocks {
		if strings.HasPrefix(block, "version: 1\n") {
			require.NoError(t, os.WriteFile("search.yaml", []byte(block), 0o600))
		}
		command, want, ok := strings.Cut(block, "\n")
		args, ok2 := strings.CutPrefix(command, "$ ")
		if !ok || !ok2 {
			continue
		}
		shown++
		// Its own process, as of people: one process rehearses once. TestMain has put the program into the path.
		words := strings.Fields(args)
		out, err := exec.CommandContext(t.Context(), words[0], words[1:]...).Output()
		require.NoError(t, err, args)
		if strings.Contains(want, "\n...\n") {
			require.Empty(t, firstMissing(want, string(out)), "%s shows this; it is not printed, or before the line before it", file)
		} else {
			require.Equal(t, want+"\n", string(out), "%s shows another output of %s", file, args)
		}
	}
	require.Equal(t, 3, shown)
}

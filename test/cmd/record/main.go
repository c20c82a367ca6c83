//go:build linux

// Command record writes an SVG of a terminal in which rollcall really ran:
// deploy/docs/images/terminal.svg, which the README shows. What it shows happens
// in virtual time, so it is the same each time until the program says something else.
//
//	go run ./test/cmd/record > deploy/docs/images/terminal.svg
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/test/terminal"
)

func main() {
	svg, err := record(context.Background(), ".")
	if err == nil {
		_, err = os.Stdout.WriteString(svg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// example is the page whose snapshot `rollcall explain` is asked about.
const example = "deploy/docs/concepts.md"

// scene is a command and what of its output is shown: the lines from the one
// that has the first text to the one that has the second, for each pair. All,
// when there are no pairs.
type scene struct {
	args  []string
	parts [][2]string
}

var scenes = []scene{
	{args: []string{"rehearse", "--fault", "kill-leader@9.5s"}, parts: [][2]string{
		{"6 pods in 3 zones", "6 pods in 3 zones"},
		{"makes the template v2", "evict pod db-5"},
		{"go     db-4", "evict pod db-4"},
		{"rolled out", "invariants"},
	}},
	{args: []string{"explain", "search-2", "--snapshot", "search.yaml"}, parts: [][2]string{{"search-2 Hold", "unblocked by"}}},
}

// record runs the scenes with the program of the repository at root.
func record(ctx context.Context, root string) (string, error) {
	dir, err := os.MkdirTemp("", "rollcall-record-")
	if err != nil {
		return "", fmt.Errorf("a folder to run in: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "rollcall")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/rollcall")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	page, err := os.ReadFile(filepath.Join(root, example))
	if err != nil {
		return "", fmt.Errorf("the example: %w", err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\nversion: 1\n")
	snapshot, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		return "", errors.New(example + " has no snapshot: a block that begins with version: must be 1")
	}
	if err := os.WriteFile(filepath.Join(dir, "search.yaml"), []byte("version: 1\n"+snapshot), 0o600); err != nil {
		return "", fmt.Errorf("the example: %w", err)
	}
	var lines []line
	for _, s := range scenes {
		cmd := exec.CommandContext(ctx, program, s.args...)
		cmd.Dir = dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") }), "TERM=xterm-256color")
		out, err := terminal.Run(cmd, 100, 40)
		if err != nil {
			return "", fmt.Errorf("rollcall %s: %w: %s", strings.Join(s.args, " "), err, out)
		}
		shown, err := s.cut(strings.Split(strings.TrimRight(out, "\n"), "\n"))
		if err != nil {
			return "", fmt.Errorf("rollcall %s: %w", strings.Join(s.args, " "), err)
		}
		if len(lines) > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, line{{"$ rollcall " + strings.Join(s.args, " "), "typed"}})
		for _, text := range shown {
			lines = append(lines, read(text))
		}
	}
	return draw(lines), nil
}

// cut leaves out what is between the parts, with a mark where it was.
func (s scene) cut(lines []string) ([]string, error) {
	if len(s.parts) == 0 {
		return lines, nil
	}
	var out []string
	next := 0
	for _, part := range s.parts {
		from := slices.IndexFunc(lines[next:], func(l string) bool { return strings.Contains(read(l).text(), part[0]) })
		if from < 0 {
			return nil, fmt.Errorf("no line with %q after line %d", part[0], next)
		}
		from += next
		to := slices.IndexFunc(lines[from:], func(l string) bool { return strings.Contains(read(l).text(), part[1]) })
		if to < 0 {
			return nil, fmt.Errorf("no line with %q after line %d", part[1], from)
		}
		if from > next && len(out) > 0 {
			out = append(out, "...")
		}
		next = from + to + 1
		out = append(out, lines[from:next]...)
	}
	return out, nil
}

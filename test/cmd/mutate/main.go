// Command mutate checks the checkers: it makes the code wrong in one way at a time,
// and wants its tests, or the one test that is named, to fail each time.
//
// The list says what to change (see parse). Nothing in the tree is touched: a
// changed file is laid over the original for one build. The exit status is 1
// when the tests pass with a mutation, or when one does not apply or compile.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.list, "list", "test/cmd/mutate/policy.txt", "file with the mutations, or a pattern of several")
	flag.StringVar(&o.pkg, "package", "coordinator/policy", "folder of the package, for mutations that name none")
	flag.StringVar(&o.only, "only", "", "mutations whose name contains this")
	flag.StringVar(&o.quick, "quick", "-test.run=TestGolden", "arguments of the tests the first time, which most mutations do not survive")
	flag.StringVar(&o.full, "full", "-snapshots 2000", "arguments of the tests the second time")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time for one run of the tests")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	list, pkg, only, quick, full string
	timeout                      time.Duration
}

func run(ctx context.Context, out io.Writer, o options) error {
	mutations, err := load(o.list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := workshop{options: o, dir: dir}
	mutations = slices.DeleteFunc(mutations, func(m mutation) bool { return !strings.Contains(m.name, o.only) })
	if err := w.passes(ctx, mutations); err != nil {
		return err
	}
	all := 0
	for i := range mutations {
		got := w.try(ctx, &mutations[i])
		all += count(got == caught)
		fmt.Fprintf(out, "%-16s %s\n", got, mutations[i].title())
	}
	fmt.Fprintf(out, "%d of %d mutations caught\n", all, len(mutations))
	if all < len(mutations) || all == 0 {
		return errors.New("not every mutation was caught")
	}
	return nil
}

// load reads the lists that match a pattern, of which there must be one.
func load(pattern string) ([]mutation, error) {
	lists, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	if len(lists) == 0 {
		return nil, fmt.Errorf("%s: no such list", pattern)
	}
	var all []mutation
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		mutations, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list, err)
		}
		all = append(all, mutations...)
	}
	return all, nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// result is what became of a mutation.
type result string

const (
	caught         result = "caught"
	survived       result = "SURVIVED"
	doesNotApply   result = "DOES NOT APPLY"
	doesNotCompile result = "DOES NOT COMPILE"
	didNotRun      result = "TEST DID NOT RUN"
)

// workshop builds and runs tests.
type workshop struct {
	options
	dir string
}

// passes makes sure that what must fail because of a mutation passes without.
func (w *workshop) passes(ctx context.Context, mutations []mutation) error {
	named := map[string][]string{} // by package
	for _, m := range mutations {
		named[m.pkg] = append(named[m.pkg], m.test)
	}
	for _, pkg := range slices.Sorted(maps.Keys(named)) {
		got := w.build(ctx, cmp.Or(pkg, w.pkg), "")
		switch {
		case got == "" && pkg == "":
			got = w.runAny(ctx)
		case got == "":
			got = w.runNamed(ctx, pkg, named[pkg])
		}
		if got != survived {
			return fmt.Errorf("without any mutation, %s: %s", cmp.Or(pkg, w.pkg), got)
		}
	}
	return nil
}

// try runs the tests with a mutation.
func (w *workshop) try(ctx context.Context, m *mutation) result {
	overlay, err := w.overlay(m)
	if err != nil {
		return doesNotApply
	}
	if got := w.build(ctx, cmp.Or(m.pkg, w.pkg), overlay); got != "" {
		return got
	}
	if m.test == "" {
		return w.runAny(ctx)
	}
	return w.runNamed(ctx, m.pkg, []string{m.test}, envOverlay+"="+overlay)
}

func (w *workshop) binary() string { return filepath.Join(w.dir, "tests") }

// build makes the tests of a package. It returns nothing unless it fails.
func (w *workshop) build(ctx context.Context, pkg, overlay string) result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	args := []string{"test", "-c", "-trimpath", "-tags", "grpcnotrace", "-vet=off", "-ldflags=-s -w", "-o", w.binary()}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	if exec.CommandContext(ctx, "go", append(args, "./"+pkg)...).Run() != nil {
		return doesNotCompile
	}
	return ""
}

// runAny runs the tests of the list's package, any of which may fail.
func (w *workshop) runAny(ctx context.Context) result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	for _, args := range []string{w.quick, w.full} {
		tests := exec.CommandContext(ctx, w.binary(), append([]string{"-test.failfast"}, strings.Fields(args)...)...)
		tests.Dir = w.pkg
		if tests.Run() != nil { // one that never ends is caught, too
			return caught
		}
	}
	return survived
}

// runNamed runs these tests only, each of which must be there. What ends in
// another way than by passing or failing has shown nothing.
func (w *workshop) runNamed(ctx context.Context, pkg string, names []string, env ...string) result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	tests := exec.CommandContext(ctx, w.binary(), "-test.v", "-test.run="+pattern(names))
	tests.Dir, tests.Env = pkg, append(os.Environ(), env...)
	out, err := tests.CombinedOutput()
	return judge(string(out), err != nil, names)
}

// envOverlay names the overlay to tests that build programs themselves.
const envOverlay = "ROLLCALL_OVERLAY"

// pattern matches these tests, or, where all are parts of tests, these parts.
func pattern(names []string) string {
	var tests, parts []string
	for _, name := range names {
		test, part, _ := strings.Cut(name, "/")
		tests = append(tests, regexp.QuoteMeta(test))
		if part != "" {
			parts = append(parts, regexp.QuoteMeta(part))
		}
	}
	of := func(list []string) string { return "^(" + strings.Join(list, "|") + ")$" }
	if len(parts) < len(names) {
		return of(tests)
	}
	return of(tests) + "/" + of(parts)
}

// judge reads what the tests have said.
func judge(out string, failed bool, names []string) result {
	got := survived
	for _, name := range names {
		switch {
		case says(out, "PASS", name):
		case failed && says(out, "FAIL", name):
			got = caught
		default:
			return didNotRun
		}
	}
	return got
}

func says(out, what, name string) bool {
	return regexp.MustCompile(`\n *--- ` + what + ": " + regexp.QuoteMeta(name) + ` \(`).MatchString(out)
}

// overlay writes the changed file and the list that lays it over the original.
func (w *workshop) overlay(m *mutation) (string, error) {
	original, err := filepath.Abs(m.path(w.pkg))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return "", err
	}
	copied := filepath.Join(w.dir, filepath.Base(m.file))
	if err := os.WriteFile(copied, []byte(changed), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: copied}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

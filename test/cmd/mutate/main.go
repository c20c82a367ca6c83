// Command mutate checks the checkers: it makes the policy wrong in one way at a
// time, and wants its tests to fail each time.
//
// The list says what to change (see parse). Nothing in the tree is touched: a
// changed file is laid over the original for one build. The exit status is 1
// when the tests pass with a mutation, or when one does not apply or compile.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.list, "list", "test/cmd/mutate/policy.txt", "file with the mutations")
	flag.StringVar(&o.pkg, "package", "coordinator/policy", "folder of the package")
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
	text, err := os.ReadFile(o.list)
	if err != nil {
		return err
	}
	mutations, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", o.list, err)
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := workshop{options: o, dir: dir}
	if got := w.try(ctx, nil); got != survived {
		return fmt.Errorf("without any mutation: %s", got)
	}
	results := map[result]int{}
	for i := range mutations {
		m := &mutations[i]
		if !strings.Contains(m.name, o.only) {
			continue
		}
		got := w.try(ctx, m)
		results[got]++
		fmt.Fprintf(out, "%-16s %s\n", got, m.name)
	}
	tried := 0
	for _, n := range results {
		tried += n
	}
	fmt.Fprintf(out, "%d of %d mutations caught\n", results[caught], tried)
	if results[caught] < tried || tried == 0 {
		return errors.New("not every mutation was caught")
	}
	return nil
}

// result is what became of a mutation.
type result string

const (
	caught         result = "caught"
	survived       result = "SURVIVED"
	doesNotApply   result = "DOES NOT APPLY"
	doesNotCompile result = "DOES NOT COMPILE"
)

// workshop builds and runs the tests of one package.
type workshop struct {
	options
	dir string
}

// try runs the tests with a mutation, or with none.
func (w *workshop) try(ctx context.Context, m *mutation) result {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	binary := filepath.Join(w.dir, "policy.test")
	build := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", binary}
	if m != nil {
		overlay, err := w.overlay(m)
		if err != nil {
			return doesNotApply
		}
		build = append(build, "-overlay", overlay)
	}
	if err := exec.CommandContext(ctx, "go", append(build, "./"+w.pkg)...).Run(); err != nil {
		return doesNotCompile
	}
	runs := []string{w.quick, w.full}
	if m != nil && m.test() != "" {
		runs = []string{"-test.run=" + m.test()}
	}
	for _, args := range runs {
		tests := exec.CommandContext(ctx, binary, append([]string{"-test.failfast"}, strings.Fields(args)...)...)
		tests.Dir = w.pkg
		if tests.Run() != nil { // one that never ends is caught, too
			return caught
		}
	}
	return survived
}

// overlay writes the changed file and the list that lays it over the original.
func (w *workshop) overlay(m *mutation) (string, error) {
	original, err := filepath.Abs(filepath.Join(w.pkg, m.file))
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

// Package arrows has rules about which package may import which, and about the one file that may
// remove pods. Its tests apply them to the repository.
package arrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Package is what go list reports about a package.
type Package struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// List returns the packages of a module that match the patterns, and all that they depend on, tests
// aside.
func List(dir string, patterns ...string) ([]Package, error) {
	command := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Imports,Deps"}, patterns...)...)
	command.Dir = dir
	output, err := command.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("go list: %w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []Package
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p Package
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// Rule says what packages must not depend on, not even through others.
type Rule struct {
	Name string
	// From are the packages it is about: a path in the module, and all below it.
	From []string
	// Never are forbidden import paths, and all below them.
	Never []string
	// StandardOnly forbids everything outside the standard library.
	StandardOnly bool
}

// Break is one dependency against a rule.
type Break struct{ Rule, From, To string }

func (b Break) String() string {
	return fmt.Sprintf("%s: %s depends on %s", b.Rule, b.From, b.To)
}

// Check returns every break of the rules, sorted.
func Check(module string, packages []Package, rules []Rule) []Break {
	standard := map[string]bool{}
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}
	var breaks []Break
	for _, rule := range rules {
		for _, p := range packages {
			if !within(p.ImportPath, in(module, rule.From)) {
				continue
			}
			for _, dep := range p.Deps {
				if within(dep, rule.Never) || within(dep, in(module, rule.Never)) || rule.StandardOnly && !standard[dep] {
					breaks = append(breaks, Break{rule.Name, p.ImportPath, dep})
				}
			}
		}
	}
	slices.SortFunc(breaks, func(a, b Break) int { return strings.Compare(a.String(), b.String()) })
	return breaks
}

func in(module string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = module + "/" + p
	}
	return out
}

func within(path string, roots []string) bool {
	for _, root := range roots {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

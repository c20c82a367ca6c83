// Package licences says under which licences the modules stand that Rollcall's programs
// are linked from, and writes the notices that go with them.
package licences

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	own = "github.com/rollcall-dev/rollcall"
	// Standard stands for Go's standard library, which is linked into every program.
	Standard = "Go standard library"
)

// Program is one of ours, and what it is built for.
type Program struct {
	Name      string
	Platforms []string
}

// Programs are those that are handed out. The command line runs on people's machines, too.
var Programs = []Program{
	{Name: "rollcall", Platforms: []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}},
	{Name: "rollcall-agent", Platforms: []string{"linux/amd64", "linux/arm64"}},
	{Name: "rollcall-coordinator", Platforms: []string{"linux/amd64", "linux/arm64"}},
}

// Module is something foreign that programs are linked from.
type Module struct {
	Path, Version string
	// Programs that it is linked into, by name.
	Programs []string
	// Files are those of its licences and notices, by their path in the module.
	Files []File
}

// File is a licence, or what its authors want passed on beside it.
type File struct{ Path, Text string }

// listed is what go list tells of a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Replace            *struct{ Path, Version string }
	}
}

// Linked returns what the programs of the checkout at root are linked from, sorted by path, with
// the licences in the root of each module and in every folder above a linked package: authors of
// copied code leave theirs there.
func Linked(ctx context.Context, root string) ([]Module, error) {
	modules := map[string]*Module{}
	files := map[string]map[string]string{} // module, path in it, text
	for _, program := range Programs {
		for _, platform := range program.Platforms {
			packages, err := list(ctx, root, program.Name, platform)
			if err != nil {
				return nil, err
			}
			for _, p := range packages {
				if p.Module != nil && p.Module.Path == own {
					continue
				}
				name, version, top := Standard, "", p.Dir
				if !p.Standard {
					name, version, top = p.Module.Path, p.Module.Version, p.Module.Dir
				}
				m := modules[name]
				if m == nil {
					m = &Module{Path: name, Version: version}
					modules[name], files[name] = m, map[string]string{}
				}
				if !slices.Contains(m.Programs, program.Name) {
					m.Programs = append(m.Programs, program.Name)
				}
				if p.Standard {
					continue
				}
				if err := gather(files[name], top, p.Dir); err != nil {
					return nil, fmt.Errorf("licences of %s: %w", name, err)
				}
			}
		}
	}
	if err := standard(ctx, files[Standard]); err != nil {
		return nil, err
	}
	var all []Module
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		m := modules[name]
		for _, path := range slices.Sorted(maps.Keys(files[name])) {
			m.Files = append(m.Files, File{path, files[name][path]})
		}
		all = append(all, *m)
	}
	return all, nil
}

func list(ctx context.Context, root, program, platform string) ([]listed, error) {
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", "grpcnotrace", "-json=Dir,Standard,Module", "./cmd/"+program)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	output, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("what %s is linked from on %s: %w: %s", program, platform, err, exit.Stderr)
		}
		return nil, fmt.Errorf("what %s is linked from on %s: %w", program, platform, err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// Some spell their licence's file in lower case, or with the licence's name behind it.
var fileOfLicence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([.-][a-z0-9.-]+)?$`)

// gather adds the licences in dir and in every folder above it, up to top.
func gather(to map[string]string, top, dir string) error {
	for ; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !fileOfLicence.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			path := filepath.Join(dir, e.Name())
			rel, err := filepath.Rel(top, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			to[filepath.ToSlash(rel)] = string(text)
		}
	}
	return nil
}

func standard(ctx context.Context, to map[string]string) error {
	output, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	root := strings.TrimSpace(string(output))
	if err := gather(to, root, root); err != nil {
		return fmt.Errorf("licence of Go itself: %w", err)
	}
	return nil
}

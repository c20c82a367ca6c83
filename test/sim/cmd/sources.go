package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rollcall-dev/rollcall/coordinator/sim/plant"
)

// list are the bugs that are planted in Rollcall's own sources: all in one build,
// each asks whether it is the one. Nothing in the tree is touched: changed files
// are laid over the originals. A bug is a name, a file and the invariants that may
// notice, the text as it is, which the file has once, and as it shall be:
//
//	# the last copy may go: coordinator/policy/whatif.go: I3
//	-	if o.available <= 0 {
//	+	if o.available <= 0 && !PLANTED {
//
//go:embed bugs.txt
var list string

// change is a bug in the sources.
type change struct{ name, file, finds, before, after string }

func parse(text string) ([]change, error) {
	var all []change
	for i, line := range strings.Split(text, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "# "):
			parts := strings.Split(line[2:], ": ")
			if len(parts) != 3 {
				return nil, fmt.Errorf("line %d: name: file: must be invariants", i+1)
			}
			all = append(all, change{name: parts[0], file: parts[1], finds: parts[2]})
		case len(all) == 0 || line[0] != '-' && line[0] != '+':
			return nil, fmt.Errorf("line %d: belongs to no bug", i+1)
		case line[0] == '-':
			all[len(all)-1].before += line[1:] + "\n"
		default:
			all[len(all)-1].after += line[1:] + "\n"
		}
	}
	return all, nil
}

// apply makes the change in a file's text.
func (c change) apply(text string) (string, error) {
	before, after := strings.TrimSuffix(c.before, "\n"), strings.TrimSuffix(c.after, "\n")
	if n := strings.Count(text, before); n != 1 || before == "" || !strings.Contains(after, "PLANTED") {
		return "", fmt.Errorf("%s: its text is %d times in %s", c.name, n, c.file)
	}
	return strings.Replace(text, before, strings.ReplaceAll(after, "PLANTED", fmt.Sprintf("plant.Is(%q)", c.name)), 1), nil
}

// overlay writes all changed files and the list of them into a folder.
func overlay(changes []change, dir string) (string, error) {
	texts := map[string]string{}
	for _, c := range changes {
		text, known := texts[c.file]
		if !known {
			read, err := os.ReadFile(c.file)
			if err != nil {
				return "", err
			}
			// After the clause that names the package, which begins a line.
			head, rest, _ := strings.Cut("\n"+string(read), "\npackage ")
			clause, rest, _ := strings.Cut(rest, "\n")
			text = head + "\npackage " + clause + "\nimport \"github.com/rollcall-dev/rollcall/coordinator/sim/plant\"\n" + rest
		}
		text, err := c.apply(text)
		if err != nil {
			return "", err
		}
		texts[c.file] = text
	}
	replace := map[string]string{}
	for file, text := range texts {
		original, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, content, 0o600)
}

// build makes a program of this command with all bugs in its sources.
func build(changes []change, dir string) (string, error) {
	path, err := overlay(changes, dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "sim")
	return binary, execute("go", "build", "-overlay", path, "-o", binary, "./test/sim/cmd")
}

// infested builds that and runs it.
func infested(args ...string) error {
	changes, err := parse(list)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rollcall-bugs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := build(changes, dir)
	if err != nil {
		return err
	}
	return execute(binary, append([]string{"-infested"}, args...)...)
}

func execute(program string, args ...string) error {
	command := exec.Command(program, args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// planted activates a bug in the sources; an empty name activates none.
func planted(name string) { plant.On = name }

package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// mutation replaces one piece of text, which a file has exactly once.
type mutation struct {
	name string
	// pkg and test are the only test that must fail, and where it is; empty when any
	// of the list's package may.
	pkg, test           string
	file, before, after string
}

// title is the name, with the test that must fail.
func (m *mutation) title() string {
	if m.test == "" {
		return m.name
	}
	return m.name + ": " + m.test
}

// path is where the file is, seen from the root of the repository.
func (m *mutation) path(pkg string) string {
	if m.pkg != "" {
		return filepath.FromSlash(m.file)
	}
	return filepath.Join(pkg, m.file)
}

// parse reads a list of mutations. Each is a name and a file, the text as it
// is, and the text as it shall be:
//
//	# drop the minimum of a quorum: group.go
//	-		return max(int(*g.MinAvailable), g.total/2+1)
//	+		return int(*g.MinAvailable)
//
// Whole lines are replaced. Blank lines stand between mutations. A name may end
// with the one test that must fail, and its package, in brackets; then the file,
// too, is seen from the root of the repository, not from the list's package:
//
//	# stuck on green [test/incidents TestStuckOnGreen]: coordinator/policy/rules.go
func parse(text string) ([]mutation, error) {
	var list []mutation
	for i, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		if head, ok := strings.CutPrefix(line, "# "); ok {
			name, file, ok := strings.Cut(head, ": ")
			if !ok {
				return nil, fmt.Errorf("line %d: name: must be file", i+1)
			}
			m := mutation{name: name, file: file}
			if m.name, ok = strings.CutSuffix(name, "]"); ok {
				m.name, name, _ = strings.Cut(m.name, " [")
				if m.pkg, m.test, ok = strings.Cut(name, " "); !ok {
					return nil, fmt.Errorf("line %d: must be [package test]", i+1)
				}
			}
			list = append(list, m)
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("line %d: a mutation begins with # name: file", i+1)
		}
		m := &list[len(list)-1]
		switch line[0] {
		case '-':
			m.before += line[1:] + "\n"
		case '+':
			m.after += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("line %d: begins with none of # - +", i+1)
		}
	}
	for _, m := range list {
		if m.before == "" || m.before == m.after {
			return nil, fmt.Errorf("%s: changes nothing", m.name)
		}
	}
	return list, nil
}

func (m *mutation) apply(text string) (string, error) {
	text, before := "\n"+text, "\n"+m.before // what stands before whole lines ends a line
	at := strings.Index(text, before)
	if at < 0 || strings.Contains(text[at+1:], before) {
		return "", fmt.Errorf("%s: %s does not have the text exactly once", m.name, m.file)
	}
	return text[1:at+1] + m.after + text[at+len(before):], nil
}

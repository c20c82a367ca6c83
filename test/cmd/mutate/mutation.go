package main

import (
	"fmt"
	"strings"
)

// mutation replaces one piece of text, which a file has exactly once.
type mutation struct{ name, file, before, after string }

// test is the only one that must fail, from brackets at the end of the name; empty
// when any may.
func (m *mutation) test() string {
	_, test, _ := strings.Cut(strings.TrimSuffix(m.name, "]"), " [")
	return test
}

// parse reads a list of mutations. Each is a name and a file, the text as it
// is, and the text as it shall be:
//
//	# drop the minimum of a quorum: group.go
//	-		return max(int(*g.MinAvailable), g.total/2+1)
//	+		return int(*g.MinAvailable)
//
// Whole lines are replaced. Blank lines stand between mutations.
func parse(text string) ([]mutation, error) {
	var list []mutation
	for i, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		if head, ok := strings.CutPrefix(line, "# "); ok {
			name, file, ok := strings.Cut(head, ": ")
			if !ok {
				return nil, fmt.Errorf("line %d: name: file is wanted", i+1)
			}
			list = append(list, mutation{name: name, file: file})
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

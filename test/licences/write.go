package licences

import (
	"fmt"
	"slices"
	"strings"
)

// Notices are the files with the texts that go into the images, each with the programs there.
var Notices = map[string][]string{
	"deploy/licences/agent.txt":       {"rollcall-agent"},
	"deploy/licences/coordinator.txt": {"rollcall-coordinator", "rollcall"},
}

// Table is where people read which module stands under which licence.
const Table = "deploy/docs/licences.md"

// Files returns everything that is generated, by its path in the checkout.
func Files(modules []Module) (map[string]string, error) {
	table, err := table(modules)
	if err != nil {
		return nil, err
	}
	files := map[string]string{Table: table}
	for path, programs := range Notices {
		files[path] = notices(modules, programs)
	}
	return files, nil
}

func table(modules []Module) (string, error) {
	var b strings.Builder
	b.WriteString("<!-- Written by test/generate.sh; do not edit. -->\n# Licences\n\n" +
		"Rollcall itself is under the [Apache License 2.0](../../LICENSE). Its programs are linked from the modules below, and a test fails for\n" +
		"one whose licence is unknown or not allowed. Allowed are " + strings.Join(Allowed, ", ") + "; another only for modules that are listed\n" +
		"with a reason in `test/licences`. The texts are in both images as `/licences.txt`, and in deploy/licences.\n\n" +
		"| module | version | licence | in |\n| --- | --- | --- | --- |\n")
	for _, m := range modules {
		licences, err := m.Licences()
		if err != nil {
			return "", err
		}
		programs := slices.Sorted(slices.Values(m.Programs))
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Path, m.Version, strings.Join(licences, ", "), strings.Join(programs, ", "))
	}
	b.WriteString("\nListed with a reason:\n\n| module | licence | why |\n| --- | --- | --- |\n")
	for _, m := range modules {
		if e, ok := Listed[m.Path]; ok {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, e.Licence, e.Why)
		}
	}
	return b.String(), nil
}

// notices writes every text once, below the modules that have it.
func notices(modules []Module, programs []string) string {
	type shared struct {
		text string
		of   []string
	}
	var texts []*shared
	byText := map[string]*shared{}
	for _, m := range modules {
		if !slices.ContainsFunc(programs, func(p string) bool { return slices.Contains(m.Programs, p) }) {
			continue
		}
		for _, f := range m.Files {
			text := strings.TrimSpace(strings.ReplaceAll(f.Text, "\r\n", "\n"))
			if byText[text] == nil {
				byText[text] = &shared{text: text}
				texts = append(texts, byText[text])
			}
			byText[text].of = append(byText[text].of, strings.TrimSpace(m.Path+" "+m.Version)+": "+f.Path)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "What is in %s beside Rollcall's own code, and under which licences. All of it is linked unchanged;\n"+
		"its source is that of the module and version named.\n", strings.Join(programs, " and "))
	for _, s := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(s.of, "\n"), strings.Repeat("-", 80), s.text)
	}
	return b.String()
}

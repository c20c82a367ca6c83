// Package documents reads what the project's pages promise, and which tests they
// say hold it. Its tests compare that with the tests that there are.
package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Page is a document of the repository.
type Page struct {
	// Path is where it is, seen from the root.
	Path, Text string
}

// Folder is where the page is, seen from the root.
func (p Page) Folder() string { return filepath.ToSlash(filepath.Dir(p.Path)) }

// Pages are all documents of the repository.
func Pages(root string) ([]Page, error) {
	var pages []Page
	err := walk(root, ".md", func(path, text string) { pages = append(pages, Page{path, text}) })
	return pages, err
}

var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Z]\w*)\(\w+ \*testing\.[TBF]\)`)

// Tests are the tests of the repository by name, with the folders that have one of
// that name.
func Tests(root string) (map[string][]string, error) {
	tests := map[string][]string{}
	err := walk(root, "_test.go", func(path, text string) {
		for _, found := range function.FindAllStringSubmatch(text, -1) {
			tests[found[1]] = append(tests[found[1]], filepath.ToSlash(filepath.Dir(path)))
		}
	})
	return tests, err
}

// walk reads the files of the repository whose names end so.
func walk(root, end string, read func(path, text string)) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, end) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		read(filepath.ToSlash(name), string(text))
		return err
	})
}

var named = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*(?:\*|\.\.\.)?`)

// Named are the tests that a text names, in its order. One that stands for several
// (TestX*, TestX...) is named as it is written: nobody can look it up.
func Named(text string) []string { return named.FindAllString(text, -1) }

// Promise is an invariant of a page: a numbered one of its section Invariants, or a
// row of a table whose last column says what it is held by.
type Promise struct {
	// Number is 0 in a table.
	Number int
	Text   string
	// Held is what is said to hold it: the last cell of a row, else the whole text.
	Held string
}

// Tests are those that the promise names.
func (p Promise) Tests() []string { return Named(p.Held) }

var item = regexp.MustCompile(`^(\d+)\. (.*)`)

// Promises are the invariants of a page.
func Promises(text string) []Promise {
	var found []Promise
	numbered, table, open := false, false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		cells := strings.Split(line, "|")
		row := len(cells) >= 4 && strings.HasPrefix(line, "|")
		switch {
		case strings.HasPrefix(line, "#"):
			numbered, open = line == "## Invariants", false
		case row && strings.TrimSpace(cells[len(cells)-2]) == "held by":
			table = true
		case row && table && !strings.HasPrefix(strings.TrimSpace(cells[1]), "--"):
			found = append(found, Promise{Text: strings.TrimSpace(cells[1]), Held: strings.TrimSpace(cells[len(cells)-2])})
		case !row:
			table = false
			if parts := item.FindStringSubmatch(line); numbered && parts != nil {
				n, _ := strconv.Atoi(parts[1])
				found, open = append(found, Promise{Number: n, Text: parts[2]}), true
			} else if open {
				last := &found[len(found)-1]
				last.Text += " " + strings.TrimSpace(line)
			}
		}
	}
	for i := range found {
		if found[i].Number > 0 {
			found[i].Text = strings.TrimSpace(found[i].Text)
			found[i].Held = found[i].Text
		}
	}
	return found
}

var script = regexp.MustCompile("`([a-z][a-z0-9]*[_*][a-z0-9_*]*)`")

// Scripts are the files in testdata that a row names, without their ending; a star
// stands for any text.
func (p Promise) Scripts() []string {
	var names []string
	if p.Number > 0 {
		return nil
	}
	for _, found := range script.FindAllStringSubmatch(p.Held, -1) {
		names = append(names, found[1])
	}
	return names
}

var (
	cased  = regexp.MustCompile("`(?:Test|Fuzz)\\w+`: ((?:\"[^\"]+\",? ?)+)")
	quoted = regexp.MustCompile(`"[^"]+"`)
)

// Cases are the cases of tests that a text names: `TestX`: "this", "that". They are
// answered with their quotation marks.
func Cases(text string) []string {
	var cases []string
	for _, found := range cased.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		cases = append(cases, quoted.FindAllString(found[1], -1)...)
	}
	return cases
}

// Glossary returns the words that the section "Glossary" of a page explains, one in each row of its table.
func Glossary(text string) []string {
	_, section, _ := strings.Cut(text, "\n## Glossary\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var words []string
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		if word := strings.TrimSpace(cells[1]); word != "word" && strings.Trim(word, "-") != "" {
			words = append(words, word)
		}
	}
	return words
}

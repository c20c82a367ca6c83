package documents

import (
	"regexp"
	"strings"
)

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	topLevel = regexp.MustCompile(`^(?:\.?/)?(?:\.github|agent|cmd|coordinator|deploy|engines|proto|test)/[\w./*-]+$`)
)

// Paths are the files and folders of the repository that a text names as code.
func Paths(text string) []string {
	var paths []string
	for _, found := range codeSpan.FindAllStringSubmatch(text, -1) {
		for word := range strings.FieldsSeq(found[1]) {
			if path := strings.TrimPrefix(word, "./"); topLevel.MatchString(path) && path != "engines/NAME" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

var (
	target = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	matrix = regexp.MustCompile(`(?m)^ *target: \[([a-z, -]+)\]$`)
)

// Targets are the targets of make that a workflow runs.
func Targets(workflow string) []string {
	var targets []string
	for _, found := range target.FindAllStringSubmatch(workflow, -1) {
		targets = append(targets, found[1])
	}
	for _, found := range matrix.FindAllStringSubmatch(workflow, -1) {
		targets = append(targets, strings.Split(found[1], ", ")...)
	}
	return targets
}

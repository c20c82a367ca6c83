// Package mycnf reads option files of MySQL and MariaDB as far as the server does: groups, names
// with dashes or underscores, values with and without quotes, comments, !include and !includedir.
package mycnf

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Files are texts of option files by their absolute paths.
type Files map[string]string

// Option is the last value that the files give an option.
type Option struct {
	// Value is empty for an option without one, such as log_bin.
	Value string
	// File is the path of the file that has it.
	File string
}

// Options are the server's options by name, with underscores.
type Options map[string]Option

// maxDepth is how deep includes may nest, as in the servers, and maxReads how many files are read:
// files may include each other.
const (
	maxDepth = 10
	maxReads = 1000
)

// Read reads the files in the order of the paths, with what they include. Missing are the paths
// that a file includes and that are not among the files.
func Read(files Files, paths ...string) (options Options, missing []string) {
	r := reader{files: files, options: Options{}}
	for _, p := range paths {
		r.read(p, 0)
	}
	slices.Sort(r.missing)
	return r.options, slices.Compact(r.missing)
}

type reader struct {
	files   Files
	options Options
	missing []string
	reads   int
}

func (r *reader) read(file string, depth int) {
	text, there := r.files[file]
	if r.reads++; !there || depth > maxDepth || r.reads > maxReads {
		r.missing = append(r.missing, file)
		return
	}
	group := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			group, _, _ = strings.Cut(line[1:], "]")
			group = strings.TrimSpace(group)
		case line[0] == '!':
			r.include(line, depth)
		case ofServer(group):
			if name, value := Parse(line); name != "" {
				r.options[name] = Option{Value: value, File: file}
			}
		}
	}
}

// include reads a directory's files whose names end with .cnf, in order, or one file.
func (r *reader) include(line string, depth int) {
	directive, at, _ := strings.Cut(line, " ")
	at = path.Clean(strings.TrimSpace(at))
	if directive != "!includedir" {
		r.read(at, depth+1)
		return
	}
	found := false
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		if path.Dir(file) == at && strings.HasSuffix(file, ".cnf") {
			found = true
			r.read(file, depth+1)
		}
	}
	if !found {
		r.missing = append(r.missing, at)
	}
}

// ofServer reports whether the server reads a group, such as mysqld, mariadb-11.4 or galera.
func ofServer(group string) bool {
	name, _, versioned := strings.Cut(group, "-")
	switch name {
	case "mysqld", "mariadb", "mariadbd":
		return !versioned || strings.Trim(group[len(name)+1:], "0123456789.") == ""
	case "server", "galera":
		return !versioned
	}
	return group == "client-server"
}

// Parse reads one option, as a line of a file or as the words of a command after the dashes.
func Parse(text string) (name, value string) {
	name, value, _ = strings.Cut(text, "=")
	if !strings.Contains(text, "=") {
		name, _, _ = strings.Cut(name, "#")
	}
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
	name = strings.TrimPrefix(name, "loose_")
	value = unquoted(strings.TrimSpace(value))
	for prefix, means := range map[string]string{"skip_": "OFF", "disable_": "OFF", "enable_": "ON"} {
		if short, cut := strings.CutPrefix(name, prefix); cut && value == "" {
			return short, means
		}
	}
	return name, value
}

// unquoted takes the quotes or a comment away.
func unquoted(value string) string {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
			return value[1 : end+1]
		}
	}
	value, _, _ = strings.Cut(value, "#")
	return strings.TrimSpace(value)
}

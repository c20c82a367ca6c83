package database

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/mycnf"
)

// State is what is known of a switch.
type State int

// The states.
const (
	// Unset means that nothing that can be seen sets it.
	Unset State = iota
	On
	Off
	// Unclear means that it is set to a value that only the pod knows.
	Unclear
)

// Setting is one setting of a pool's servers.
type Setting struct {
	Value string
	// From says in words where it is set.
	From string
}

// Settings are those that can be seen.
type Settings struct {
	set map[string]Setting
	// copied are settings of files that an init container copies or changes: what becomes of them
	// cannot be seen.
	copied map[string]Setting
	// Hidden says in words which parts of the configuration cannot be seen.
	Hidden []string
}

// Get returns a setting by its name with underscores.
func (s Settings) Get(name string) (Setting, bool) {
	got, there := s.set[name]
	return got, there
}

// Names returns the names of all settings, in order.
func (s Settings) Names() []string { return slices.Sorted(maps.Keys(s.set)) }

// Switch returns the first of the names that is set, as a switch.
func (s Settings) Switch(names ...string) (State, Setting) {
	for _, name := range names {
		if got, there := s.set[name]; there {
			return stateOf(got.Value), got
		}
	}
	return Unset, Setting{}
}

func stateOf(value string) State {
	switch strings.ToLower(value) {
	case "", "1", "on", "true", "yes":
		return On
	case "0", "off", "false", "no":
		return Off
	}
	if variable(value) {
		return Unclear
	}
	return On // such as log_bin=mysql-bin, or gtid_mode=ON_PERMISSIVE, for which see there
}

// variable reports whether only the pod knows the value.
func variable(value string) bool { return strings.ContainsAny(value, "$`") }

// settingsOf reads what can be seen, in the order in which servers do: files, then the command
// line, on which the last counts.
func settingsOf(set *appsv1.StatefulSet, c *corev1.Container, o Objects) Settings {
	s := Settings{set: map[string]Setting{}, copied: map[string]Setting{}}
	m := mountedIn(set, c, o)
	s.Hidden = m.hidden
	line, script := lineOf(c, m)
	paths := optionFiles(m.files)
	if defaults := optionOf(line, "defaults_file"); defaults != "" && !variable(defaults) {
		paths = []string{defaults}
	}
	options, missing := mycnf.Read(m.files, paths...)
	for name, option := range options {
		s.set[name] = Setting{option.Value, m.from[option.File]}
	}
	for _, file := range missing {
		s.Hidden = append(s.Hidden, file+", which is in no ConfigMap that can be seen")
	}
	for key, text := range m.copied {
		options, _ := mycnf.Read(mycnf.Files{key: text}, key)
		for name, option := range options {
			s.copied[name] = Setting{option.Value, key}
		}
	}
	env := Environment(set, c, o)
	for _, flag := range replicationFlags(env) {
		s.set[flag.name] = Setting{flag.value, flag.from}
	}
	for name, value := range flagsIn(env["MYSQL_EXTRA_FLAGS"] + " " + env["MARIADB_EXTRA_FLAGS"]) {
		s.set[name] = Setting{value, "the chart's extra flags"}
	}
	for name, value := range flagsIn(line) {
		s.set[name] = Setting{value, "the arguments of container " + c.Name}
	}
	if script != "" {
		s.Hidden = append(s.Hidden, script)
	}
	if name := imageName(c.Image); !slices.Contains(usualImages, name) {
		s.Hidden = append(s.Hidden, "what the image "+c.Image+" brings")
	}
	slices.Sort(s.Hidden)
	s.Hidden = slices.Compact(s.Hidden)
	return s
}

// usualImages are names of images that bring no settings of their own of those that count here.
var usualImages = []string{"mysql", "mysql-server", "mariadb", "mariadb-galera", "percona-server", "percona"}

// lineOf returns the words of the command line that starts the server, and says in words what of
// it cannot be seen; empty means nothing.
func lineOf(c *corev1.Container, m mounted) (line, script string) {
	words := slices.Concat(c.Command, c.Args)
	line = strings.Join(words, " ")
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(line, "/opt/bitnami/scripts/") {
		return line, ""
	}
	switch program := words[0]; program[strings.LastIndex(program, "/")+1:] {
	case "mysqld", "mariadbd", "mysqld_safe", "docker-entrypoint.sh":
		return line, ""
	}
	for _, word := range words {
		if text, there := m.files[word]; there {
			line += " " + text
		}
	}
	return line, fmt.Sprintf("what the script does that starts container %s", c.Name)
}

var (
	flag = regexp.MustCompile(`(?:^|[\s"'(=])--([a-zA-Z][\w-]*)(=(?:"[^"]*"|'[^']*'|[^\s"';]*)|\s+[^\s"'-][^\s"';]*)?`)
	// valued are options whose value may be the next word.
	valued = []string{"server_id", "report_host", "wsrep_cluster_address", "wsrep_provider", "defaults_file"}
)

// flagsIn returns the options of a command line. In a script of several lines an option may be
// meant for some servers only, so its value is not known.
func flagsIn(line string) map[string]string {
	flags := map[string]string{}
	script := strings.Contains(strings.TrimSpace(line), "\n")
	for _, m := range flag.FindAllStringSubmatch(line, -1) {
		name, value := mycnf.Parse(m[1])
		switch {
		case strings.HasPrefix(m[2], "="):
			name, value = mycnf.Parse(m[1] + m[2])
		case slices.Contains(valued, name):
			value = strings.TrimSpace(m[2])
		}
		if script && name != "defaults_file" {
			value = "$"
		}
		flags[name] = value
	}
	return flags
}

func optionOf(line, name string) string { return flagsIn(line)[name] }

package security

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"sigs.k8s.io/yaml"
)

const prefix = "plugins.security."

// openSearch looks at the security plugin. Without it there is neither TLS nor a login. With it
// everybody logs in, and TLS for clients is a setting of its own.
func openSearch(v *view) Posture {
	s := v.settings()
	plugin := v.plugin(s)
	if plugin.State == Off {
		return Posture{TLS: plugin, Login: plugin, Client: plugin}
	}
	tls, demo := v.restTLS(s, plugin)
	p := Posture{TLS: tls, Login: plugin, Demo: demo}
	if only := s.is("ssl_only"); only.State == On {
		p.Login = off(only.Why)
	}
	if plugin.State == Untold && v.probes.login.State == On {
		p.Login = v.probes.login
	}
	mode, there := s.set["ssl.http.clientauth_mode"]
	switch {
	case tls.State != On:
		p.Client = Answer{tls.State, tls.Why}
	case there:
		p.Client = whether(strings.EqualFold(mode.text, "REQUIRE"), mode.from)
	case s.unseen != "":
		p.Client = untold("not seen: " + s.unseen)
	default:
		p.Client = off("nothing sets " + prefix + "ssl.http.clientauth_mode: REQUIRE")
	}
	return p
}

// plugin says whether the security plugin is on: what says it itself counts before what the image
// does by itself.
func (v *view) plugin(s settings) Answer {
	if removes.MatchString(line(v.container)) {
		return off("the command of container " + v.container.Name + " removes the security plugin")
	}
	// The entrypoint of the image compares with this word only.
	if set, there := v.variables["DISABLE_SECURITY_PLUGIN"]; there && !v.bitnami() {
		switch {
		case !set.known:
			return untold(set.from)
		case set.text == "true":
			return off(set.from)
		}
	}
	if set, there := v.variables[prefix+"disabled"]; there && !set.known {
		return untold(set.from)
	}
	if disabled, there := s.set["disabled"]; there {
		return whether(disabled.text != "true", disabled.from)
	}
	if enabled := v.is("OPENSEARCH_ENABLE_SECURITY", yes...); enabled.Why != "" {
		return enabled
	}
	if len(s.set) > 0 {
		name := s.names()[0]
		return on("its security plugin is configured: " + s.set[name].from)
	}
	if v.probes.plain.State == On {
		return off(v.probes.plain.Why)
	}
	var unseen []string
	if s.unseen != "" {
		unseen = append(unseen, s.unseen)
	}
	unseen = append(unseen, v.hidden...)
	switch ships := v.shipsPlugin(unseen); {
	case len(unseen) > 0 && ships.State != On:
		return untold("not seen: " + strings.Join(unseen, "; "))
	case ships.State == Untold && v.probes.tls.State == On:
		return on(v.probes.tls.Why + ", which servers do only with the security plugin")
	default:
		return ships
	}
}

var removes = regexp.MustCompile(`opensearch-plugin\s+remove\s[^;&|\n]*\bopensearch-security(?:\s|[;&|]|$)`)

var repository = regexp.MustCompile(`(^|/)opensearchproject/opensearch([:@]|$)`)

// shipsPlugin says whether the image has the plugin and turns it on by itself, where nothing but what
// cannot be seen may say otherwise.
func (v *view) shipsPlugin(unseen []string) Answer {
	image := v.container.Image
	starts := len(v.container.Command) == 0 || strings.Contains(line(v.container), "opensearch-docker-entrypoint.sh")
	nobody := "nothing sets DISABLE_SECURITY_PLUGIN or " + prefix + "disabled"
	if len(unseen) > 0 {
		nobody = "nothing that can be seen sets DISABLE_SECURITY_PLUGIN or " + prefix + "disabled; not seen: " + strings.Join(unseen, "; ")
	}
	if set, there := v.variables["DISABLE_SECURITY_PLUGIN"]; there && set.text != "" {
		nobody = set.from + ", and only true turns it off"
	}
	switch {
	case v.bitnami():
		return off("Bitnami's image has security only with OPENSEARCH_ENABLE_SECURITY, which nothing sets")
	case !starts:
		return untold(fmt.Sprintf("%s, and what the command of container %s starts cannot be seen", nobody, v.container.Name))
	case repository.MatchString(image):
		return on("the image " + image + " has its security plugin on by default, and " + nobody)
	}
	return untold(nobody + ", and whether the image " + image + " has the security plugin cannot be seen")
}

// restTLS says whether clients speak TLS to servers that have the plugin, and whether that is by the
// demo configuration, which the image makes where nobody configures anything.
func (v *view) restTLS(s settings, plugin Answer) (tls Answer, demo bool) {
	const name = "ssl.http.enabled"
	if set, there := s.set[name]; there {
		return whether(set.text == "true", set.from), false
	}
	if _, bitnami := v.variables["OPENSEARCH_ENABLE_SECURITY"]; bitnami {
		rest := v.is("OPENSEARCH_ENABLE_REST_TLS", yes...)
		if rest.Why == "" {
			rest = on("OPENSEARCH_ENABLE_REST_TLS is not set, which is true")
		}
		return rest, false
	}
	noDemo := v.is("DISABLE_INSTALL_DEMO_CONFIG", "true")
	configured := len(s.set) > 0
	switch {
	case v.probes.tls.Why != "":
		return v.probes.tls, v.probes.tls.State == On && !configured && noDemo.State != On && v.shipsPlugin(nil).State == On
	case plugin.State == Untold:
		return plugin, false
	case noDemo.Why != "" && noDemo.State == Untold:
		return noDemo, false
	case s.unseen != "" && (configured || noDemo.State == On):
		return untold("not seen: " + s.unseen), false
	case noDemo.State == On:
		return off(noDemo.Why + ", and nothing sets " + prefix + name), false
	case configured:
		return off("nothing sets " + prefix + name + ", and where other settings of the plugin are the image adds none"), false
	}
	return on(plugin.Why), v.shipsPlugin(nil).State == On
}

// settings are those of the plugin, without their prefix.
type settings struct {
	set map[string]value
	// unseen is where opensearch.yml is that cannot be seen; empty means nowhere.
	unseen string
}

func (s settings) names() []string {
	var names []string
	for name := range s.set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s settings) is(name string) Answer {
	set, there := s.set[name]
	if !there {
		return Answer{}
	}
	return whether(set.text == "true", set.from)
}

var options = regexp.MustCompile(`-E\s*((?:plugins\.security|opendistro_security)\.[\w.]+)=(\S+)`)

// settings reads opensearch.yml, and what the environment and the command line set over it.
func (v *view) settings() settings {
	s := settings{set: map[string]value{}}
	text, from, unseen := v.file("opensearch.yml")
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		unseen = "opensearch.yml of " + from + ", which is no YAML"
	}
	s.unseen = unseen
	for name, set := range database.Flat(tree) {
		s.add(name, fmt.Sprint(set), from)
	}
	for _, name := range slices.Sorted(maps.Keys(v.variables)) {
		switch set := v.variables[name]; {
		case !strings.Contains(name, "."):
		case set.known:
			s.add(name, set.text, "a variable of container "+v.container.Name)
		case strings.HasPrefix(name, prefix):
			s.unseen = set.from
		}
	}
	for _, m := range options.FindAllStringSubmatch(line(v.container), -1) {
		s.add(m[1], m[2], "the arguments of container "+v.container.Name)
	}
	return s
}

// add keeps a setting of the plugin, also by the name that it had in OpenSearch 1.
func (s settings) add(name, text, from string) {
	name = strings.Replace(name, "opendistro_security.", prefix, 1)
	if short, of := strings.CutPrefix(name, prefix); of {
		s.set[short] = value{text, true, fmt.Sprintf("%s is %s (%s)", name, quoted(text), from)}
	}
}

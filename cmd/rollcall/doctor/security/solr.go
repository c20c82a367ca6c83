package security

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// solr looks at the variables that Solr's own script and Bitnami's image read, and at security.json.
// Both are off unless something turns them on; what somebody wrote to ZooKeeper cannot be seen here.
func solr(v *view) Posture {
	unseen := v.scripts()
	tls := v.solrTLS(unseen)
	p := Posture{TLS: tls, Login: v.solrLogin(unseen), Client: tls}
	if tls.State == On {
		if p.Client = v.is("SOLR_SSL_NEED_CLIENT_AUTH", yes...); p.Client.Why == "" {
			p.Client = off("nothing sets SOLR_SSL_NEED_CLIENT_AUTH")
		}
	}
	return p
}

func (v *view) solrTLS(unseen []string) Answer {
	if enabled := v.is("SOLR_SSL_ENABLED", yes...); enabled.Why != "" {
		return enabled
	}
	if store, there := v.variables["SOLR_SSL_KEY_STORE"]; there && (!store.known || store.text != "") {
		return on(store.from)
	}
	if opts := v.variables["SOLR_OPTS"]; strings.Contains(opts.text, "urlScheme=https") {
		return on("SOLR_OPTS has urlScheme=https")
	}
	switch {
	case v.probes.tls.Why != "":
		return v.probes.tls
	case len(unseen) > 0:
		return untold("nothing that can be seen sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE; not seen: " + strings.Join(unseen, "; "))
	}
	return off("nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE")
}

func (v *view) solrLogin(unseen []string) Answer {
	if enabled := v.is("SOLR_ENABLE_AUTHENTICATION", yes...); enabled.Why != "" {
		return enabled
	}
	for _, name := range []string{"SOLR_AUTH_TYPE", "SOLR_AUTHENTICATION_OPTS"} {
		if set, there := v.variables[name]; there && (!set.known || set.text != "") {
			return on(set.from)
		}
	}
	json := v.securityJSON()
	switch {
	case json.Why != "":
		return json
	case v.probes.login.State == On:
		return v.probes.login
	case len(unseen) > 0:
		return untold("nothing that can be seen sets SOLR_AUTH_TYPE, SOLR_AUTHENTICATION_OPTS or a security.json; not seen: " + strings.Join(unseen, "; "))
	}
	return off("nothing sets SOLR_AUTH_TYPE, SOLR_AUTHENTICATION_OPTS or a security.json")
}

var uploads = regexp.MustCompile(`\bauth enable\b|zk (?:cp|put\w*)\s[^\n;&]*security\.json`)

// securityJSON looks for a security.json that pods mount or bring to ZooKeeper; an empty answer means
// that there is none.
func (v *view) securityJSON() Answer {
	containers := v.containers()
	for i := range containers {
		c := &containers[i]
		of := newView(v.engine, v.set, c, v.objects)
		for _, name := range []string{"SECURITY_JSON", "SOLR_SECURITY_JSON"} {
			set, there := of.variables[name]
			switch {
			case !there || set.known && set.text == "":
			case set.known:
				return authenticates(set.text, "container "+c.Name)
			default:
				return on(set.from + " (container " + c.Name + ")")
			}
		}
		if uploads.MatchString(line(c)) {
			return on("container " + c.Name + " brings a security.json to ZooKeeper")
		}
	}
	text, from, unseen := v.file("security.json")
	switch {
	case from != "":
		return authenticates(text, from)
	case unseen != "":
		return on("pods mount " + unseen)
	}
	return Answer{}
}

// authenticates says whether a security.json has Solr ask for a login.
func authenticates(file, from string) Answer {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(file), &parts); err != nil {
		return untold("security.json of " + from + " cannot be read")
	}
	text, has := parts["authentication"]
	var plugin struct{ BlockUnknown *bool }
	_, authorizes := parts["authorization"]
	if has && !authorizes && json.Unmarshal(text, &plugin) == nil && plugin.BlockUnknown != nil && !*plugin.BlockUnknown {
		return off("security.json of " + from + " lets everybody in: blockUnknown is false, and there is no authorization")
	}
	return whether(has, fmt.Sprintf("security.json of %s has %s authentication", from, map[bool]string{true: "an", false: "no"}[has]))
}

var assignments = regexp.MustCompile(`(?m)(?:^|[\s;&])(?:export\s+)?(SOLR_[A-Z_]+)=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s;&"']*))`)

// scripts reads what solr.in.sh and the container's command line assign, over the environment, and
// returns what cannot be seen.
func (v *view) scripts() (unseen []string) {
	text, from, hidden := v.file("solr.in.sh")
	assign := func(text, from string) {
		for _, m := range assignments.FindAllStringSubmatch(text, -1) {
			is := m[2] + m[3] + m[4]
			v.variables[m[1]] = value{is, !strings.ContainsAny(is, "$`"), fmt.Sprintf("%s is %s (%s)", m[1], quoted(is), from)}
		}
	}
	var kept []string
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(l), "#") {
			kept = append(kept, l)
		}
	}
	assign(strings.Join(kept, ""), "solr.in.sh of "+from)
	assign(line(v.container), "the command of container "+v.container.Name)
	unseen = slices.Clone(v.hidden)
	if hidden != "" {
		unseen = append(unseen, hidden)
	}
	return unseen
}

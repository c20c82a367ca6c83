package security

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// probed is what the probes of the database's container tell: the kubelet takes a pod for broken
// that does not answer as its probe asks.
type probed struct {
	// tls and login are Untold where no probe tells it.
	tls, login Answer
	// ready says whether the readiness probe asks by TLS.
	ready Answer
	// plain means that a probe by HTTP without a login is answered.
	plain Answer
}

func (v *view) probed() (p probed) {
	c := v.container
	for _, probe := range []struct {
		name string
		*corev1.Probe
	}{{"readiness", c.ReadinessProbe}, {"liveness", c.LivenessProbe}, {"startup", c.StartupProbe}} {
		switch {
		case probe.Probe == nil:
		case probe.HTTPGet != nil && probe.HTTPGet.Host == "" && v.serves(probe.HTTPGet.Port):
			get := probe.HTTPGet
			shows := slices.ContainsFunc(get.HTTPHeaders, func(h corev1.HTTPHeader) bool { return strings.EqualFold(h.Name, "Authorization") })
			p.tell(probe.name, get.Scheme == corev1.URISchemeHTTPS, shows, get.Scheme != corev1.URISchemeHTTPS && !shows)
		case probe.Exec != nil:
			text := strings.Join(probe.Exec.Command, " ")
			schemes := slices.DeleteFunc(urls.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[2] != "" && !v.serves(intstr.Parse(m[2])) })
			if len(schemes) == 0 || slices.ContainsFunc(schemes, func(m []string) bool { return m[1] != schemes[0][1] }) {
				continue
			}
			p.tell(probe.name, schemes[0][1] == "https", logins.MatchString(text), false)
		}
	}
	return p
}

var (
	// urls are those of a server in the same pod, with its port where that is a number.
	urls = regexp.MustCompile(`\b(https?)://(?:localhost|127\.0\.0\.1|\[::1\]|\$\(?\{?\w+\}?\)?)(?::(\d+))?`)
	// logins are how curl and wget are told one.
	logins = regexp.MustCompile(`(?:^|\s)(?:-u|--user|--netrc)\b|Authorization:|--http-user`)
)

func (p *probed) tell(name string, tls, login, plain bool) {
	scheme := map[bool]string{true: "HTTPS", false: "HTTP"}[tls]
	why := fmt.Sprintf("its %s probe asks by %s", name, scheme)
	if p.tls.Why == "" {
		p.tls = whether(tls, why)
	}
	if name == "readiness" {
		p.ready = whether(tls, why)
	}
	if login && p.login.Why == "" {
		p.login = on("its " + name + " probe logs in")
	}
	if plain && p.plain.Why == "" {
		p.plain = on(why + ", without a login")
	}
}

// serves reports whether a probe's port is the one on which the database serves.
func (v *view) serves(port intstr.IntOrString) bool {
	usual := int32(config.UsualPort(string(v.engine)))
	for _, p := range v.container.Ports {
		if port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal {
			return p.ContainerPort == usual || strings.Contains(p.Name, "http") || strings.Contains(p.Name, "client")
		}
	}
	return port.Type == intstr.Int && port.IntVal == usual
}

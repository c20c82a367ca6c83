package enroll

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
)

// needs is what has to be made before the database can be enrolled.
type needs struct {
	p       *Plan
	facts   *doctor.Facts
	set     *appsv1.StatefulSet // the first that lacks something
	want    doctor.Want
	lacking doctor.Lacking
	// names of the Secrets that are named, or will be.
	ca, credentials, client string
}

// Needs returns what the user has to make before this database can be enrolled, with the commands:
// Secrets, and the agents' user. Empty means nothing.
func (p *Plan) Needs(program string, f *doctor.Facts) string {
	n := needs{p: p, facts: f}
	for i := range f.Sets {
		set := &f.Sets[i]
		l := f.Lacking(set)
		if l == (doctor.Lacking{}) {
			continue
		}
		if n.set == nil {
			n.set = set
			n.want, _ = f.WantOf(set)
		}
		n.lacking.CA, n.lacking.Credentials, n.lacking.Client = n.lacking.CA || l.CA, n.lacking.Credentials || l.Credentials, n.lacking.Client || l.Client
	}
	if n.set == nil {
		return ""
	}
	c := n.want.Connection
	n.ca = cmp.Or(c.TLS.CASecret, n.known(), p.Name+"-database-ca")
	n.credentials = cmp.Or(c.CredentialsSecret, v1alpha1.CredentialsSecretName(p.Name))
	n.client = cmp.Or(c.TLS.ClientSecret, p.Name+"-rollcall-client")
	var steps []string
	for _, more := range [][]string{n.authority(), n.account(), n.certificate(), n.again(program)} {
		steps = append(steps, more...)
	}
	text := "To do first, in this order; none of it restarts a pod:\n"
	for i, s := range steps {
		text += fmt.Sprintf("\n%2d. %s", i+1, s)
	}
	return text
}

// known returns a Secret that has the certificate of an authority and that pods mount.
func (n *needs) known() string {
	for _, name := range n.want.Secrets {
		if n.facts.HasCA(n.set, name) {
			return name
		}
	}
	return ""
}

func (n *needs) kubectl(format string, args ...any) string {
	return "kubectl -n " + n.p.Namespace + " " + fmt.Sprintf(format, args...)
}

func (n *needs) authority() []string {
	if !n.lacking.CA || n.ca == n.known() {
		return nil
	}
	lines := []string{"Put the certificate of the authority that signed those of the servers into a Secret,", "under ca.crt."}
	typed := n.kubectl("create secret generic %s --from-file=ca.crt", n.ca)
	if n.want.Demo {
		lines = []string{
			"Put the certificate of the authority of the servers into a Secret. They have those of the",
			"image's demo configuration, whose keys everybody has: whoever reaches the servers can read",
			"what they are told. Before this serves anybody, give them certificates of your own.",
		}
		c := database.Container(&n.set.Spec.Template)
		typed = n.kubectl("exec %s-0 -c %s -- cat /usr/share/opensearch/config/root-ca.pem > ca.crt\n", n.set.Name, c.Name) + typed
	}
	return []string{step(typed, lines...)}
}

func (n *needs) account() []string {
	if !n.lacking.Credentials {
		return nil
	}
	var out []string
	page := doctor.AccountPage(n.want.Engine)
	if role := strings.TrimSpace(smallestRole(n.want.Engine)); role != "" {
		out = append(out, step(role, "Make a user for the agents, with this role and no other. The commands are in", page+"."))
	} else {
		out = append(out, "Make a user for the agents, with the role in "+page+", and no other.\n")
	}
	return append(out, step(n.kubectl("create secret generic %s --type=kubernetes.io/basic-auth --from-literal=username=rollcall --from-file=password=./password", n.credentials),
		"Put its username and password into a Secret. The file has the password, and no line break."))
}

func (n *needs) certificate() []string {
	if !n.lacking.Client {
		return nil
	}
	return []string{step(n.kubectl("create secret tls %s --cert=client.crt --key=client.key", n.client),
		"Put a certificate for the agents, signed by an authority that the servers accept, and its", "key into a Secret.")}
}

// again returns the last step: to say the names.
func (n *needs) again(program string) []string {
	if n.p.Exists {
		return n.patch()
	}
	typed := n.p.again(program)
	for _, flag := range []struct{ name, value string }{{"name", n.p.asked.Name}, {"engine", string(n.p.asked.Engine)}, {"primary", string(n.p.asked.Primary)}} {
		if flag.value != "" {
			typed += " --" + flag.name + " " + flag.value
		}
	}
	if n.p.asked.Observe {
		typed += " --observe"
	}
	is := n.want.Connection
	if is.Port != 0 {
		typed += fmt.Sprint(" --port ", is.Port)
	}
	if n.lacking.CA || is.TLS.CASecret != "" {
		typed += " --tls --ca-secret " + n.ca
	}
	if is.TLS.ServerName != "" {
		typed += " --server-name " + is.TLS.ServerName
	}
	if n.lacking.Client || is.TLS.ClientSecret != "" {
		typed += " --client-secret " + n.client
	}
	if n.lacking.Credentials || is.CredentialsSecret != "" {
		typed += " --credentials-secret " + n.credentials
	}
	lines := []string{"Name them. This labels the Secrets, by which you allow agents of " + n.p.Name + " to use them."}
	if n.lacking.CA && n.ca == n.known() {
		lines = append(lines, "Secret "+n.ca+", which the pods mount, has the authority under ca.crt; agents get no", "other key of it.")
	}
	return []string{step(typed, lines...)}
}

// patch says the names to a DatabaseCluster that is there, and allows them to it.
func (n *needs) patch() []string {
	var fields []string
	var tls []string
	if n.lacking.CA {
		tls = append(tls, `"enabled":true,"caSecret":"`+n.ca+`"`)
	}
	if n.lacking.Client {
		tls = append(tls, `"clientSecret":"`+n.client+`"`)
	}
	if len(tls) > 0 {
		fields = append(fields, `"tls":{`+strings.Join(tls, ",")+`}`)
	}
	if n.lacking.Credentials {
		fields = append(fields, `"credentialsSecret":"`+n.credentials+`"`)
	}
	var typed []string
	for _, s := range []struct {
		lacks bool
		name  string
	}{{n.lacking.CA, n.ca}, {n.lacking.Client, n.client}, {n.lacking.Credentials, n.credentials}} {
		meta := n.facts.SecretMetas[n.p.Namespace+"/"+s.name]
		label := n.kubectl("label secret %s %s=%s", s.name, v1alpha1.LabelCluster, n.p.Name)
		if meta != nil {
			label = consent.LabelCommand(meta, n.p.Name)
		}
		if s.lacks && (meta == nil || !consent.Given(meta, n.p.Name)) {
			typed = append(typed, label)
		}
	}
	typed = append(typed, n.kubectl(`patch dbc %s --type=merge -p '{"spec":{"connection":{%s}}}'`, n.p.Name, strings.Join(fields, ",")))
	return []string{step(strings.Join(typed, "\n"), "Allow agents of "+n.p.Name+" to use them, and name them in its DatabaseCluster.")}
}

package doctor

import (
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// NamedSecrets returns all Secrets that DatabaseClusters or pod templates name.
func (f *Facts) NamedSecrets() []string {
	var names []string
	for i := range f.Clusters {
		c := &f.Clusters[i]
		names = append(names, f.credentialsOf(c)...)
		for _, name := range []string{c.Spec.Connection.TLS.CASecret, c.Spec.Connection.TLS.ClientSecret} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// credentialsOf returns the Secrets with credentials of a DatabaseCluster, first the one that it
// names itself.
func (f *Facts) credentialsOf(c *v1alpha1.DatabaseCluster) []string {
	names := []string{v1alpha1.CredentialsSecretOf(c)}
	for i := range f.Sets {
		if f.clusterOf(&f.Sets[i]) != c {
			continue
		}
		if name := f.credentialsSecret(&f.Sets[i]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// secret returns what is known of a Secret; nil means that there is none, if it was looked for.
func (f *Facts) secret(namespace, name string) (meta *metav1.ObjectMeta, read bool) {
	if meta, read = f.SecretMetas[id(namespace, name)]; read || f.Live != nil {
		return meta, read
	}
	for _, meta := range f.SecretMetas {
		if meta.Name == name && sameNamespace(meta.Namespace, namespace) {
			return meta, true
		}
	}
	return nil, false
}

// allowed checks that each Secret with credentials names its DatabaseCluster, and the hosts to
// which its password may be sent.
func allowed(f *Facts) (out []Finding) {
	for i := range f.Clusters {
		c := &f.Clusters[i]
		add := func(found error, fix string) {
			out = append(out, Finding{Severity: Error, Object: "DatabaseCluster " + id(c.Namespace, c.Name), Found: found.Error(), Fix: fix})
		}
		named := f.credentialsOf(c)
		connection := &c.Spec.Connection
		for _, name := range append(slices.Clone(named), connection.TLS.CASecret, connection.TLS.ClientSecret) {
			if meta, _ := f.secret(c.Namespace, name); meta != nil && !consent.Given(meta, c.Name) {
				add(consent.NotGiven(meta, c.Name), "that command, or the label in the manifest of the Secret; until then it is not used, and not mounted into new pods")
			}
		}
		host := func(field, host string, port, usual int) {
			address := config.Address(host, port, usual)
			if config.OwnHost(host) {
				return
			}
			meta, read := f.secret(c.Namespace, named[0])
			switch {
			case meta == nil && read:
				add(consent.HostWithoutSecret(field, address, &metav1.ObjectMeta{Namespace: c.Namespace, Name: named[0]}, c.Name), "that, or leave the field out: agents stay in their own pod")
			case meta != nil && !consent.Of(meta, c.Name).Allows(host, port, usual):
				add(consent.HostNotAllowed(field, address, meta), "that command, or leave the field out: agents stay in their own pod")
			}
		}
		host("spec.connection.host", connection.Host, int(connection.Port), config.UsualPort(string(c.Spec.Engine)))
		if u, err := url.Parse(connection.Failover); err == nil && connection.Failover != "" && connection.Failover != model.FailoverExternal {
			at, port, usual := config.AtURL(u)
			host("the host of spec.connection.failover", at, port, usual)
		}
	}
	return out
}

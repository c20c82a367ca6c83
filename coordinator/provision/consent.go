package provision

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// consented is what agents are told about the permissions given by the Secrets.
type consented struct {
	secrets        map[string]config.Secret
	host, failover string
	port           int32
}

// secretSeen is one Secret with credentials, as it is now.
type secretSeen struct {
	config.Secret
	name string
	// named is true if the spec names it, and not only running pods.
	named bool
	// meta is nil if there is no such Secret.
	meta *metav1.ObjectMeta
}

// consents checks the Secrets with credentials: the one that the spec names, and those that pods
// mount. What is not allowed is left out of what agents are told, with a consent.Refusal among the
// errors. While the API server does not answer about each Secret, agents keep what they have been
// told.
func (p *Provisioner) consents(ctx context.Context, cluster *v1alpha1.DatabaseCluster, mounted []string, present config.File) (consented, error) {
	connection := cluster.Spec.Connection
	out := consented{host: connection.Host, failover: connection.Failover, port: connection.Port}
	if p.opts.Metadata == nil {
		return out, nil
	}
	seen, unknown, errs := p.look(ctx, cluster, mounted)
	out.secrets = make(map[string]config.Secret, len(seen)+len(unknown))
	for _, s := range seen {
		out.secrets[s.name] = s.Secret
	}
	for _, name := range unknown {
		told, known := present.Secrets[name]
		if !known {
			told.Refused = fmt.Sprintf("whether agents may use Secret %s/%s is not known yet", cluster.Namespace, name)
		}
		out.secrets[name] = told
	}
	if len(unknown) > 0 {
		if present.ClusterUID == string(cluster.UID) {
			out.host, out.failover = present.Connection.Host, present.Connection.Failover
			out.port = int32(present.Connection.Port) // #nosec G115 -- we wrote it
			return out, errors.Join(errs...)
		}
		if !config.OwnHost(out.host) {
			out.host = ""
		}
		out.failover = uncalled(out.failover)
		return out, errors.Join(errs...)
	}
	if err := hostAllowed("spec.connection.host", at{out.host, int(out.port), config.UsualPort(string(cluster.Spec.Engine))}, seen, cluster); err != nil {
		out.host, errs = "", append(errs, err) // the pod itself
	}
	if uncalled(out.failover) != out.failover {
		u, err := url.Parse(out.failover)
		if err == nil {
			err = hostAllowed("the host of spec.connection.failover", atURL(u), seen, cluster)
		} else {
			err = consent.Refusal("spec.connection.failover is no URL") // it is not repeated: it may have a password
		}
		if err != nil {
			// Somebody else moves the primary and is waited for, and nobody is called.
			out.failover, errs = model.FailoverExternal, append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// look reads each Secret, and names those that are not known.
func (p *Provisioner) look(ctx context.Context, cluster *v1alpha1.DatabaseCluster, mounted []string) (seen []secretSeen, unknown []string, errs []error) {
	named := v1alpha1.CredentialsSecretOf(cluster)
	names := append(slices.Clone(mounted), named)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue // a pod that mounts none
		}
		meta, err := consent.Look(ctx, p.opts.Metadata, cluster.Namespace, name)
		if err != nil {
			unknown, errs = append(unknown, name), append(errs, fmt.Errorf("secret %s: %w", name, err))
			continue
		}
		s := secretSeen{name: name, named: name == named, meta: meta}
		if meta != nil {
			s.Secret = consent.Of(meta, cluster.Name)
		} else {
			s.Refused = string(consent.Missing(cluster.Namespace, name, cluster.Name))
		}
		// Others than servers of SQL have credentials only where somebody says so.
		if s.Refused != "" && (meta != nil || s.named && wantsCredentials(&cluster.Spec)) {
			errs = append(errs, consent.Refusal(s.Refused))
		}
		seen = append(seen, s)
	}
	return seen, unknown, errs
}

func wantsCredentials(spec *model.Spec) bool {
	return spec.Connection.CredentialsSecret != "" || spec.Engine == model.MySQL || spec.Engine == model.MariaDB || spec.Engine == model.Galera
}

// at is where agents are to connect to: a port of 0 is the usual one.
type at struct {
	host        string
	port, usual int
}

func (a at) String() string { return config.Address(a.host, a.port, a.usual) }

// atURL is where a URL is asked.
func atURL(u *url.URL) at {
	host, port, usual := config.AtURL(u)
	return at{host, port, usual}
}

// hostAllowed says why agents may not connect to a host. Each Secret whose password they could send
// to it has to name it, and so has the one that the spec names.
func hostAllowed(field string, to at, seen []secretSeen, cluster *v1alpha1.DatabaseCluster) error {
	if config.OwnHost(to.host) {
		return nil
	}
	var errs []error
	for _, s := range seen {
		switch {
		case s.meta != nil && (s.Refused != "" || !s.Allows(to.host, to.port, to.usual)):
			errs = append(errs, consent.HostNotAllowed(field, to.String(), s.meta))
		case s.meta == nil && s.named:
			errs = append(errs, consent.HostWithoutSecret(field, to.String(), &metav1.ObjectMeta{Namespace: cluster.Namespace, Name: s.name}, cluster.Name))
		}
	}
	return errors.Join(errs...)
}

// uncalled is who moves the primary where no URL is called.
func uncalled(failover string) string {
	if failover == "" {
		return failover
	}
	return model.FailoverExternal
}

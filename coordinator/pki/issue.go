package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// LeafLife is how long certificates of servers and clients are valid. They
// are renewed after two thirds of it.
const LeafLife = 90 * 24 * time.Hour

// Names that servers' certificates carry beside their addresses, for callers
// that reach them through a tunnel: dial what you like, expect this name.
const (
	AgentName       = "agent.rollcall"
	CoordinatorName = "coordinator.rollcall"
)

// Profile is what a certificate is for: either names of a server or the role
// of a client. Only agents are both, to each other: the role agent gives no
// right to orders. No other server's certificate is a client's, and no other
// client's can pose as a server.
type Profile struct {
	// CommonName is for people only.
	CommonName string
	// DNSNames make it a server's certificate.
	DNSNames []string
	// Role makes it a client's certificate. Agents have RoleAgent beside their names.
	Role string
}

// AgentProfile is the certificate that all agents of a database cluster share,
// to serve with and to ask each other. It has no name of cluster DNS: whoever may write a
// StatefulSet chooses those of its pods.
func AgentProfile(namespace, cluster string) Profile {
	names := []string{config.ServerName(namespace, cluster), AgentName, "localhost"}
	return Profile{CommonName: short("agents of " + namespace + "/" + cluster), DNSNames: names, Role: config.RoleAgent}
}

// WebhookProfile is the certificate of the webhook: the name by which the API server calls it.
func WebhookProfile(namespace, service string) Profile {
	return Profile{CommonName: short("webhook in " + namespace), DNSNames: []string{service + "." + namespace + ".svc"}}
}

// CoordinatorProfile is the server's certificate of coordinators, for gRPC and HTTP.
func CoordinatorProfile(namespace, service string) Profile {
	name := service + "." + namespace
	names := []string{name, name + ".svc", name + ".svc.cluster.local", CoordinatorName, "localhost"}
	return Profile{CommonName: short("coordinator in " + namespace), DNSNames: names}
}

// ClientProfile is the certificate of a client with the role.
func ClientProfile(role string) Profile {
	return Profile{CommonName: "rollcall " + role, Role: role}
}

// short keeps a common name within the 64 characters that X.509 allows.
func short(name string) string {
	if len(name) > 64 {
		return name[:61] + "..."
	}
	return name
}

func (p Profile) validate() error {
	switch named := len(p.DNSNames) > 0; {
	case p.Role == config.RoleAgent && !named:
		return errors.New("the role of an agent needs the names of its database cluster")
	case p.Role != config.RoleAgent && named == (p.Role != ""):
		return errors.New("a certificate is either for names of a server or for the role of a client")
	}
	return nil
}

// usages are what a certificate may be used for.
func (p Profile) usages() []x509.ExtKeyUsage {
	var usages []x509.ExtKeyUsage
	if len(p.DNSNames) > 0 {
		usages = append(usages, x509.ExtKeyUsageServerAuth)
	}
	if p.Role != "" {
		usages = append(usages, x509.ExtKeyUsageClientAuth)
	}
	return usages
}

// Issue signs a certificate, valid from now on.
func (a Authority) Issue(p Profile, now time.Time) (Pair, error) {
	if err := p.validate(); err != nil {
		return Pair{}, err
	}
	if a.IsZero() {
		return Pair{}, errors.New("no certificate authority yet")
	}
	notAfter := now.Add(LeafLife)
	if notAfter.After(a.signer.cert.NotAfter) {
		notAfter = a.signer.cert.NotAfter
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: p.CommonName},
		NotBefore:             now.Add(-backdate),
		NotAfter:              notAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		DNSNames:              p.DNSNames,
		ExtKeyUsage:           p.usages(),
	}
	if p.Role != "" {
		template.URIs = []*url.URL{roleURI(p.Role)}
	}
	pair, err := sign(template, a.signer)
	if err != nil {
		return Pair{}, fmt.Errorf("issue a certificate for %s: %w", p.CommonName, err)
	}
	return pair, nil
}

// Due reports whether the pair must be issued again: it is not what the profile asks for, two
// thirds of its life are over, or another authority signs now.
func (a Authority) Due(pair Pair, p Profile, now time.Time) bool {
	if pair.IsZero() || !now.Before(pair.RenewAt()) || now.Before(pair.cert.NotBefore) {
		return true
	}
	want, have := slices.Clone(p.DNSNames), slices.Clone(pair.cert.DNSNames)
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		return true
	}
	if role, _ := Role(pair.cert); role != p.Role || !slices.Equal(pair.cert.ExtKeyUsage, p.usages()) {
		return true
	}
	return !a.SignedBySigner(pair.cert)
}

func roleURI(role string) *url.URL {
	uri, err := url.Parse(config.RolePrefix + role)
	if err != nil {
		panic(fmt.Sprintf("pki: role %q makes no URI: %v", role, err))
	}
	return uri
}

// Role is the role that a client's certificate carries. The caller has
// verified the certificate.
func Role(cert *x509.Certificate) (string, bool) {
	for _, uri := range cert.URIs {
		if role, ok := strings.CutPrefix(uri.String(), config.RolePrefix); ok && role != "" {
			return role, true
		}
	}
	return "", false
}

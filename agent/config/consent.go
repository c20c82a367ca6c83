package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Secret is what the Secret with the database's credentials says about who may use them.
type Secret struct {
	// Refused is why the agents may not use it; empty: they may.
	Refused string `json:"refused,omitempty"`
	// Hosts are those to which agents may show what is in it, beside their own pod.
	Hosts []string `json:"hosts,omitempty"`
}

// Withheld is why the agents must not use what is in the mounted Secret of this name, or
// empty. A coordinator from before does not say, and neither does an agent's pod from before.
func (f *File) Withheld(secret string) string {
	if f.Secrets == nil || secret == "" {
		return ""
	}
	said, known := f.Secrets[secret]
	switch {
	case !known:
		return fmt.Sprintf("the coordinator has not said yet that agents may use Secret %s", secret)
	case said.Refused != "":
		return said.Refused
	case OwnHost(f.Connection.Host), said.Allows(f.Connection.Host):
		return ""
	}
	return fmt.Sprintf("Secret %s does not allow that its password is shown to %s", secret, f.Connection.Host)
}

// Allows tells whether agents may show what is in the Secret to a host that is not their own pod.
func (s Secret) Allows(host string) bool {
	return slices.ContainsFunc(s.Hosts, func(allowed string) bool { return plainHost(allowed) == plainHost(host) })
}

// OwnHost tells whether a connection's host is the agent's own pod: localhost or a loopback
// address. What else a name is DNS decides, and so not whoever may write the Secret.
func OwnHost(host string) bool {
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// plainHost is one spelling of a host.
func plainHost(host string) string {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

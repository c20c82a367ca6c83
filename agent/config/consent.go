package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Secret is what the Secret with the database's credentials says about who may use them.
type Secret struct {
	// Refused is why the agents may not use it; empty means they may.
	Refused string `json:"refused,omitempty"`
	// Addresses are those to which agents may send the credentials, besides their own pod, as
	// people wrote them: a host means its usual port, host:port that port.
	Addresses []string `json:"addresses,omitempty"`
}

// Withheld returns why the agents must not use the mounted Secret of this name, or an empty string.
func (f *File) Withheld(secret string) string {
	if secret == "" {
		return ""
	}
	said, known := f.Secrets[secret]
	switch {
	case !known:
		return fmt.Sprintf("the coordinator has not said yet that agents may use Secret %s", secret)
	case said.Refused != "":
		return said.Refused
	case OwnHost(f.Connection.Host), said.Allows(f.Connection.Host, f.Connection.Port, UsualPort(f.Engine)):
		return ""
	}
	return fmt.Sprintf("Secret %s does not allow that its password is shown to %s", secret, Address(f.Connection.Host, f.Connection.Port, UsualPort(f.Engine)))
}

// Usable reports whether agents may use the mounted Secret of this name at all, so that no copy of
// another one is needed.
func (f *File) Usable(secret string) bool {
	said, known := f.Secrets[secret]
	return secret != "" && known && said.Refused == ""
}

// Allows reports whether agents may send the credentials to a host that is not their own pod, at
// this port; 0 means the usual one.
func (s Secret) Allows(host string, port, usual int) bool {
	if port == 0 {
		port = usual
	}
	return slices.ContainsFunc(s.Addresses, func(allowed string) bool {
		name, at := SplitAddress(allowed)
		if at == 0 {
			at = usual
		}
		return plainHost(name) == plainHost(host) && at == port
	})
}

// UsualPort returns the default port of an engine; 0 means that it has none.
func UsualPort(engine string) int {
	return map[string]int{"Solr": 8983, "OpenSearch": 9200, "MySQL": 3306, "MariaDB": 3306, "Galera": 3306, "ZooKeeper": 2181}[engine]
}

// Address returns the host with its port, unless that is the usual one.
func Address(host string, port, usual int) string {
	if port == 0 || port == usual {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// SplitAddress splits what Address returns; port 0 means the usual one.
func SplitAddress(address string) (host string, port int) {
	if _, err := netip.ParseAddr(address); err == nil {
		return address, 0
	}
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return address, 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return address, 0
	}
	return host, int(n)
}

// AtURL returns the host of a URL, its port, or 0, and the usual port of its scheme.
func AtURL(u *url.URL) (host string, port, usual int) {
	usual = 80
	if strings.EqualFold(u.Scheme, "https") {
		usual = 443
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		n = 0
	}
	return u.Hostname(), int(n), usual
}

// OwnHost reports whether a connection's host is the agent's own pod: localhost or a loopback
// address. Other names do not count, because DNS decides what they mean.
func OwnHost(host string) bool {
	if host == "" || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.Unmap().IsLoopback()
}

// plainHost returns the canonical spelling of a host.
func plainHost(host string) string {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

package mysql

import (
	"fmt"
)

// addressOf answers where a replica is told to find the member: at its report_host,
// which says how others reach it. A whole name or an address is that already. Behind
// a pod's own name comes what follows the names of its StatefulSet's pods where they
// are followed, else what its own agent or one beside it in that StatefulSet has
// found behind its own. What is behind the names of other pods need not resolve for
// this one, and is never taken.
func (v view) addressOf(m member) (host string, port int, err error) {
	if m.state.Unnamed {
		return "", 0, fmt.Errorf("%s has no report_host, so that nobody can be told to follow it: its configuration must say by which name the others reach it", m.name())
	}
	host, port = split(m.name())
	if label(host) != host || isAddress(host) {
		return host, port, nil
	}
	domain, known := v.domains[kin(host)]
	if !known {
		domain = m.state.PodDomain
	}
	if !known && domain == "" && kin(host) == kin(v.self.name()) {
		domain = v.self.state.PodDomain
	}
	if !known && domain == "" {
		return "", 0, fmt.Errorf("nobody tells what follows %s in the DNS, so that nobody can be told to follow it: its report_host must be a whole name, such as that of the pod with its Service", host)
	}
	return host + domain, port, nil
}

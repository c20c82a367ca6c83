package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// AddressOf returns where a replica is told to find the member: at its report_host,
// which says how others reach it. A whole name or an address is that already. Behind
// a pod's own name comes what follows the names of its StatefulSet's pods where they
// are followed, else what its own agent or one beside it in that StatefulSet has
// found behind its own. What is behind the names of other pods need not resolve for
// this one, and is never taken.
func (v View) AddressOf(m Member) (host string, port int, err error) {
	if m.State.Unnamed {
		return "", 0, fmt.Errorf("%s has no report_host, so that nobody can be told to follow it: its configuration must say by which name the others reach it", m.Name())
	}
	host, port = replication.SplitName(m.Name())
	if replication.FirstLabel(host) != host || replication.IsAddress(host) {
		return host, port, nil
	}
	domain, known := v.Domains[replication.DomainKey(host)]
	if !known {
		domain = m.State.PodDomain
	}
	if !known && domain == "" && replication.DomainKey(host) == replication.DomainKey(v.Self.Name()) {
		domain = v.Self.State.PodDomain
	}
	if !known && domain == "" {
		return "", 0, fmt.Errorf("nobody tells what follows %s in the DNS, so that nobody can be told to follow it: its report_host must be a whole name, such as that of the pod with its Service", host)
	}
	return host + domain, port, nil
}

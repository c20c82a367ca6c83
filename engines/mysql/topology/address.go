package topology

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// AddressOf returns where a replica should look for the member: its report_host. A fully
// qualified name or an IP address is used as it is. A bare pod name gets the domain by
// which the pods of its StatefulSet are followed; if that is not known, the domain that
// its own agent, or an agent of the same StatefulSet, has found. The domain of other pods
// need not resolve here and is never used. Nor is a name that is known not to resolve.
func (v View) AddressOf(m Member) (host string, port int, err error) {
	if m.State.Unnamed {
		return "", 0, fmt.Errorf("%s has no report_host, so that nobody can be told to follow it: its configuration must say by which name the others reach it", m.Name())
	}
	host, port = replication.SplitName(m.Name())
	if replication.FirstLabel(host) != host || replication.IsAddress(host) {
		return v.resolved(m, host, port)
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
	return v.resolved(m, host+domain, port)
}

// resolved refuses a name that does not resolve: a replica that was given one would have no source.
func (v View) resolved(m Member, host string, port int) (string, int, error) {
	if why := v.Unresolved[host]; why != "" {
		return "", 0, fmt.Errorf("the name by which %s is followed does not resolve, so that nobody can be told to follow it: %s", m.Name(), why)
	}
	return host, port, nil
}

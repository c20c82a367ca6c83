package mysql

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
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

// domains by the kin of the members that are followed so, as members tell.
type domains map[string]string

// most StatefulSets of one database that are told of.
const mostDomains = 16

func (d domains) learn(node, domain string) {
	if k := kin(node); k != "" && len(d) < mostDomains {
		d[k] = domain
	}
}

// join takes what others have learned, where nothing is known yet.
func (d domains) join(others domains) {
	for k, domain := range others {
		if _, known := d[k]; !known && len(d) < mostDomains {
			d[k] = domain
		}
	}
}

func (d domains) clone() domains {
	if len(d) == 0 {
		return nil
	}
	return maps.Clone(d)
}

// kin of a member is its StatefulSet, whose pods have one domain; of one that is not
// called as a pod it is itself.
func kin(node string) string {
	pod := podOf(node)
	if set, _ := setOf(pod); set != "" {
		return set
	}
	return strings.ToLower(pod)
}

// domainOf answers the member that a replica is connected to by its name, and what it
// writes behind that name.
func domainOf(s *Source, peers []engines.Peer) (node, domain string, ok bool) {
	if s == nil || !s.Receiving {
		return "", "", false
	}
	for _, p := range peers {
		host, _ := split(p.Node)
		if rest, cut := strings.CutPrefix(s.Host, host); cut && host != "" && label(host) == host && (rest == "" || rest[0] == '.') {
			return p.Node, rest, true
		}
	}
	return "", "", false
}

// isAddress: it is one of IP or an empty name.
func isAddress(host string) bool {
	return strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":")
}

func label(host string) string {
	if isAddress(host) {
		return host // an address has no parts
	}
	first, _, _ := strings.Cut(host, ".")
	return first
}

// split takes a node's name apart: the port is there when it is not MySQL's own.
func split(node string) (host string, port int) {
	if i := strings.LastIndexByte(node, ':'); i >= 0 {
		if p, err := strconv.Atoi(node[i+1:]); err == nil {
			return node[:i], p
		}
	}
	return node, 3306
}

package mysql

import (
	"maps"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

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

// name of a member, with the port where that is not the usual one.
func name(host, port string) string {
	if host == "" || port == "" || port == "0" || port == "3306" {
		return engines.OneLine(host)
	}
	return engines.OneLine(host + ":" + port)
}

// setOf takes a pod's name apart: the StatefulSet and the ordinal; empty: it is no such name.
func setOf(pod string) (set, ordinal string) {
	i := strings.LastIndexByte(pod, '-')
	if i <= 0 || i == len(pod)-1 || strings.Trim(pod[i+1:], "0123456789") != "" {
		return "", ""
	}
	return strings.ToLower(pod[:i]), pod[i+1:]
}

func nodeName(host string, port int) string { return name(host, strconv.Itoa(port)) }

// podOf a node's name: its first part, without the port.
func podOf(name string) string {
	host, _ := split(name)
	return label(host)
}

// ordinal of a pod or node, as a number; names without one come last.
func ordinal(name string) int {
	host := podOf(name)
	n, err := strconv.Atoi(host[strings.LastIndexByte(host, '-')+1:])
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return n
}

package replication

import (
	"maps"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/engines"
)

// Domains by which members are followed, by DomainKey. Members share them.
type Domains map[string]string

// mostDomains bounds how many StatefulSets of one database are shared.
const mostDomains = 16

func (d Domains) Learn(node, domain string) {
	if k := DomainKey(node); k != "" && len(d) < mostDomains {
		d[k] = domain
	}
}

// Join takes what others have learned, where nothing is known yet.
func (d Domains) Join(others Domains) {
	for k, domain := range others {
		if _, known := d[k]; !known && len(d) < mostDomains {
			d[k] = domain
		}
	}
}

func (d Domains) Clone() Domains {
	if len(d) == 0 {
		return nil
	}
	return maps.Clone(d)
}

// DomainKey is the StatefulSet of a pod, whose pods share one domain. A name that is not a
// pod's is its own key.
func DomainKey(node string) string {
	pod := PodOf(node)
	if set, _ := SetOf(pod); set != "" {
		return set
	}
	return strings.ToLower(pod)
}

// DomainOf returns the member that a connected replica follows by name, and the domain
// behind that name.
func DomainOf(s *Source, peers []engines.Peer) (node, domain string, ok bool) {
	if s == nil || !s.Receiving {
		return "", "", false
	}
	for _, p := range peers {
		host, _ := SplitName(p.Node)
		if rest, cut := strings.CutPrefix(s.Host, host); cut && host != "" && FirstLabel(host) == host && (rest == "" || rest[0] == '.') {
			return p.Node, rest, true
		}
	}
	return "", "", false
}

// IsAddress reports whether the host is an IP address, or empty.
func IsAddress(host string) bool {
	return strings.Trim(host, "0123456789.") == "" || strings.Contains(host, ":")
}

func FirstLabel(host string) string {
	if IsAddress(host) {
		return host // an address has no parts
	}
	first, _, _ := strings.Cut(host, ".")
	return first
}

// SplitName splits a member's name. The port is there when it is not 3306.
func SplitName(node string) (host string, port int) {
	if i := strings.LastIndexByte(node, ':'); i >= 0 {
		if p, err := strconv.Atoi(node[i+1:]); err == nil {
			return node[:i], p
		}
	}
	return node, 3306
}

// JoinName returns the name of a member, with the port if it is not 3306.
func JoinName(host, port string) string {
	if host == "" || port == "" || port == "0" || port == "3306" {
		return engines.OneLine(host)
	}
	return engines.OneLine(host + ":" + port)
}

// SetOf splits a pod's name into StatefulSet and ordinal. Empty means it is no such name.
func SetOf(pod string) (set, ordinal string) {
	i := strings.LastIndexByte(pod, '-')
	if i <= 0 || i == len(pod)-1 || strings.Trim(pod[i+1:], "0123456789") != "" {
		return "", ""
	}
	return strings.ToLower(pod[:i]), pod[i+1:]
}

func NodeName(host string, port int) string { return JoinName(host, strconv.Itoa(port)) }

// PodOf a member's name: its first label, without the port.
func PodOf(name string) string {
	host, _ := SplitName(name)
	return FirstLabel(host)
}

// Ordinal returns the ordinal of a pod or member, as a number. Names without one come last.
func Ordinal(name string) int {
	host := PodOf(name)
	n, err := strconv.Atoi(host[strings.LastIndexByte(host, '-')+1:])
	if err != nil {
		return int(^uint(0) >> 1)
	}
	return n
}

package model

import (
	"net/netip"
	"slices"
	"strings"
)

// localityPrefix begins a target that is no address.
const localityPrefix = "locality_"

// Locality reports whether a target is a locality: locality_key:value.
func Locality(target string) bool {
	return strings.HasPrefix(target, localityPrefix) && strings.Contains(target, ":")
}

// Address reports whether a target is IP or IP:port.
func Address(target string) bool {
	if _, err := netip.ParseAddr(target); err == nil {
		return true
	}
	ap, err := netip.ParseAddrPort(target)
	return err == nil && ap.Port() != 0
}

// Matches reports whether a target stands for a process at an address.
func (p *Process) Matches(target, address string) bool {
	if !Locality(target) {
		ip, _, _ := strings.Cut(address, ":")
		return target == address || target == ip
	}
	key, value, _ := strings.Cut(strings.TrimPrefix(target, localityPrefix), ":")
	have := p.locality(key)
	return have != "" && have == value
}

// localityKeys are all that a process may have.
var localityKeys = []string{"instance_id", "processid", "zoneid", "machineid", "dcid", "data_hall", "dns_name"}

// locality is one value of the process's locality, or "".
func (p *Process) locality(key string) string {
	switch key {
	case "instance_id":
		return p.Instance
	case "processid":
		return p.ProcessID()
	case "zoneid":
		return p.Zone
	case "machineid":
		return p.Machine
	case "dcid":
		return p.DC
	case "data_hall":
		return p.Hall
	case "dns_name":
		host, _, _ := strings.Cut(p.Host, ":")
		return host
	default:
		return ""
	}
}

func (c *Cluster) matches(p *Process, address string) bool {
	match := func(target string) bool { return p.Matches(target, address) }
	return slices.ContainsFunc(c.Excluded, match) || slices.ContainsFunc(c.Failed, match)
}

// isExcluded reports whether a process is excluded.
func (c *Cluster) isExcluded(p *Process) bool { return p != nil && c.matches(p, p.Address) }

// serverExcluded says it of a storage server, whether its process is there or not.
func (c *Cluster) serverExcluded(s *Server) bool {
	p := c.Process(s.Process)
	if p == nil {
		p = &Process{Instance: s.Process}
	}
	return c.matches(p, s.Address)
}

// Exclude adds targets. With failed, the data of what they stand for is forgotten at once.
func (c *Cluster) Exclude(targets []string, failed bool) {
	list := &c.Excluded
	if failed {
		list = &c.Failed
	}
	for _, t := range targets {
		if !slices.Contains(*list, t) {
			*list = append(*list, t)
		}
	}
	c.still = false
	if !failed {
		return
	}
	c.Servers = slices.DeleteFunc(c.Servers, func(s *Server) bool {
		if !slices.ContainsFunc(targets, func(t string) bool {
			p := c.Process(s.Process)
			return p != nil && p.Matches(t, s.Address)
		}) {
			return false
		}
		for _, shard := range c.Shards {
			shard.drop(s.ID)
		}
		return true
	})
	c.bury()
}

// Include removes targets; an IP also those of its ports. All removes everything of the list.
func (c *Cluster) Include(targets []string, failed, all bool) {
	list := &c.Excluded
	if failed {
		list = &c.Failed
	}
	*list = slices.DeleteFunc(*list, func(have string) bool {
		return all || slices.ContainsFunc(targets, func(t string) bool {
			return have == t || !Locality(t) && strings.HasPrefix(have, t+":")
		})
	})
	c.still = false
}

// InProgress are the addresses that are excluded and still needed, sorted: storage servers, there or not, and logs of all
// generations.
func (c *Cluster) InProgress() []string {
	var out []string
	add := func(address string) {
		if !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	for _, s := range c.Servers {
		if c.serverExcluded(s) {
			add(s.Address)
		}
	}
	for _, g := range c.Generations {
		for _, l := range g.Logs {
			if p := c.Process(l.Process); c.isExcluded(p) {
				add(p.Address)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Workers are the processes that the cluster knows to be there.
func (c *Cluster) Workers() []*Process {
	var out []*Process
	for _, p := range c.Processes {
		if c.registered(p) {
			out = append(out, p)
		}
	}
	return out
}

// registered reports whether status lists a process: from when it comes until a while after it went.
func (c *Cluster) registered(p *Process) bool {
	return p.Version.SameLine(c.Version) && (p.Up || c.Now-p.Since < c.Pace.Notice)
}

// answers reports whether a process that is listed says anything of itself: not when it went away, and not just after it came.
func (c *Cluster) answers(p *Process) bool { return c.joined(p) && c.Now-p.Since >= c.Pace.Register }

// Stands gives the addresses that a locality stands for: of processes and, from some versions on,
// also of storage servers whose process is unavailable.
func (c *Cluster) Stands(locality string) []string {
	var out []string
	for _, p := range c.Workers() {
		if p.Matches(locality, p.Address) && c.answers(p) {
			out = append(out, p.Address)
		}
	}
	if c.Version.MatchesAbsent() {
		for _, s := range c.Servers {
			if p := c.Process(s.Process); p != nil && p.Matches(locality, s.Address) && !slices.Contains(out, s.Address) {
				out = append(out, s.Address)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Room reports whether the data still fits when the targets are excluded as well.
func (c *Cluster) Room(targets []string) bool {
	var used, usedThere, free int64
	servers, excluded, touched := 0, 0, false
	for _, s := range c.Servers {
		p := c.Process(s.Process)
		if p == nil || !c.alive(s) {
			continue
		}
		servers++
		bytes := c.storedOn(s)
		used += bytes
		asked := slices.ContainsFunc(targets, func(t string) bool { return p.Matches(t, s.Address) })
		touched = touched || asked
		if asked || c.serverExcluded(s) {
			excluded++
			continue
		}
		usedThere += bytes
		free += p.Disk - bytes
	}
	if !touched && !c.Version.SpaceForAll() {
		return true
	}
	return excluded < servers && 1-float64(used)/float64(usedThere+free) > 0.1
}

// storedOn counts the bytes of a storage server.
func (c *Cluster) storedOn(s *Server) int64 {
	var n int64
	for _, shard := range c.Shards {
		for _, copy := range shard.Copies {
			if copy.Server == s.ID {
				n += copy.Done
			}
		}
	}
	return n
}

package model

import (
	"maps"
	"slices"
)

// Truth is the truth of a cluster at an instant, seen from outside: what is really there, whoever
// has noticed it.
type Truth struct {
	Available   bool // transactions can be committed, at least once a recovery is done
	Quorum      bool // a majority of the coordinators answers, and a majority still has what it wrote
	LogsEnough  bool // no mutation that is only in logs is out of reach, and new logs can be recruited
	DataReached bool // every shard has a copy that lives
	DataKept    bool // every shard has a copy on some volume, and so has every mutation that is only in logs
	SpareCopies int  // copies of the worst shard that live, less 1: -1 when one has none
}

// Truth returns the truth of now.
func (c *Cluster) Truth() Truth {
	t := Truth{Quorum: c.quorum() && c.seatsKept(), DataReached: true, DataKept: true, SpareCopies: c.Redundancy.Copies()}
	t.LogsEnough = len(c.recruitLogs()) > 0 && !slices.ContainsFunc(c.Generations, c.unreadable)
	t.Available = t.Quorum && t.LogsEnough && len(c.recruitRoles()) > 0
	for _, s := range c.Shards {
		live, kept := 0, 0
		for _, copy := range s.Copies {
			server := c.Server(copy.Server)
			if server == nil || !s.whole(copy) {
				continue
			}
			if c.alive(server) {
				live++
			}
			if c.kept(server) {
				kept++
			}
		}
		t.DataReached = t.DataReached && live > 0
		t.DataKept = t.DataKept && kept > 0
		t.SpareCopies = min(t.SpareCopies, live-1)
	}
	for _, g := range c.Generations {
		t.DataKept = t.DataKept && !c.unkept(g)
	}
	return t
}

// unkept reports whether the logs of a generation whose volumes are gone may have had all copies of a mutation.
func (c *Cluster) unkept(g *Generation) bool {
	var gone []*Process
	for _, l := range g.Logs {
		if c.logKept(l) {
			continue
		}
		p := c.Process(l.Process)
		if p == nil {
			p = &Process{Instance: l.Process, Zone: l.Process, Hall: l.Process}
		}
		gone = append(gone, p)
	}
	return len(gone) > 0 && c.Redundancy.pushable(gone)
}

// Without is the truth after those processes went away, their volumes kept.
func (c *Cluster) Without(instances ...string) Truth {
	d := c.Clone()
	for _, i := range instances {
		d.Kill(i)
	}
	return d.Truth()
}

// WithoutZone is the truth after all processes of a zone went away, their volumes kept.
func (c *Cluster) WithoutZone(zone string) Truth { return c.Without(c.InZone(zone)...) }

// Losing is the truth after those processes went away for ever, with their volumes.
func (c *Cluster) Losing(instances ...string) Truth {
	d := c.Clone()
	for _, i := range instances {
		d.Kill(i)
		d.LoseVolume(i, "")
	}
	return d.Truth()
}

// Loss is what is gone for good when processes go for good, whatever status says.
type Loss struct {
	Shards    int  // ranges of keys with no copy left on any volume
	Unreached int  // ranges of keys with no copy on a process that runs
	Logs      bool // a generation of logs may have lost all copies of a mutation
	Majority  bool // the coordinators that are left are no majority, or have not what was written
}

// Loss is what would be lost if these processes went now, with their volumes, and never came back. With none of them it is
// what is lost already.
func (c *Cluster) Loss(instances ...string) Loss {
	d := c.Clone()
	for _, i := range instances {
		d.Kill(i)
		d.LoseVolume(i, "")
	}
	loss := Loss{Logs: slices.ContainsFunc(d.Generations, d.unkept), Majority: !d.quorum() || !d.seatsKept()}
	for _, s := range d.Shards {
		if !d.readable(s) {
			loss.Unreached++
		}
		if !slices.ContainsFunc(s.Copies, func(copy Copy) bool {
			server := d.Server(copy.Server)
			return server != nil && s.whole(copy) && d.kept(server)
		}) {
			loss.Shards++
		}
	}
	return loss
}

// InZone are the instances of a zone.
func (c *Cluster) InZone(zone string) []string {
	var out []string
	for _, p := range c.Processes {
		if p.Zone == zone {
			out = append(out, p.Instance)
		}
	}
	return out
}

// Zones returns the zones of all processes.
func (c *Cluster) Zones() []string {
	return distinct(c.Processes, func(p *Process) string { return p.Zone })
}

// Holding are the processes on which copies or mutations are counted, whether or not they are up, each once, in order.
func (c *Cluster) Holding() []string {
	held := map[string]bool{}
	for _, s := range c.Servers {
		if c.storedOn(s) > 0 {
			held[s.Process] = true
		}
	}
	for _, g := range c.Generations {
		for _, l := range g.Logs {
			held[l.Process] = true
		}
	}
	return slices.Sorted(maps.Keys(held))
}

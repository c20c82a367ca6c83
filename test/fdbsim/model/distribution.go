package model

import (
	"slices"
	"time"
)

// noticeServers keeps since when storage servers are unavailable.
func (c *Cluster) noticeServers() {
	for _, s := range c.Servers {
		switch alive := c.alive(s); {
		case alive && s.Gone != 0:
			s.Gone = 0
			c.changed()
		case !alive && s.Gone == 0:
			s.Gone = max(c.Now, 1)
			c.changed()
		}
		if p := c.Process(s.Process); p != nil && s.Gone == 0 {
			s.Address = p.Address
		}
	}
}

// failsAt is when a storage server that is gone counts as failed: for a data distributor that began later, it went away
// when that began.
func (c *Cluster) failsAt(s *Server) time.Duration {
	return max(s.Gone, c.Distributor.Since) + c.Pace.Heal
}

// failed reports whether data distribution counts on a storage server no more.
func (c *Cluster) failed(s *Server) bool {
	if s.Gone == 0 || c.Now < c.failsAt(s) || c.Blind() {
		return false
	}
	return c.Maintenance.Zone == "" || c.zoneOf(s) != c.Maintenance.Zone
}

// distribute makes copies where there are too few, and gives up those that are too many. What was begun goes on without
// the data distributor; nothing else does.
func (c *Cluster) distribute(step time.Duration) {
	c.tickDistributor()
	working := c.distributing()
	if working {
		c.recruitServers()
		for _, s := range c.Shards {
			c.plan(s)
		}
	}
	c.move(step)
	if !working {
		return
	}
	for _, s := range c.Shards {
		c.finish(s)
	}
	c.retireServers()
	if !c.Distributor.NoRebalance {
		c.balance()
	}
}

// recruitServers makes storage servers on processes that have none, some while after they could have one.
func (c *Cluster) recruitServers() {
	short := !c.placeable()
	for _, p := range c.Processes {
		fits := p.Class.stores() || short && p.Class.storesInNeed()
		switch {
		case !c.joined(p) || !fits || c.isExcluded(p) || c.serverOf(p) != nil:
			p.Vacant = 0
			continue
		case p.Vacant == 0:
			p.Vacant = max(c.Now, 1)
		}
		c.changed()
		if c.Now-p.Vacant >= c.Pace.Enlist {
			c.enlist(p)
		}
	}
}

func (c *Cluster) enlist(p *Process) {
	p.Vacant = 0
	c.Servers = append(c.Servers, &Server{ID: c.next(), Process: p.Instance, Volume: p.Volume, Address: p.Address, Begun: c.Now})
	c.changed()
}

// placeable reports whether the storage servers that may be used could have all copies of a shard.
func (c *Cluster) placeable() bool {
	var usable []*Process
	for _, s := range c.Servers {
		if p := c.Process(s.Process); c.alive(s) && !c.serverExcluded(s) && !slices.ContainsFunc(usable, func(q *Process) bool { return !c.Redundancy.apart(p, q) }) {
			usable = append(usable, p)
		}
	}
	return len(usable) >= c.Redundancy.Copies()
}

// good reports whether a copy is one that may stay.
func (c *Cluster) good(s *Shard, copy Copy) bool {
	server := c.Server(copy.Server)
	return s.whole(copy) && server != nil && copy.Server != s.Leaving && !c.failed(server) && !c.serverExcluded(server)
}

// standing are the processes of the good copies, no two of them too close to each other.
func (c *Cluster) standing(s *Shard) []Copy {
	var kept []Copy
	var processes []*Process
	for _, copy := range s.Copies {
		if !c.good(s, copy) {
			continue
		}
		p := c.Process(c.Server(copy.Server).Process)
		if !slices.ContainsFunc(processes, func(q *Process) bool { return !c.Redundancy.apart(p, q) }) {
			kept, processes = append(kept, copy), append(processes, p)
		}
	}
	return kept
}

// plan begins copies that are missing, and ends those that lead nowhere.
func (c *Cluster) plan(s *Shard) {
	before := len(s.Copies)
	s.Copies = slices.DeleteFunc(s.Copies, func(copy Copy) bool {
		if s.whole(copy) {
			return false
		}
		to := c.Server(copy.Server)
		return to == nil || c.failed(to) || c.serverExcluded(to)
	})
	if len(s.Copies) != before {
		c.changed()
	}
	if !slices.ContainsFunc(s.Copies, s.whole) {
		return // there is nothing to copy
	}
	for len(c.standing(s))+c.coming(s) < c.Redundancy.Copies() {
		to := c.destination(s)
		if to == nil {
			return
		}
		s.Copies = append(s.Copies, Copy{Server: to.ID})
		c.changed()
	}
}

// coming counts copies that are being made.
func (c *Cluster) coming(s *Shard) int {
	n := 0
	for _, copy := range s.Copies {
		if !s.whole(copy) {
			n++
		}
	}
	return n
}

// destination is the emptiest storage server that could take another copy of the shard, or nil.
func (c *Cluster) destination(s *Shard) *Server {
	var best *Server
	least := 0
	for _, server := range c.Servers {
		if !c.alive(server) || c.serverExcluded(server) || s.on(server.ID) || !c.fits(s, server) {
			continue
		}
		if n := c.copiesOn(server.ID); best == nil || n < least {
			best, least = server, n
		}
	}
	return best
}

// fits reports whether a copy on that server is apart from those that stay or come.
func (c *Cluster) fits(s *Shard, to *Server) bool {
	p := c.Process(to.Process)
	for _, copy := range s.Copies {
		if s.whole(copy) && !c.good(s, copy) {
			continue
		}
		server := c.Server(copy.Server)
		if server == nil {
			continue
		}
		if q := c.Process(server.Process); q != nil && !c.Redundancy.apart(p, q) {
			return false
		}
	}
	return true
}

func (c *Cluster) copiesOn(server int) int {
	n := 0
	for _, s := range c.Shards {
		if s.on(server) {
			n++
		}
	}
	return n
}

// readable reports whether a shard has a whole copy that lives.
func (c *Cluster) readable(s *Shard) bool {
	return slices.ContainsFunc(s.Copies, func(copy Copy) bool {
		server := c.Server(copy.Server)
		return s.whole(copy) && server != nil && c.alive(server)
	})
}

// move copies as many bytes as go through in this time.
func (c *Cluster) move(step time.Duration) {
	for _, server := range c.Servers {
		if !c.alive(server) {
			continue
		}
		left := int64(step.Seconds() * float64(c.Pace.BytesPerS))
		for _, s := range c.Shards {
			i := slices.IndexFunc(s.Copies, func(copy Copy) bool { return copy.Server == server.ID })
			if i < 0 || s.whole(s.Copies[i]) || !c.readable(s) || left <= 0 {
				continue
			}
			n := min(left, s.Bytes-s.Copies[i].Done)
			s.Copies[i].Done += n
			left -= n
			c.changed()
		}
	}
}

// finish gives up what is not needed once there are enough good copies.
func (c *Cluster) finish(s *Shard) {
	standing := c.standing(s)
	if len(standing) < c.Redundancy.Copies() {
		return
	}
	slices.SortStableFunc(standing, func(a, b Copy) int { return c.absent(a) - c.absent(b) })
	standing = standing[:c.Redundancy.Copies()]
	if len(standing) != len(s.Copies) {
		s.Copies = standing
		c.changed()
	}
	s.Leaving = 0
}

// absent is 1 for a copy whose server is not there, and else 0.
func (c *Cluster) absent(copy Copy) int {
	if c.alive(c.Server(copy.Server)) {
		return 0
	}
	return 1
}

// retireServers strikes storage servers from the list that have nothing and will get nothing.
func (c *Cluster) retireServers() {
	before := len(c.Servers)
	c.Servers = slices.DeleteFunc(c.Servers, func(s *Server) bool {
		return (c.failed(s) || c.serverExcluded(s)) && c.copiesOn(s.ID) == 0
	})
	if len(c.Servers) != before {
		c.changed()
	}
}

// balance moves one shard from the fullest server to an emptier one, when nothing else is to be done.
func (c *Cluster) balance() {
	for _, s := range c.Shards {
		if len(c.standing(s)) != c.Redundancy.Copies() || len(s.Copies) != c.Redundancy.Copies() {
			return
		}
	}
	var fullest *Server
	most := 0
	for _, server := range c.Servers {
		if n := c.copiesOn(server.ID); c.alive(server) && n > most {
			fullest, most = server, n
		}
	}
	if fullest == nil {
		return
	}
	for _, s := range c.Shards {
		if !s.on(fullest.ID) {
			continue
		}
		s.Leaving = fullest.ID
		if to := c.destination(s); to != nil && c.copiesOn(to.ID) < most-1 {
			s.Copies = append(s.Copies, Copy{Server: to.ID})
			c.changed()
			return
		}
		s.Leaving = 0
	}
}

// Moving says how many bytes are on their way, and how many wait.
func (c *Cluster) Moving() (flight, queue int64) {
	var busy []int
	for _, s := range c.Shards {
		for _, copy := range s.Copies {
			left := s.Bytes - copy.Done
			switch {
			case left <= 0:
			case slices.Contains(busy, copy.Server):
				queue += left
			default:
				busy = append(busy, copy.Server)
				flight += left
			}
		}
	}
	return flight, queue
}

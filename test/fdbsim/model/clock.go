package model

import (
	"slices"
	"time"
)

// tickLength is the longest step of virtual time while something happens.
const tickLength = time.Second

// Advance lets virtual time go on. Zero lets the cluster see what has just happened.
func (c *Cluster) Advance(d time.Duration) {
	end := c.Now + max(d, 0)
	for first := true; first || c.Now < end; first = false {
		next := min(end, c.Now+tickLength)
		if c.still {
			next = min(end, max(next, c.deadline()))
		}
		step := min(next-c.Now, tickLength) // nothing moved in the time that was left out
		c.Now = next
		wasStill := c.still
		c.still = true
		c.tick(step)
		c.still = c.still && (wasStill || step > 0) // in no time nothing moves
	}
}

// changed is called by whatever a tick changes.
func (c *Cluster) changed() { c.still = false }

func (c *Cluster) tick(step time.Duration) {
	if !c.Created() {
		return
	}
	c.followMajority()
	c.expireMaintenance()
	c.noticeServers()
	c.tickRecovery()
	if c.Accepting() {
		c.settleWrites()
		c.distribute(step)
	}
	c.report()
}

// deadline is the next time at which something happens by itself although nothing changed last.
func (c *Cluster) deadline() time.Duration {
	next := c.Now + 365*24*time.Hour
	sooner := func(at time.Duration) {
		if at > c.Now {
			next = min(next, at)
		}
	}
	if c.Maintenance.Zone != "" {
		sooner(c.Maintenance.Until)
	}
	for _, s := range c.Servers {
		if s.Gone != 0 {
			sooner(c.failsAt(s))
		}
	}
	if since := c.Distributor.Since; since > 0 {
		sooner(since + tickLength)
		sooner(since + c.Pace.Initialize)
	}
	return next
}

// Settle advances until nothing moves, nothing is about to count as failed, status tells what is, and the newest generation
// is fully recovered; at most d. It reports whether it came to that.
func (c *Cluster) Settle(d time.Duration) bool {
	for end := c.Now + d; ; {
		c.Advance(tickLength)
		if c.still && !c.healing() && c.Accepting() && c.Recovery.Phase == FullyRecovered && (c.distributing() || c.Distributor.Off) {
			return true
		}
		if c.Now >= end {
			return false
		}
	}
}

// healing reports whether a storage server is unavailable and does not count as failed yet.
func (c *Cluster) healing() bool {
	for _, s := range c.Servers {
		if s.Gone != 0 && c.Now < c.failsAt(s) {
			return true
		}
	}
	return false
}

// Noticed reports whether all that went away has been noticed and told, so that status may tell the truth. While somebody has told
// the cluster not to look, what goes away is never noticed.
func (c *Cluster) Noticed() bool {
	for _, p := range c.Processes {
		if !p.Up && c.Now-p.Since < max(c.Pace.Notice, tickLength) || p.Up && c.Now-p.Since < max(c.Pace.Register, tickLength) {
			return false
		}
	}
	told, now := c.Distributor.Told, c.findings()
	silent := told.State == "" || told.State == initializing
	if c.Accepting() && (silent || told.State != now.State || told.Replicas != now.Replicas || told.Off != now.Off) {
		return false
	}
	if c.Blind() {
		return !slices.ContainsFunc(c.Servers, func(s *Server) bool { return s.Gone != 0 })
	}
	return !c.healing()
}

// followMajority: when most coordinators run another version line, the cluster is of that line.
func (c *Cluster) followMajority() {
	lines := map[string]int{}
	for _, seat := range c.Seats {
		if p := c.sitting(seat); p != nil && p.Up {
			if line := p.Version.Line(); !p.Version.SameLine(c.Version) {
				lines[line]++
				if lines[line] > len(c.Seats)/2 {
					c.Version = p.Version
					c.changed()
					return
				}
			}
		}
	}
}

package model

import "time"

// Distributor is the data distributor. There is one, and what it has noticed ends with it: a new one takes Pace.Initialize
// until it works, and Pace.Heal until it counts on no server that was away before.
type Distributor struct {
	Since time.Duration // when it began; zero while there is none
	// Off and NoRebalance are what somebody asked for: datadistribution off, and disable rebalance.
	Off         bool
	NoRebalance bool
	// Told is what it reported last.
	Told Findings
}

// Findings are what a data distributor reports: every Pace.Look, and so late. They tell of what it counts on, not of what is.
type Findings struct {
	State     string // "" before the first report
	Off       bool   // it was told to do nothing, and so finds nothing wrong
	Healthy   bool
	Replicas  int
	Flying    int64
	Waiting   int64
	Priority  int
	Unhealthy int
}

// initializing is the state of a data distributor that does not know yet.
const initializing = "initializing"

const distributorRole = "data_distributor"

// singleton reports whether a role can be given to another process without a recovery.
func singleton(name string) bool { return name == distributorRole || name == "ratekeeper" }

// Blind reports whether somebody has told the cluster not to notice storage servers that fail.
func (c *Cluster) Blind() bool { return c.IgnoreFailures || c.Distributor.Off }

// distributing reports whether the data distributor works.
func (c *Cluster) distributing() bool {
	d := c.Distributor
	return !d.Off && d.Since > 0 && c.Now-d.Since >= c.Pace.Initialize
}

// restartDistributor begins a new one.
func (c *Cluster) restartDistributor() {
	c.Distributor.Since, c.Distributor.Told = max(c.Now, 1), Findings{}
	c.changed()
}

// SetDistribution is datadistribution on and off. Either begins a data distributor that knows nothing; one that is told to
// stop says what it said until its next report.
func (c *Cluster) SetDistribution(on bool) {
	d := &c.Distributor
	if d.Off == on {
		d.Off = !on
		if on {
			c.restartDistributor()
		}
	}
	c.still = false
}

// tickDistributor gives the roles that need no recovery to other processes when theirs are gone.
func (c *Cluster) tickDistributor() {
	if c.Distributor.Since == 0 {
		c.restartDistributor()
	}
	for i, r := range c.Recovery.Roles {
		if !singleton(r.Name) || c.holds(r) {
			continue
		}
		processes := c.recruitRoles()
		if i >= len(processes) {
			return
		}
		c.Recovery.Roles[i] = Role{Name: r.Name, ID: c.next(), Process: processes[i].Instance, Started: processes[i].Since}
		if r.Name == distributorRole {
			c.restartDistributor()
		}
		c.changed()
	}
}

// report is what the data distributor does every Pace.Look, counted from when it began, and at once when it begins to work.
func (c *Cluster) report() {
	d := &c.Distributor
	if d.Since == 0 || !c.Accepting() {
		return
	}
	now := c.findings()
	if now == d.Told {
		return
	}
	c.changed()
	age := c.Now - d.Since
	fresh := d.Told.State == "" || d.Told.State == initializing && !d.Off
	look := max(c.Pace.Look, tickLength)
	if fresh || age/look != (age-tickLength)/look {
		d.Told = now
	}
}

// findings are what the data distributor would report now.
func (c *Cluster) findings() Findings {
	d := c.Distributor
	switch age := c.Now - d.Since; {
	case d.Since == 0 || age < tickLength:
		return Findings{}
	case d.Off:
		return Findings{State: "healthy", Off: true, Healthy: true, Replicas: c.Redundancy.Copies()}
	case age < c.Pace.Initialize:
		return Findings{State: initializing}
	}
	f := Findings{Unhealthy: c.unhealthyServers()}
	f.Healthy, f.State, f.Replicas = c.dataState()
	f.Flying, f.Waiting = c.Moving()
	f.Priority = c.priority(f.State, f.Replicas)
	return f
}

package model

import (
	"slices"
	"time"
)

// Phase is the phase of a recovery, in the words of status.
type Phase string

// The phases, in order. From AcceptingCommits on there is a database.
const (
	ReadingCoordinatedState      Phase = "reading_coordinated_state"
	LockingOldTransactionServers Phase = "locking_old_transaction_servers"
	RecruitingTransactionServers Phase = "recruiting_transaction_servers"
	AcceptingCommits             Phase = "accepting_commits"
	AllLogsRecruited             Phase = "all_logs_recruited"
	StorageRecovered             Phase = "storage_recovered"
	FullyRecovered               Phase = "fully_recovered"
)

// descriptions are what status says of the phases.
var descriptions = map[Phase]string{
	ReadingCoordinatedState:      "Requesting information from coordination servers. Verify that a majority of coordination server processes are active.",
	LockingOldTransactionServers: "Locking old transaction servers. Verify that at least one transaction server from the previous generation is running.",
	RecruitingTransactionServers: "Recruiting new transaction servers.",
	AcceptingCommits:             "Accepting commits.",
	AllLogsRecruited:             "Accepting commits. All logs recruited.",
	StorageRecovered:             "Accepting commits. All storage servers are reading from the new logs.",
	FullyRecovered:               "Recovery complete.",
}

func (p Phase) accepting() bool {
	return slices.Contains([]Phase{AcceptingCommits, AllLogsRecruited, StorageRecovered, FullyRecovered}, p)
}

// Recovery is the state of the transaction system.
type Recovery struct {
	Phase Phase
	Since time.Duration // when it began, or when commits were accepted
	Epoch int
	Roles []Role
	// Asked says that somebody asked for it with other coordinators: the data distributor goes on.
	Asked bool
}

// Role is the role of the transaction system but for logs.
type Role struct {
	Name    string
	ID      int
	Process string
	Started time.Duration
}

// Generation is the generation of logs.
type Generation struct {
	Epoch   int
	Logs    []Log
	Pending []Pending
}

// Log is the log of a generation, on the volume of a process.
type Log struct {
	ID      int
	Process string
	Volume  string
	Started time.Duration
}

// Accepting reports whether transactions can be committed.
func (c *Cluster) Accepting() bool {
	return c.Recovery.Phase.accepting() && c.quorum() && !c.broken()
}

func (c *Cluster) logAlive(l Log) bool {
	p := c.Process(l.Process)
	return p != nil && c.joined(p) && p.Volume == l.Volume
}

func (c *Cluster) logKept(l Log) bool {
	p := c.Process(l.Process)
	return p != nil && p.Volume == l.Volume
}

func (c *Cluster) current() *Generation {
	if len(c.Generations) == 0 {
		return nil
	}
	return c.Generations[len(c.Generations)-1]
}

// broken reports whether a part of the transaction system is not there any more, or is there again.
func (c *Cluster) broken() bool {
	for _, l := range c.current().Logs {
		if p := c.Process(l.Process); !c.logAlive(l) || p.Since != l.Started {
			return true
		}
	}
	return slices.ContainsFunc(c.Recovery.Roles, func(r Role) bool { return !singleton(r.Name) && !c.holds(r) })
}

// holds reports whether the process of a role still runs as it did when it got it.
func (c *Cluster) holds(r Role) bool {
	p := c.Process(r.Process)
	return p != nil && c.joined(p) && p.Since == r.Started
}

// misplaced reports whether a part of the transaction system is where it should not be, and could be elsewhere.
func (c *Cluster) misplaced() bool {
	logs := c.recruitLogs()
	if len(logs) == 0 {
		return false
	}
	inNeed := 0
	for _, p := range logs {
		if p.Class == Storage {
			inNeed++
		}
	}
	for _, l := range c.current().Logs {
		if p := c.Process(l.Process); p != nil && p.Class == Storage {
			inNeed--
		}
	}
	if len(c.current().Logs) < len(logs) || inNeed < 0 {
		return true
	}
	for _, l := range c.current().Logs {
		if c.isExcluded(c.Process(l.Process)) {
			return true
		}
	}
	roles := c.recruitRoles()
	for i, r := range c.Recovery.Roles {
		if c.isExcluded(c.Process(r.Process)) && i < len(roles) && !c.isExcluded(roles[i]) {
			return true
		}
	}
	return false
}

// unreadable reports whether mutations may be out of reach that only the logs of a generation have.
func (c *Cluster) unreadable(g *Generation) bool {
	var away []*Process
	for _, l := range g.Logs {
		if c.logAlive(l) {
			continue
		}
		p := c.Process(l.Process)
		if p == nil {
			p = &Process{Instance: l.Process, Zone: l.Process, Hall: l.Process}
		}
		away = append(away, p)
	}
	return len(away) > 0 && c.Redundancy.pushable(away)
}

func (c *Cluster) tickRecovery() {
	r := &c.Recovery
	if r.Phase.accepting() {
		if c.quorum() && !c.broken() && !c.misplaced() {
			c.retire()
			return
		}
		c.changed()
		r.Phase, r.Since = ReadingCoordinatedState, c.Now
	}
	phase := c.recoverTo()
	if phase != r.Phase {
		c.changed()
	}
	r.Phase = phase
	if phase != RecruitingTransactionServers {
		r.Since = max(r.Since, c.Now-c.Pace.Recover) // the way is as long once it is free
		return
	}
	if len(c.recruitLogs()) == 0 || len(c.recruitRoles()) == 0 {
		return
	}
	if c.Now-r.Since < c.Pace.Recover {
		c.changed()
		return
	}
	c.accept()
}

// recoverTo is how far a recovery gets.
func (c *Cluster) recoverTo() Phase {
	if !c.quorum() || !c.seatsKept() {
		return ReadingCoordinatedState
	}
	if slices.ContainsFunc(c.Generations, c.unreadable) {
		return LockingOldTransactionServers
	}
	return RecruitingTransactionServers
}

// accept begins a generation.
func (c *Cluster) accept() {
	r := &c.Recovery
	r.Epoch++
	g := &Generation{Epoch: r.Epoch}
	for _, p := range c.recruitLogs() {
		g.Logs = append(g.Logs, Log{ID: c.next(), Process: p.Instance, Volume: p.Volume, Started: p.Since})
	}
	before := r.Roles
	r.Roles = nil
	for i, p := range c.recruitRoles() {
		role := Role{Name: c.roleNames()[i], ID: c.next(), Process: p.Instance, Started: p.Since}
		if old := slices.IndexFunc(before, func(o Role) bool { return o.Name == role.Name }); r.Asked && singleton(role.Name) && old >= 0 {
			role = before[old]
		}
		r.Roles = append(r.Roles, role)
	}
	if !r.Asked {
		c.restartDistributor()
	}
	r.Asked = false
	c.Generations = append(c.Generations, g)
	r.Phase, r.Since = AcceptingCommits, c.Now
	c.writeSeats()
	c.changed()
}

// retire lets the old generations go once the new logs have what only those had. As long as a storage server is counted on
// that is not there, it may need them.
func (c *Cluster) retire() {
	r := &c.Recovery
	age, before := c.Now-r.Since, r.Phase
	switch {
	case r.Phase == FullyRecovered:
		return
	case len(c.Generations) > 1 && slices.ContainsFunc(c.Servers, func(s *Server) bool { return !c.alive(s) }) && age > 0:
		r.Phase = AllLogsRecruited
	case age >= c.Pace.Retire:
		r.Phase = FullyRecovered
		for _, g := range c.Generations[:len(c.Generations)-1] {
			for _, p := range g.Pending {
				p.Logs = c.push(p.Key)
				c.current().Pending = append(c.current().Pending, p)
			}
		}
		c.Generations = c.Generations[len(c.Generations)-1:]
	case age >= c.Pace.Retire-tickLength:
		r.Phase = StorageRecovered
	case age > 0:
		r.Phase = AllLogsRecruited
	}
	if r.Phase != before || r.Phase != FullyRecovered && r.Phase != AllLogsRecruited || age < c.Pace.Retire {
		c.changed()
	}
}

// recruitLogs chooses processes for the logs of a generation: one zone after the other, or none when there are too few. Those
// of class storage are taken when there are too few others.
func (c *Cluster) recruitLogs() []*Process {
	var eligible []*Process
	for _, class := range []Class{LogClass, Transaction, Unset, Storage} {
		if class == Storage && c.Redundancy.pushable(eligible) {
			break // only in need
		}
		for _, p := range c.Processes {
			if p.Class == class && c.joined(p) && !c.isExcluded(p) {
				eligible = append(eligible, p)
			}
		}
	}
	chosen := spread(c.Redundancy.firstLogs(eligible), c.Logs)
	if !c.Redundancy.pushable(chosen) {
		return nil
	}
	return chosen
}

// spread takes so many of the processes, by turns from each zone, in which those that come first are taken first.
func spread(from []*Process, count int) []*Process {
	zones := distinct(from, func(p *Process) string { return p.Zone })
	var out []*Process
	for round := 0; len(out) < count; round++ {
		found := false
		for _, zone := range zones {
			n := 0
			for _, p := range from {
				if p.Zone != zone {
					continue
				}
				if n == round && len(out) < count {
					out, found = append(out, p), true
				}
				n++
			}
		}
		if !found {
			break
		}
	}
	return out
}

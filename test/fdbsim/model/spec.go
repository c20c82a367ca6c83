package model

import (
	"fmt"
	"time"
)

// Spec says what cluster to make. Everything has a default.
type Spec struct {
	Description string
	Prefix      string // of instances: fdb-0, fdb-1 and so on
	Version     string
	Redundancy  Redundancy
	Zones       int // at least one
	PerZone     int // processes in each
	// Halls over which zones are spread by turns; three for three_data_hall.
	Halls int
	// Class is the class of the process with this number; all are unset by default.
	Class func(number int) Class
	// Address is the address of the process with this number.
	Address      func(number int) string
	Host         func(number int) string
	Coordinators int
	Shards       int
	ShardBytes   int64
	Logs         int
	Pace         Pace
}

func (s Spec) withDefaults() Spec {
	if s.Description == "" {
		s.Description = "fdb"
	}
	if s.Prefix == "" {
		s.Prefix = "fdb"
	}
	if s.Version == "" {
		s.Version = "7.3.63"
	}
	if s.Redundancy == "" {
		s.Redundancy = Double
	}
	if s.Zones == 0 {
		s.Zones = 3
	}
	if s.PerZone == 0 {
		s.PerZone = 3
	}
	if s.Halls == 0 && s.Redundancy == ThreeDataHall {
		s.Halls = 3
	}
	if s.Class == nil {
		s.Class = func(int) Class { return Unset }
	}
	if s.Address == nil {
		s.Address = func(n int) string { return fmt.Sprintf("10.8.%d.%d:4500", n/200, 10+n%200) }
	}
	if s.Host == nil {
		s.Host = func(int) string { return "" }
	}
	if s.Coordinators == 0 {
		s.Coordinators = s.Redundancy.coordinators()
	}
	if s.Shards == 0 {
		s.Shards = 24
	}
	if s.ShardBytes == 0 {
		s.ShardBytes = 100 << 20
	}
	if s.Logs == 0 {
		s.Logs = max(3, s.Redundancy.LogCopies())
	}
	if s.Pace == (Pace{}) {
		s.Pace = DefaultPace
	}
	return s
}

// New makes a cluster that has been running for an hour, with its data where it belongs. A version or a mode that the
// model does not know is a mistake of the caller.
func New(spec Spec) *Cluster {
	spec = spec.withDefaults()
	c := Empty(spec)
	for n := range spec.Zones * spec.PerZone {
		zone := n % spec.Zones
		instance := fmt.Sprintf("%s-%d", spec.Prefix, n)
		p := Process{
			Instance: instance, Address: spec.Address(n), Host: spec.Host(n), Class: spec.Class(n), Version: c.Version,
			Zone: "zone-" + string(rune('a'+zone)), Machine: instance, Volume: instance + "/1",
		}
		if spec.Halls > 0 {
			p.Hall = "hall-" + string(rune('a'+zone%spec.Halls))
		}
		c.Join(p)
	}
	c.Create(spec.Coordinators)
	c.Advance(time.Hour)
	return c
}

// Empty is a cluster without processes and database.
func Empty(spec Spec) *Cluster {
	spec = spec.withDefaults()
	version, err := ParseVersion(spec.Version)
	if err == nil {
		err = spec.Redundancy.Valid()
	}
	if err != nil {
		panic(err)
	}
	c := &Cluster{
		Description: spec.Description, Version: version, Redundancy: spec.Redundancy, Pace: spec.Pace, Logs: spec.Logs,
		Recovery: Recovery{Phase: ReadingCoordinatedState}, Origin: 1795546800,
	}
	for range spec.Shards {
		c.Shards = append(c.Shards, &Shard{Bytes: spec.ShardBytes})
	}
	return c
}

// Created reports whether there is a database.
func (c *Cluster) Created() bool { return len(c.Seats) > 0 }

// Create makes the database, empty but for its size, on the processes that are there.
func (c *Cluster) Create(coordinators int) {
	c.setSeats(c.pickSeats(coordinators))
	for _, s := range c.Shards {
		s.Copies = nil
	}
	for _, p := range c.Processes {
		if c.joined(p) && p.Class.stores() && !c.isExcluded(p) && c.serverOf(p) == nil {
			c.enlist(p)
		}
	}
	for _, s := range c.Shards {
		for len(s.Copies) < c.Redundancy.Copies() {
			to := c.destination(s)
			if to == nil {
				break
			}
			s.Copies = append(s.Copies, Copy{Server: to.ID, Done: s.Bytes})
		}
	}
	c.Recovery.Phase = RecruitingTransactionServers
}

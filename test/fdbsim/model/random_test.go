package model

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A what-if over random clusters is worth something only when they are of all kinds.
func TestRandomClustersAreOfAllKinds(t *testing.T) {
	counts := map[string]int{}
	count := func(name string, is bool) {
		if is {
			counts[name]++
		}
	}
	const clusters = 3000
	for seed := range uint64(clusters) {
		c := Random(rand.New(rand.NewPCG(seed, 1)))
		truth := c.Truth()
		flying, _ := c.Moving()
		healthy, _, replicas := c.dataState()
		count("available", truth.Available)
		count("unavailable", !truth.Available)
		count("no quorum", !truth.Quorum)
		count("logs out of reach", !truth.LogsEnough)
		count("a shard out of reach", !truth.DataReached)
		count("data lost", !truth.DataKept)
		count("moving", flying > 0)
		count("healthy", healthy)
		count("one replica", replicas == 1 && c.Redundancy != Single)
		count("excluded", len(c.Excluded) > 0)
		count("excluded and needed", len(c.InProgress()) > 0)
		count("maintenance", c.Maintenance.Zone != "")
		count("recovering", truth.Available && !c.Accepting())
		count("old generations", len(c.Generations) > 1)
		count("noticed", c.Noticed())
		count("status has not noticed", !c.Noticed())
		count("data distribution off", c.Distributor.Off)
		count("off, and something gone", c.Blind() && c.anyGone())
		count("failures of storage ignored", c.IgnoreFailures)
		count("no rebalancing", c.Distributor.NoRebalance)
		count("a data distributor that has just begun", c.Accepting() && c.Distributor.Told.State == initializing)
		count("status says healthy, a copy is missing", c.Accepting() && c.Distributor.Told.Healthy && truth.SpareCopies < c.Redundancy.Copies()-1)
		count("healthy after the distributor's restart", c.Accepting() && c.Distributor.Told.Healthy && c.anyGone() && c.Now > c.longestGone()+c.Pace.Heal)
		count("ghosts", slices.ContainsFunc(c.Workers(), func(p *Process) bool { return !p.Up }))
		count("coordinators by name", len(c.Seats) > 0 && strings.Contains(c.Seats[0].Address, "fdb-"))
		count("a name that leads nowhere", slices.ContainsFunc(c.Seats, func(s Seat) bool { return !c.resolves(s.Address) }))
		count("old logs for storage that is away", c.Recovery.Phase == AllLogsRecruited && c.Now-c.Recovery.Since > c.Pace.Retire)
		count("logs on class storage", c.current() != nil && slices.ContainsFunc(c.current().Logs, func(l Log) bool { return c.Process(l.Process).Class == Storage }))
		count("storage on a class for logs", slices.ContainsFunc(c.Servers, func(s *Server) bool { return c.Process(s.Process).Class.storesInNeed() }))
		count("locked", c.LockUID != "")
		count("an old error", slices.ContainsFunc(c.Processes, func(p *Process) bool { return len(p.Messages) > 0 && c.Now-p.MessagesAt > time.Minute }))
		for _, zone := range c.Zones() {
			w := c.WithoutZone(zone)
			count("a zone too many for availability", truth.Available && !w.Available)
			count("a zone too many for data", truth.DataReached && !w.DataReached)
			count("a zone that may go", w.Available && w.DataReached)
		}
		require.NotEmpty(t, c.StatusJSON())
	}
	t.Log(counts)
	for _, kind := range []string{
		"available", "unavailable", "no quorum", "logs out of reach", "a shard out of reach", "data lost", "moving", "healthy", "one replica", "excluded",
		"excluded and needed", "maintenance", "recovering", "old generations", "noticed", "status has not noticed", "a zone too many for availability",
		"a zone too many for data", "a zone that may go", "data distribution off", "off, and something gone", "failures of storage ignored",
		"no rebalancing", "a data distributor that has just begun", "status says healthy, a copy is missing",
		"healthy after the distributor's restart", "ghosts", "coordinators by name", "a name that leads nowhere", "old logs for storage that is away",
		"logs on class storage", "storage on a class for logs", "locked", "an old error",
	} {
		require.GreaterOrEqual(t, counts[kind], clusters/100, kind)
	}
}

func (c *Cluster) anyGone() bool {
	return slices.ContainsFunc(c.Servers, func(s *Server) bool { return s.Gone != 0 })
}

// longestGone is since when the storage server is gone that went first.
func (c *Cluster) longestGone() time.Duration {
	first := c.Now
	for _, s := range c.Servers {
		if s.Gone != 0 {
			first = min(first, s.Gone)
		}
	}
	return first
}

func TestSameSeedSameCluster(t *testing.T) {
	for seed := range uint64(50) {
		first, second := Random(rand.New(rand.NewPCG(seed, 2))), Random(rand.New(rand.NewPCG(seed, 2)))
		require.Equal(t, first, second)
		require.Equal(t, string(first.StatusJSON()), string(second.StatusJSON()))
	}
}

func BenchmarkRandom(b *testing.B) {
	seed := uint64(0)
	for b.Loop() {
		seed++
		c := Random(rand.New(rand.NewPCG(seed, 1)))
		c.StatusJSON()
	}
}

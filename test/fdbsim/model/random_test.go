package model

import (
	"math/rand/v2"
	"testing"

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
		"a zone too many for data", "a zone that may go",
	} {
		require.GreaterOrEqual(t, counts[kind], clusters/100, kind)
	}
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

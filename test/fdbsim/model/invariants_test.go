package model

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawn(t *rapid.T) (*Cluster, *rand.Rand) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	return New(randomSpec(r)), r
}

// check holds what is always true of a cluster.
func check(t require.TestingT, c *Cluster) {
	for i, s := range c.Shards {
		require.LessOrEqual(t, len(distinctInts(s.Copies)), len(s.Copies))
		require.Len(t, distinctInts(s.Copies), len(s.Copies), "shard %d has two copies on a server", i)
		for _, copy := range s.Copies {
			require.NotNil(t, c.Server(copy.Server), "shard %d is on a server that is not in the list", i)
			require.LessOrEqual(t, copy.Done, s.Bytes, "shard %d has more than there is", i)
		}
		standing := c.standing(s)
		for j, a := range standing {
			for _, b := range standing[:j] {
				require.True(t, c.Redundancy.apart(c.Process(c.Server(a.Server).Process), c.Process(c.Server(b.Server).Process)))
			}
		}
	}
	for _, s := range c.Servers {
		require.NotNil(t, c.Process(s.Process))
	}
	ids := map[int]bool{}
	for _, s := range c.Servers {
		require.False(t, ids[s.ID])
		ids[s.ID] = true
	}
	require.NotEmpty(t, c.Seats)
	if c.Recovery.Phase == FullyRecovered {
		require.Len(t, c.Generations, 1)
	}
}

func distinctInts(copies []Copy) []int {
	var out []int
	for _, c := range copies {
		if !slices.Contains(out, c.Server) {
			out = append(out, c.Server)
		}
	}
	return out
}

// wholeKept counts the whole copies of a shard that lie on a volume.
func wholeKept(c *Cluster, s *Shard) int {
	n := 0
	for _, copy := range s.Copies {
		if server := c.Server(copy.Server); server != nil && s.whole(copy) && c.kept(server) {
			n++
		}
	}
	return n
}

func TestAlwaysTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawn(t)
		check(t, c)
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			gone := make([]bool, len(c.Shards))
			for i, s := range c.Shards {
				gone[i] = wholeKept(c, s) == 0
			}
			c.Disturb(r)
			check(t, c)
			for i, s := range c.Shards {
				require.False(t, gone[i] && wholeKept(c, s) > 0, "shard %d came out of nothing", i)
			}
		}
	})
}

// What is excluded gets empty when enough other zones can hold the data and the logs.
func TestExclusionFinishes(t *testing.T) {
	finished := 0
	rapid.Check(t, func(t *rapid.T) {
		c, r := drawn(t)
		if !c.Truth().Available || c.Truth().SpareCopies < c.Redundancy.Copies()-1 {
			return
		}
		target := pick(r, c.Processes...)
		c.Exclude([]string{target.Address}, false)
		settled := c.Settle(7 * 24 * time.Hour)
		if !c.enoughWithout(target) {
			return
		}
		finished++
		require.True(t, settled)
		require.Empty(t, c.InProgress())
		require.Equal(t, c.Redundancy.Copies()-1, c.Truth().SpareCopies)
		require.Equal(t, c.Redundancy.Copies()-1, c.Losing(target.Instance).SpareCopies, "what was excluded may be lost")
		c.Include([]string{target.Address}, false, false)
		require.True(t, c.Settle(7*24*time.Hour))
		check(t, c)
	})
	require.Positive(t, finished)
}

// enoughWithout reports whether there are zones enough for everything without a process.
func (c *Cluster) enoughWithout(target *Process) bool {
	var store, log []*Process
	for _, p := range c.Processes {
		if p == target || !p.Up {
			continue
		}
		if p.Class.stores() {
			store = append(store, p)
		}
		if p.Class.logs() {
			log = append(log, p)
		}
	}
	zones := countZones(store)
	if c.Redundancy == ThreeDataHall {
		zones = len(distinct(store, func(p *Process) string { return p.Hall }))
	}
	return zones >= c.Redundancy.Copies() && c.Redundancy.pushable(log)
}

// Whoever looks more often sees the same.
func TestTimeMayBeTakenInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		whole, parts := Random(rand.New(rand.NewPCG(seed, 4))), Random(rand.New(rand.NewPCG(seed, 4)))
		seconds := rapid.IntRange(1, 200).Draw(t, "seconds")
		whole.Advance(time.Duration(seconds) * time.Second)
		for range seconds {
			parts.Advance(time.Second)
		}
		whole.still, parts.still = false, false
		require.Equal(t, whole, parts)
	})
}

// A world can be written down and taken up again.
func TestClusterSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Random(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5)))
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var d Cluster
		require.NoError(t, json.Unmarshal(data, &d))
		c.still = false
		c.Advance(100 * time.Second)
		d.Advance(100 * time.Second)
		require.Equal(t, string(c.StatusJSON()), string(d.StatusJSON()))
		require.Equal(t, c.Truth(), d.Truth())
	})
}

func TestClonesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		c, same := Random(rand.New(rand.NewPCG(seed, 6))), Random(rand.New(rand.NewPCG(seed, 6)))
		d := c.Clone()
		require.Equal(t, c, d)
		r := rand.New(rand.NewPCG(seed, 7))
		for range 8 {
			d.Disturb(r)
			_ = d.Commit("key", "value")
			d.Say("a message")
		}
		require.Equal(t, same, c)
	})
}

// Who takes more away never has more left, and what is lost with volumes is never more than what is
// unavailable without.
func TestTruthNeverGrows(t *testing.T) {
	least := func(a, b bool) bool { return !b || a } // b implies a
	rapid.Check(t, func(t *rapid.T) {
		c := Random(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8)))
		var gone []string
		before := c.Truth()
		for _, p := range c.Processes {
			if !rapid.Bool().Draw(t, p.Instance) {
				continue
			}
			gone = append(gone, p.Instance)
			now, lost := c.Without(gone...), c.Losing(gone...)
			require.True(t, least(before.Available, now.Available))
			require.True(t, least(before.Quorum, now.Quorum))
			require.True(t, least(before.LogsEnough, now.LogsEnough))
			require.True(t, least(before.DataReached, now.DataReached))
			require.Equal(t, before.DataKept, now.DataKept, "volumes are kept")
			require.LessOrEqual(t, now.SpareCopies, before.SpareCopies)
			require.True(t, least(now.DataKept, lost.DataKept))
			require.True(t, least(now.Available, lost.Available))
			require.Equal(t, now.SpareCopies, lost.SpareCopies)
			before = now
		}
	})
}

package model

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listed are the ids of the roles in the list of storage servers, as a reader of keys finds them.
func listed(m *Cluster) map[string]bool {
	out := map[string]bool{}
	for _, key := range m.KeysBetween([]byte(serverList), []byte("\xff/serverList0")) {
		out[fmt.Sprintf("%016x", binary.LittleEndian.Uint64(key[len(serverList):]))] = true
	}
	return out
}

// Whoever is counted on is in the list, whether it runs or not; nobody else is.
func TestServerList(t *testing.T) {
	m := split()
	victim := roleID(m.serverOf(m.Process("fdb-1")).ID)
	require.Len(t, listed(m), 3)
	require.True(t, listed(m)[victim])
	m.SetDistribution(false)
	m.Advance(time.Minute)
	m.Kill("fdb-1")
	m.Advance(time.Hour)
	require.True(t, listed(m)[victim], "nobody noticed")
	m.SetDistribution(true)
	m.Advance(m.Pace.Heal)
	require.True(t, listed(m)[victim], "it is missed, and its data is not elsewhere yet")
	require.True(t, m.Settle(time.Hour))
	require.False(t, listed(m)[victim])
	require.Equal(t, 1, m.Truth().SpareCopies)

	m.Start("fdb-1")
	require.True(t, m.Settle(time.Hour))
	require.Len(t, listed(m), 3)
	require.False(t, listed(m)[victim], "it is another storage server now")
}

func TestServerListIsSortedAmongOtherKeys(t *testing.T) {
	m := split()
	require.NoError(t, m.Commit("b", "1"))
	require.NoError(t, m.Commit("a", "1"))
	require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, m.KeysBetween([]byte("a"), []byte("c")))
	require.Empty(t, m.KeysBetween([]byte("c"), []byte("d")))
	require.Len(t, m.KeysBetween(nil, []byte("\xff\xff")), 5)
}

func TestLoss(t *testing.T) {
	m := split()
	require.Zero(t, m.Loss())
	require.Zero(t, m.Loss(m.InZone("zone-b")...), "a zone may go for good")
	both := append(m.InZone("zone-b"), m.InZone("zone-c")...)
	loss := m.Loss(both...)
	require.Positive(t, loss.Shards)
	require.Positive(t, loss.Unreached)
	require.True(t, loss.Logs)
	require.True(t, loss.Majority)
	m.Kill("fdb-1")
	require.Zero(t, m.Loss().Unreached)
	require.Positive(t, m.Loss("fdb-2").Unreached, "what is on the volume of fdb-1 cannot be read now")
	require.Zero(t, m.Loss("fdb-2").Shards)
	require.Positive(t, m.Loss("fdb-1", "fdb-2").Shards)
	require.Equal(t, Loss{Logs: true, Majority: true}, m.Loss(m.Seats[0].Process, m.Seats[2].Process), "of the coordinators, which have the logs")
}

// Whatever happens: when all that is in the list runs, every shard has all of its copies on processes that run. Status may
// say anything.
func TestTheListOfServersHidesNoLoss(t *testing.T) {
	compared, healthyInVain := 0, 0
	for seed := range uint64(1500) {
		c := Random(rand.New(rand.NewPCG(seed, 11)))
		if !c.Created() || !c.enoughWithout(nil) {
			continue
		}
		whole := true
		for _, s := range c.Servers {
			whole = whole && c.alive(s)
		}
		spare := c.Truth().SpareCopies
		if whole {
			compared++
			require.Equal(t, c.Redundancy.Copies()-1, spare, "seed %d", seed)
		} else if c.Accepting() && c.Distributor.Told.Healthy && spare < c.Redundancy.Copies()-1 {
			healthyInVain++
		}
	}
	require.Greater(t, compared, 300)
	require.Greater(t, healthyInVain, 10, "status alone is not enough")
}

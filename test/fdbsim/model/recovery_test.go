package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// split is a cluster as the recorded one: three processes for storage, three for logs, three for the rest.
func split() *Cluster {
	return splitOf(100 << 20)
}

func splitOf(bytes int64) *Cluster {
	m := New(Spec{ShardBytes: bytes, Class: func(n int) Class { return []Class{Storage, LogClass, Stateless}[n/3] }})
	if err := m.SetCoordinators([]string{"10.8.0.13:4500", "10.8.0.14:4500", "10.8.0.15:4500"}, ""); err != nil {
		panic(err)
	}
	m.Settle(time.Hour)
	return m
}

func TestRecoveryPhases(t *testing.T) {
	m := split()
	epoch := m.Recovery.Epoch
	m.Kill(m.current().Logs[0].Process)
	var seen []Phase
	for range 26 {
		if len(seen) == 0 || seen[len(seen)-1] != m.Recovery.Phase {
			seen = append(seen, m.Recovery.Phase)
		}
		if m.Recovery.Phase == AcceptingCommits {
			require.Len(t, m.Generations, 2)
		}
		m.Advance(500 * time.Millisecond)
	}
	require.Equal(t, []Phase{
		FullyRecovered, RecruitingTransactionServers, AcceptingCommits, AllLogsRecruited, StorageRecovered, FullyRecovered,
	}, seen)
	require.Equal(t, epoch+1, m.Recovery.Epoch)
	require.Len(t, m.Generations, 1)
}

// The logs of before are kept for a storage server that is away, until nobody counts on it.
func TestOldLogsWaitForStorageThatIsAway(t *testing.T) {
	m := split()
	m.Maintain("zone-b", 10*time.Minute)
	for _, instance := range m.InZone("zone-b") {
		m.Kill(instance)
	}
	m.Advance(5 * time.Minute)
	require.Equal(t, AllLogsRecruited, m.Recovery.Phase)
	require.Len(t, m.Generations, 2)
	m.Start("fdb-1")
	m.Advance(2 * tickLength)
	require.Equal(t, FullyRecovered, m.Recovery.Phase, "it is back")

	m = split()
	m.Kill("fdb-1")
	m.Kill("fdb-4")
	m.Advance(m.Pace.Heal)
	require.Equal(t, AllLogsRecruited, m.Recovery.Phase)
	m.Advance(m.Pace.Heal)
	require.Equal(t, FullyRecovered, m.Recovery.Phase, "its data is elsewhere")
}

func TestRecoveryWaitsForWhatItNeeds(t *testing.T) {
	m := New(Spec{})
	seatsApart(t, m)
	for _, l := range m.current().Logs[:2] {
		m.Kill(l.Process)
	}
	m.Advance(time.Hour)
	require.Equal(t, LockingOldTransactionServers, m.Recovery.Phase)
	m.Start(m.current().Logs[0].Process)
	require.True(t, m.Settle(24*time.Hour))

	m = New(Spec{})
	for _, seat := range m.Seats[:2] {
		m.Kill(seat.Process)
	}
	m.Advance(time.Hour)
	require.Equal(t, ReadingCoordinatedState, m.Recovery.Phase)

	m = New(Spec{Zones: 3, PerZone: 1})
	m.Exclude([]string{"locality_zoneid:zone-a"}, false)
	require.True(t, m.Settle(time.Hour))
	m.Exclude([]string{"locality_zoneid:zone-b"}, false)
	m.Advance(time.Minute)
	require.True(t, m.Accepting(), "nothing better can be had, so all stays as it is")
	m.Kill("fdb-1")
	m.Advance(time.Minute)
	require.False(t, m.Accepting(), "what is excluded is not used again, and one zone is too few")
	require.Equal(t, RecruitingTransactionServers, m.Recovery.Phase)
}

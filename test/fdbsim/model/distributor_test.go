package model

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// state is what status says of the data, and what is true.
func state(t *testing.T, m *Cluster) (name string, replicas, spare int) {
	t.Helper()
	d := read(t, m.StatusJSON())
	return d.Cluster.Data.State.Name, d.Cluster.Data.State.Replicas, m.Truth().SpareCopies
}

// For more than a minute status says of data that lacks a copy that it is whole.
func TestALossIsToldLate(t *testing.T) {
	m := split()
	killed := m.Now
	m.Kill("fdb-1")
	for m.Now < killed+m.Pace.Heal {
		m.Advance(tickLength)
		name, replicas, spare := state(t, m)
		require.Equal(t, "healthy", name)
		require.Equal(t, 2, replicas)
		require.Zero(t, spare)
		lossless, _ := m.tolerance()
		require.Equal(t, 1, lossless, "the document believes it as well")
	}
}

// While somebody has told the cluster not to look, nobody notices at all.
func TestNobodyNoticesWhileDistributionIsOff(t *testing.T) {
	for name, play := range map[string]func(*Cluster){
		"off":               func(m *Cluster) { m.SetDistribution(false) },
		"disable ssfailure": func(m *Cluster) { m.IgnoreFailures = true },
	} {
		t.Run(name, func(t *testing.T) {
			m := split()
			play(m)
			m.Advance(time.Minute)
			for _, instance := range []string{"fdb-0", "fdb-1"} {
				m.Kill(instance)
			}
			m.Advance(24 * time.Hour)
			said, replicas, spare := state(t, m)
			require.Equal(t, "healthy", said)
			require.Equal(t, 2, replicas)
			require.Equal(t, -1, spare, "keys cannot be read")
			require.False(t, m.Noticed())
			require.Positive(t, m.Loss().Unreached)
			m.Start("fdb-0")
			m.Start("fdb-1")
			m.SetDistribution(true)
			m.IgnoreFailures = false
			require.True(t, m.Settle(time.Hour))
			require.True(t, m.Noticed())
		})
	}
}

// A data distributor that begins in the middle of a repair takes a minute to miss again what was missed before, and says
// meanwhile that all is well.
func TestARestartedDistributorForgets(t *testing.T) {
	m := splitOf(10 << 30)
	m.Kill("fdb-1")
	m.Advance(m.Pace.Heal + m.Pace.Look)
	said, replicas, _ := state(t, m)
	require.Equal(t, "healing", said)
	require.Equal(t, 1, replicas)
	epoch := m.Recovery.Epoch
	for _, r := range m.Recovery.Roles {
		if r.Name == distributorRole {
			m.Kill(r.Process)
		}
	}
	m.Advance(m.Pace.Recover + 2*tickLength)
	said, _, _ = state(t, m)
	require.Equal(t, initializing, said)
	m.Advance(m.Pace.Initialize)
	said, replicas, spare := state(t, m)
	require.Equal(t, "healthy", said)
	require.Equal(t, 2, replicas)
	require.Zero(t, spare)
	require.False(t, m.Noticed())
	m.Advance(m.Pace.Heal - m.Pace.Initialize + m.Pace.Look)
	said, _, _ = state(t, m)
	require.Equal(t, "healing", said)
	require.LessOrEqual(t, m.Recovery.Epoch-epoch, 1)
	require.True(t, m.Settle(24*time.Hour))
	require.Equal(t, 1, m.Truth().SpareCopies)
}

func TestClassesInNeed(t *testing.T) {
	class := func(kinds ...Class) func(int) Class { return func(n int) Class { return kinds[n] } }
	m := New(Spec{PerZone: 2, Class: class(Storage, Storage, Storage, LogClass, LogClass, Stateless)})
	require.NoError(t, m.SetCoordinators([]string{"10.8.0.10:4500", "10.8.0.13:4500", "10.8.0.14:4500"}, ""))
	require.True(t, m.Settle(time.Hour))
	require.Equal(t, []string{"fdb-3", "fdb-4"}, logsOf(m))
	m.Kill("fdb-4")
	m.Advance(time.Minute)
	require.True(t, m.Accepting())
	require.Len(t, logsOf(m), 3)
	m.Start("fdb-4")
	require.True(t, m.Settle(time.Hour))
	require.Equal(t, []string{"fdb-3", "fdb-4"}, logsOf(m), "storage has logs only in need")
	require.Len(t, m.Servers, 3)

	m.Kill("fdb-1")
	m.Kill("fdb-2")
	m.Advance(10 * time.Minute)
	require.NotNil(t, m.serverOf(m.Process("fdb-4")), "one zone with storage is too few")
	require.Nil(t, m.serverOf(m.Process("fdb-5")), "a stateless process never has storage")
}

func logsOf(m *Cluster) []string {
	var out []string
	for _, l := range m.current().Logs {
		out = append(out, l.Process)
	}
	return out
}

func TestGhosts(t *testing.T) {
	m := split()
	m.Kill("fdb-1")
	m.Advance(0)
	entry := func() (map[string]any, bool) {
		e, there := m.processes()[m.Process("fdb-1").ProcessID()].(object)
		return e, there
	}
	ghost, there := entry()
	require.True(t, there)
	require.NotContains(t, ghost, "locality")
	require.NotContains(t, ghost, "uptime_seconds")
	require.Empty(t, m.Stands("locality_zoneid:zone-x"))
	m.Advance(m.Pace.Notice)
	_, there = entry()
	require.False(t, there)
	m.Start("fdb-1")
	m.Advance(0)
	ghost, there = entry()
	require.True(t, there)
	require.NotContains(t, ghost, "locality", "and one that has just come")
	m.Advance(m.Pace.Register)
	ghost, _ = entry()
	require.Contains(t, ghost, "locality")
}

// A process keeps its latest error as long as it runs, with a time of six digits.
func TestErrorsStay(t *testing.T) {
	m := split()
	p := m.Process("fdb-0")
	p.Messages, p.MessagesAt = []string{"io_error"}, m.Now
	m.Advance(24 * time.Hour)
	told := m.errors(p)
	require.Len(t, told, 1)
	at := told[0].(object)["time"].(float64)
	require.InDelta(t, m.Origin+p.MessagesAt.Seconds(), at, 5000)
	require.Zero(t, int64(at)%10000)
	m.Kill("fdb-0")
	m.Start("fdb-0")
	require.Empty(t, m.errors(p))
}

func TestUptimesAreOfRealTime(t *testing.T) {
	m := split()
	m.Reboot("fdb-0")
	m.Advance(time.Hour)
	m.Skipped += time.Hour - 12*time.Second
	require.InDelta(t, 10, m.uptime(m.Process("fdb-0")), 0)
	m.Reboot("fdb-0")
	require.Zero(t, m.uptime(m.Process("fdb-0")))
}

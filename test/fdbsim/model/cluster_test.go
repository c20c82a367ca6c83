package model

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHowManyZonesMayGo(t *testing.T) {
	for _, c := range []struct {
		redundancy Redundancy
		zones      int
		seats      int
		reachable  int // zones that may go until data is out of reach
		available  int // zones that may go until nothing can be committed
	}{
		{Single, 3, 1, 0, 0},
		{Double, 3, 3, 1, 1},
		{Double, 4, 3, 1, 1},
		{Double, 2, 3, 1, 0}, // two of three seats, or one log of two
		{Double, 3, 1, 1, 0}, // the only coordinator
		{Triple, 5, 5, 2, 2},
		{Triple, 3, 5, 2, 0}, // logs need three zones
		{ThreeDataHall, 6, 9, 2, 1},
	} {
		t.Run(fmt.Sprintf("%s in %d zones with %d coordinators", c.redundancy, c.zones, c.seats), func(t *testing.T) {
			m := New(Spec{Redundancy: c.redundancy, Zones: c.zones, PerZone: 3, Coordinators: c.seats})
			truth := m.Truth()
			require.True(t, truth.Available)
			require.Equal(t, c.redundancy.Copies()-1, truth.SpareCopies)
			reachable, available := worst(m, func(t Truth) bool { return t.DataReached }), worst(m, func(t Truth) bool { return t.Available })
			require.Equal(t, c.reachable, reachable)
			require.Equal(t, c.available, available)
		})
	}
}

// worst is how many zones, whichever, may go with something still being true.
func worst(m *Cluster, still func(Truth) bool) int {
	zones := m.Zones()
	for n := 1; n <= len(zones); n++ {
		if !every(zones, n, nil, func(gone []string) bool {
			var instances []string
			for _, z := range gone {
				instances = append(instances, m.InZone(z)...)
			}
			return still(m.Without(instances...))
		}) {
			return n - 1
		}
	}
	return len(zones)
}

// every choice of n.
func every(from []string, n int, chosen []string, holds func([]string) bool) bool {
	if n == 0 {
		return holds(chosen)
	}
	for i := range from {
		if !every(from[i+1:], n-1, append(slices.Clip(chosen), from[i]), holds) {
			return false
		}
	}
	return true
}

func TestAProcessThatIsAwayIsNoticedByAndBy(t *testing.T) {
	m := New(Spec{})
	victim := "fdb-4"
	listed := func() bool {
		for _, p := range m.Workers() {
			if p.Instance == victim {
				return true
			}
		}
		return false
	}
	m.Kill(victim)
	m.Advance(0)
	require.True(t, listed(), "nobody has noticed yet")
	require.False(t, m.Accepting(), "but it was part of the transaction system")
	require.False(t, m.Noticed())
	m.Advance(m.Pace.Notice)
	require.False(t, listed())
	require.True(t, m.Accepting())
	healthy, state, replicas := m.dataState()
	require.True(t, healthy, "data distribution counts on it for a minute")
	require.Equal(t, "healthy", state)
	require.Equal(t, 2, replicas)
	require.Equal(t, 0, m.Truth().SpareCopies, "in truth there is one copy of some shards")
	m.Advance(m.Pace.Heal + m.Pace.Recover - m.Pace.Notice)
	_, state, replicas = m.dataState()
	require.Equal(t, "healing", state)
	require.Equal(t, 1, replicas)
	require.True(t, m.Settle(time.Hour))
	require.Equal(t, 1, m.Truth().SpareCopies)
	require.Nil(t, m.serverOf(m.Process(victim)), "all that it had is elsewhere")

	m.Start(victim)
	m.Advance(m.Pace.Recover + m.Pace.Initialize + m.Pace.Enlist + 5*time.Second)
	require.NotNil(t, m.serverOf(m.Process(victim)))
	require.True(t, m.Settle(time.Hour))
	require.Positive(t, m.copiesOn(m.serverOf(m.Process(victim)).ID), "balance brings data back")
}

func TestWhoComesBackSoonKeepsItsData(t *testing.T) {
	m := New(Spec{})
	before := m.copiesOn(m.serverOf(m.Process("fdb-4")).ID)
	m.Kill("fdb-4")
	m.Advance(30 * time.Second)
	m.Start("fdb-4")
	require.True(t, m.Settle(time.Hour))
	require.Equal(t, before, m.copiesOn(m.serverOf(m.Process("fdb-4")).ID))
}

func TestMaintenance(t *testing.T) {
	m := New(Spec{})
	m.Maintain("zone-b", 10*time.Minute)
	for _, instance := range m.InZone("zone-b") {
		m.Kill(instance)
	}
	m.Advance(5 * time.Minute)
	healthy, _, replicas := m.dataState()
	require.True(t, healthy, "no data moves away from a zone under maintenance")
	require.Equal(t, 2, replicas)
	lossless, _ := m.tolerance()
	require.Zero(t, lossless, "neither the data nor the coordinators can spare another zone")
	m.Advance(5*time.Minute + time.Second)
	require.Empty(t, m.Maintenance.Zone, "its time is over")
	healthy, _, _ = m.dataState()
	require.False(t, healthy)

	m = New(Spec{})
	m.Maintain("zone-b", 10*time.Minute)
	m.Kill("fdb-0")
	m.Advance(30 * time.Second)
	require.Equal(t, "zone-b", m.Maintenance.Zone)
	m.Advance(40 * time.Second)
	require.Empty(t, m.Maintenance.Zone, "a storage server of another zone failed")
}

func TestLostVolumes(t *testing.T) {
	m := New(Spec{Redundancy: Double})
	require.NoError(t, m.Commit("a", "1"))
	m.Advance(10 * time.Second)
	for _, zone := range []string{"zone-a", "zone-b"} {
		for _, instance := range m.InZone(zone) {
			m.Kill(instance)
			m.LoseVolume(instance, instance+"/2")
			m.Start(instance)
		}
	}
	truth := m.Truth()
	require.False(t, truth.DataKept)
	require.False(t, truth.Quorum, "two of three coordinators have forgotten what they wrote")
	m.Advance(time.Hour)
	require.False(t, m.Accepting())

	m = New(Spec{Redundancy: Double})
	key := "b"
	require.NoError(t, m.Commit(key, "1"))
	m.Advance(10 * time.Second)
	lost := m.Lost
	s := m.shardOf(key)
	for _, copy := range s.Copies {
		instance := m.Server(copy.Server).Process
		m.Kill(instance)
		m.LoseVolume(instance, instance+"/2")
	}
	require.Equal(t, lost+1, m.Lost, "an acknowledged write is nowhere")
	require.False(t, m.Truth().DataKept)
}

func TestWritesInLogsOnly(t *testing.T) {
	m := New(Spec{Redundancy: Double})
	seatsApart(t, m)
	require.NoError(t, m.Commit("a", "1"))
	m.Advance(10 * time.Second)
	require.NoError(t, m.Commit("a", "2"))
	pending := m.current().Pending
	require.Len(t, pending, 1)
	require.Len(t, pending[0].Logs, 2)
	value, err := m.Read("a")
	require.NoError(t, err)
	require.Equal(t, "2", value)
	var holders []string
	for _, l := range m.current().Logs {
		if l.ID == pending[0].Logs[0] || l.ID == pending[0].Logs[1] {
			holders = append(holders, l.Process)
		}
	}
	m.Kill(holders[0])
	m.LoseVolume(holders[0], "x")
	require.Zero(t, m.Lost)
	m.Kill(holders[1])
	m.LoseVolume(holders[1], "y")
	require.GreaterOrEqual(t, m.Lost, 1)
	require.Equal(t, "1", m.shardOf("a").Data["a"].Value, "what was committed before is what is left")
	m.Advance(time.Hour)
	require.False(t, m.Accepting(), "nobody knows what those logs had")
	require.Equal(t, LockingOldTransactionServers, m.Recovery.Phase)
}

// seatsApart puts the coordinators on processes that have no logs.
func seatsApart(t *testing.T, m *Cluster) {
	require.NoError(t, m.SetCoordinators([]string{"10.8.0.16:4500", "10.8.0.17:4500", "10.8.0.18:4500"}, ""))
	require.True(t, m.Settle(time.Hour))
	for _, l := range m.current().Logs {
		require.NotContains(t, []string{"fdb-6", "fdb-7", "fdb-8"}, l.Process)
	}
}

func TestCoordinators(t *testing.T) {
	m := New(Spec{})
	require.Equal(t, []string{"10.8.0.10:4500", "10.8.0.11:4500", "10.8.0.12:4500"}, m.coordinatorAddresses())
	_, err := m.AutoCoordinators()
	require.ErrorIs(t, err, ErrSameCoordinators)
	require.ErrorIs(t, m.SetCoordinators(m.coordinatorAddresses(), ""), ErrSameCoordinators)
	require.ErrorIs(t, m.SetCoordinators([]string{"10.8.0.99:4500"}, ""), ErrCoordinatorUnreachable, "nothing runs there")
	key, epoch := m.Key(), m.Recovery.Epoch

	m.Kill("fdb-1")
	require.ErrorIs(t, m.SetCoordinators([]string{"10.8.0.11:4500"}, ""), ErrCoordinatorUnreachable)
	m.Advance(10 * time.Second)
	chosen, err := m.AutoCoordinators()
	require.NoError(t, err)
	require.Equal(t, []string{"10.8.0.10:4500", "10.8.0.12:4500", "10.8.0.14:4500"}, chosen, "another of the same zone")
	require.NoError(t, m.SetCoordinators(chosen, "renamed"))
	require.False(t, m.Accepting(), "a change of coordinators begins a recovery")
	require.True(t, m.Settle(time.Hour))
	require.Greater(t, m.Recovery.Epoch, epoch)
	require.NotEqual(t, key, m.Key())
	require.Equal(t, "renamed", m.Description)
	require.Contains(t, m.Keys, key)

	m = New(Spec{Zones: 2, PerZone: 1})
	require.Len(t, m.Seats, 2)
	m.Kill("fdb-0")
	require.False(t, m.Truth().Quorum, "one of two is no majority")
}

func TestCoordinatorsByName(t *testing.T) {
	m := New(Spec{Host: func(n int) string { return fmt.Sprintf("fdb-%d.fdb:4500", n) }})
	require.Equal(t, "fdb-0.fdb:4500", m.Seats[0].Address)
	p := *m.Process("fdb-0")
	p.Address = "10.8.0.77:4500"
	m.Kill("fdb-0")
	m.Join(p)
	m.Advance(10 * time.Second)
	require.True(t, m.Truth().Quorum)
	require.True(t, m.reachable(m.Seats[0]), "the name leads to the new address")

	m = New(Spec{Version: "6.3.25", Host: func(n int) string { return fmt.Sprintf("fdb-%d.fdb:4500", n) }})
	require.Equal(t, "10.8.0.10:4500", m.Seats[0].Address)
}

func TestExclusionByWhatWasGiven(t *testing.T) {
	m := New(Spec{})
	p := m.Process("fdb-3")
	for target, want := range map[string]bool{
		"10.8.0.13": true, "10.8.0.13:4500": true, "10.8.0.1": false, "10.8.0.13:4501": false, "locality_instance_id:fdb-3": true,
		"locality_instance_id:fdb-33": false, "locality_zoneid:zone-a": true, "locality_machineid:fdb-3": true, "locality_dcid:": false,
		"locality_processid:" + p.ProcessID(): true, "locality_nothing:x": false,
	} {
		require.Equal(t, want, p.Matches(target, p.Address), target)
	}
	for text, want := range map[string]bool{"10.8.0.13": true, "10.8.0.13:4500": true, "10.8.0.13:4500:tls": false, "x": false, "10.8.0.13:0": false, "locality_a:b": false} {
		require.Equal(t, want, Address(text), text)
	}
	m.Exclude([]string{"10.8.0.13:4500", "10.8.0.14"}, false)
	m.Include([]string{"10.8.0.13"}, false, false)
	require.Equal(t, []string{"10.8.0.14"}, m.Excluded, "an IP stands for all its ports")
	m.Include([]string{"10.8.0.14:4500"}, false, false)
	require.Equal(t, []string{"10.8.0.14"}, m.Excluded, "but not the other way round")
}

func TestAnotherAddressIsNotExcluded(t *testing.T) {
	m := New(Spec{})
	m.Exclude([]string{"10.8.0.13"}, false)
	m.Advance(time.Second)
	require.NotEmpty(t, m.InProgress())
	p := *m.Process("fdb-3")
	p.Address = "10.8.0.99:4500"
	m.Kill("fdb-3")
	m.Join(p)
	m.Advance(2 * time.Second)
	require.Empty(t, m.InProgress(), "the process came back with another IP")
}

func TestExcludeFailedForgetsData(t *testing.T) {
	m := New(Spec{Redundancy: Single})
	require.True(t, m.Truth().DataKept)
	m.Exclude([]string{"10.8.0.13"}, true)
	require.False(t, m.Truth().DataKept)
}

func TestRoom(t *testing.T) {
	m := New(Spec{})
	require.True(t, m.Room([]string{"10.8.0.13"}))
	for _, p := range m.Processes {
		p.Disk = 800 << 20
	}
	require.False(t, m.Room([]string{"10.8.0.13", "10.8.0.14", "10.8.0.15"}))
	require.True(t, m.Room([]string{"10.8.0.99"}), "nobody who stores is meant")
	m.Version = Version{6, 3, 25}
	for _, p := range m.Processes {
		p.Disk = 500 << 20
	}
	require.False(t, m.Room([]string{"10.8.0.99"}))
	all := []string{}
	for _, p := range New(Spec{}).Processes {
		all = append(all, p.Address)
	}
	require.False(t, New(Spec{}).Room(all))
}

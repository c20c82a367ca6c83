package model

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// document is what the tests read of a status.
type document struct {
	Client struct {
		Coordinators struct {
			Coordinators []struct {
				Address   string
				Reachable bool
				Protocol  string
			}
			Quorum bool `json:"quorum_reachable"`
		}
		Database struct{ Available, Healthy bool } `json:"database_status"`
		Messages []struct{ Name string }
	}
	Cluster struct {
		Configuration struct {
			Redundancy string              `json:"redundancy_mode"`
			Excluded   []map[string]string `json:"excluded_servers"`
		}
		Data struct {
			State struct {
				Healthy  bool
				Name     string
				Replicas int `json:"min_replicas_remaining"`
			}
			Trackers []struct {
				State struct {
					Replicas int `json:"min_replicas_remaining"`
				}
			} `json:"team_trackers"`
		}
		Full      bool `json:"full_replication"`
		Tolerance struct {
			Data         int `json:"max_zone_failures_without_losing_data"`
			Availability int `json:"max_zone_failures_without_losing_availability"`
		} `json:"fault_tolerance"`
		Logs []struct {
			Current   bool
			Tolerance int  `json:"log_fault_tolerance"`
			Losing    bool `json:"possibly_losing_data"`
		}
		Recovery struct {
			Name        string
			Generations int      `json:"active_generations"`
			Age         *float64 `json:"seconds_since_last_recovered"`
		} `json:"recovery_state"`
		Messages  []struct{ Name string }
		Zone      string  `json:"maintenance_zone"`
		Seconds   float64 `json:"maintenance_seconds_remaining"`
		Processes map[string]struct {
			Address          string
			Excluded         bool
			UnderMaintenance *bool `json:"under_maintenance"`
			Locality         map[string]string
			Roles            []struct{ Role string }
		}
		Incompatible []string `json:"incompatible_connections"`
	}
}

func read(t *testing.T, text []byte) document {
	t.Helper()
	var d document
	require.NoError(t, json.Unmarshal(text, &d), "%s", text)
	return d
}

func (d document) process(instance string) (roles []string, there bool) {
	for _, p := range d.Cluster.Processes {
		if p.Locality["instance_id"] == instance {
			for _, r := range p.Roles {
				roles = append(roles, r.Role)
			}
			return roles, true
		}
	}
	return nil, false
}

// The variations of a document that adapters have to know are all to be had.
func TestStatusVariations(t *testing.T) {
	for name, play := range map[string]func(*testing.T) document{
		"healthy": func(t *testing.T) document {
			d := read(t, New(Spec{}).StatusJSON())
			require.True(t, d.Client.Database.Available)
			require.True(t, d.Client.Database.Healthy)
			require.Equal(t, "healthy", d.Cluster.Data.State.Name)
			require.Equal(t, "fully_recovered", d.Cluster.Recovery.Name)
			require.Equal(t, 1, d.Cluster.Tolerance.Data)
			require.Equal(t, 1, d.Cluster.Tolerance.Availability)
			require.Len(t, d.Cluster.Processes, 9)
			require.Len(t, d.Cluster.Logs, 1)
			require.Nil(t, d.Cluster.Processes[New(Spec{}).Process("fdb-0").ProcessID()].UnderMaintenance)
			return d
		},
		"excluded and not yet drained": func(t *testing.T) document {
			m := New(Spec{ShardBytes: 10 << 30})
			m.Exclude([]string{"locality_instance_id:fdb-4"}, false)
			m.Advance(m.Pace.Recover + m.Pace.Initialize + 2*tickLength)
			d := read(t, m.StatusJSON())
			roles, _ := d.process("fdb-4")
			require.Contains(t, roles, "storage")
			require.Equal(t, "healing", d.Cluster.Data.State.Name)
			require.False(t, d.Cluster.Data.State.Healthy)
			require.Equal(t, 2, d.Cluster.Data.State.Replicas, "no copy is missing")
			require.Equal(t, []map[string]string{{"locality": "locality_instance_id:fdb-4"}}, d.Cluster.Configuration.Excluded)
			return d
		},
		"drained": func(t *testing.T) document {
			m := New(Spec{})
			m.Exclude([]string{"locality_instance_id:fdb-4"}, false)
			require.True(t, m.Settle(time.Hour))
			d := read(t, m.StatusJSON())
			roles, there := d.process("fdb-4")
			require.True(t, there)
			require.Empty(t, roles)
			require.Equal(t, "healthy", d.Cluster.Data.State.Name)
			return d
		},
		"absent": func(t *testing.T) document {
			m := New(Spec{})
			m.Kill("fdb-4")
			m.Advance(5 * time.Second)
			d := read(t, m.StatusJSON())
			_, there := d.process("fdb-4")
			require.False(t, there)
			return d
		},
		"one replica": func(t *testing.T) document {
			m := New(Spec{Zones: 2, PerZone: 2, ShardBytes: 10 << 30})
			require.NoError(t, m.SetCoordinators([]string{"10.8.0.10:4500"}, ""))
			m.Advance(time.Minute)
			for _, i := range m.InZone("zone-b") {
				m.Kill(i)
			}
			m.Advance(2 * time.Minute)
			require.False(t, read(t, m.StatusJSON()).Client.Database.Available, "logs need two zones")
			m.Start("fdb-1")
			m.LoseVolume("fdb-3", "gone")
			m.Advance(m.Pace.Recover + 2*tickLength)
			require.Equal(t, "initializing", read(t, m.StatusJSON()).Cluster.Data.State.Name)
			m.Advance(m.Pace.Initialize)
			require.Equal(t, "healthy", read(t, m.StatusJSON()).Cluster.Data.State.Name, "nobody has noticed yet")
			m.Advance(m.Pace.Heal - m.Pace.Initialize + m.Pace.Look)
			d := read(t, m.StatusJSON())
			require.Equal(t, 1, d.Cluster.Data.State.Replicas)
			require.Equal(t, 1, d.Cluster.Data.Trackers[0].State.Replicas)
			require.Equal(t, "healing", d.Cluster.Data.State.Name)
			require.True(t, d.Cluster.Full, "it speaks of regions")
			require.Zero(t, d.Cluster.Tolerance.Data)
			return d
		},
		"recovering": func(t *testing.T) document {
			m := New(Spec{})
			m.Kill(m.current().Logs[1].Process)
			m.Advance(0)
			d := read(t, m.StatusJSON())
			require.False(t, d.Client.Database.Available)
			require.Equal(t, "recruiting_transaction_servers", d.Cluster.Recovery.Name)
			require.Empty(t, d.Cluster.Logs)
			require.Equal(t, "unreadable_configuration", d.Cluster.Messages[0].Name)
			require.InDelta(t, -1, *d.Cluster.Recovery.Age, 0)
			m.Advance(3 * time.Second)
			d = read(t, m.StatusJSON())
			require.True(t, d.Client.Database.Available)
			require.Equal(t, "accepting_commits", d.Cluster.Recovery.Name)
			require.Equal(t, 2, d.Cluster.Recovery.Generations)
			require.InDelta(t, 0.5, *d.Cluster.Recovery.Age, 1)
			require.Len(t, d.Cluster.Logs, 2)
			require.True(t, d.Cluster.Logs[0].Current)
			require.Equal(t, 1, d.Cluster.Logs[0].Tolerance)
			require.Equal(t, 0, d.Cluster.Logs[1].Tolerance, "an old one lacks a log")
			return d
		},
		"down": func(t *testing.T) document {
			m := New(Spec{})
			d := read(t, m.DownJSON())
			require.False(t, d.Client.Database.Available)
			require.Empty(t, d.Cluster.Processes)
			for _, seat := range m.Seats[:2] {
				m.Kill(seat.Process)
			}
			d = read(t, m.StatusJSON())
			require.False(t, d.Client.Coordinators.Quorum)
			require.Empty(t, d.Cluster.Processes)
			require.Equal(t, "quorum_not_reachable", d.Client.Messages[0].Name)
			return d
		},
		"maintenance": func(t *testing.T) document {
			m := New(Spec{})
			m.Maintain("zone-c", 10*time.Minute)
			m.Advance(time.Minute)
			d := read(t, m.StatusJSON())
			require.Equal(t, "zone-c", d.Cluster.Zone)
			require.InDelta(t, 540, d.Cluster.Seconds, 0)
			require.Zero(t, d.Cluster.Tolerance.Data, "one lower")
			require.True(t, *d.Cluster.Processes[m.Process("fdb-2").ProcessID()].UnderMaintenance)
			return d
		},
		"coordinator lost": func(t *testing.T) document {
			m := New(Spec{})
			m.Kill("fdb-1")
			m.Advance(10 * time.Second)
			d := read(t, m.StatusJSON())
			require.True(t, d.Client.Coordinators.Quorum)
			require.False(t, d.Client.Coordinators.Coordinators[1].Reachable)
			require.Zero(t, d.Cluster.Tolerance.Data)
			return d
		},
		"message": func(t *testing.T) document {
			m := New(Spec{})
			m.Say("full_replication_timeout")
			d := read(t, m.StatusJSON())
			require.Equal(t, "full_replication_timeout", d.Cluster.Messages[0].Name)
			return d
		},
		"6.3": func(t *testing.T) document {
			m := New(Spec{Version: "6.3.25"})
			m.Exclude([]string{"10.8.0.12"}, false)
			m.Advance(time.Minute)
			d := read(t, m.StatusJSON())
			require.Nil(t, d.Cluster.Recovery.Age)
			require.Empty(t, d.Client.Coordinators.Coordinators[0].Protocol)
			require.Equal(t, []map[string]string{{"address": "10.8.0.12"}}, d.Cluster.Configuration.Excluded)
			return d
		},
		"names": func(t *testing.T) document {
			d := read(t, New(Spec{Host: func(int) string { return "fdb-0.fdb:4500" }}).StatusJSON())
			require.Equal(t, "10.8.0.10:4500(fromHostname)", d.Client.Coordinators.Coordinators[0].Address)
			require.NotEmpty(t, d.Client.Coordinators.Coordinators[0].Protocol)
			return d
		},
	} {
		t.Run(name, func(t *testing.T) { require.NotEmpty(t, play(t).Client.Coordinators.Coordinators) })
	}
}

// What the cluster itself says of its tolerance, once it has noticed everything, is never more than is true, as far as it may
// be trusted: copies and coordinators. It knows nothing of where logs could be recruited.
func TestToleranceIsNotTooHigh(t *testing.T) {
	compared := 0
	for seed := range uint64(1500) {
		c := Random(rand.New(rand.NewPCG(seed, 9)))
		if !c.Accepting() || !c.Noticed() || c.Maintenance.Zone != "" {
			continue
		}
		compared++
		lossless, _ := c.tolerance()
		if lossless < 1 {
			continue
		}
		for _, zone := range c.Zones() {
			truth := c.WithoutZone(zone)
			require.True(t, truth.DataReached, "seed %d without %s", seed, zone)
			require.True(t, truth.Quorum, "seed %d without %s", seed, zone)
		}
	}
	require.Greater(t, compared, 300)
}

// What there is not has no keys: nobody may read an absent set of logs as one that lacks a zone.
func TestStatusHasNoKeysOfWhatIsNotThere(t *testing.T) {
	for _, key := range []string{"remote_log", "satellite_log", "maintenance", "data_distribution_disabled", "lock_uid", "end_version"} {
		require.NotContains(t, string(split().StatusJSON()), key)
	}
}

func TestEveryStatusIsJSON(t *testing.T) {
	for seed := range uint64(300) {
		c := Random(rand.New(rand.NewPCG(seed, 10)))
		require.True(t, json.Valid(c.StatusJSON()))
		require.True(t, json.Valid(c.DownJSON()))
	}
	require.True(t, json.Valid(AloneJSON([]string{"a:1"}, time.Unix(1, 0))))
}

func TestPretty(t *testing.T) {
	require.Equal(t, `{
    "a" : [
        1,
        {
            "b" : 2
        }
    ],
    "c" : "\"x\"",
    "d" : [
    ],
    "e" : true,
    "f" : 0.5,
    "g" : {
    }
}`, string(pretty(object{"g": object{}, "a": list{1, object{"b": 2.0}}, "c": `"x"`, "d": list(nil), "e": true, "f": 0.5})))
	require.Panics(t, func() { pretty(struct{}{}) })
}

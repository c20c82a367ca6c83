package galera

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/sql"
)

// told is what a real member of MariaDB 10.11.19 with Galera 26.4.23 said, in part.
func told() answers {
	return answers{
		variables: sql.Row{
			"version": "10.11.19-MariaDB-deb12", "wsrep_on": "ON", "wsrep_node_name": "db-1", "wsrep_reject_queries": "NONE",
			"wsrep_provider_options": "base_port = 3510; evs.suspect_timeout = PT5S; pc.ignore_quorum = false; pc.ignore_sb = false; pc.weight = 1; repl.proto_max = 11; ",
		},
		status: sql.Row{
			"wsrep_local_state_uuid": "6af9382a-e9d4-11f1-9ffe-bb2fc3c989c7", "wsrep_last_committed": "68", "wsrep_local_cached_downto": "3",
			"wsrep_local_state": "4", "wsrep_local_state_comment": "Synced", "wsrep_cluster_weight": "3", "wsrep_desync_count": "0", "wsrep_evs_state": "OPERATIONAL",
			"wsrep_gcomm_uuid": "6cd3cac7-e9d4-11f1-b5cb-ba1261c64dba", "wsrep_cluster_conf_id": "4", "wsrep_cluster_size": "3",
			"wsrep_cluster_state_uuid": "6af9382a-e9d4-11f1-9ffe-bb2fc3c989c7", "wsrep_cluster_status": "Primary", "wsrep_connected": "ON", "wsrep_ready": "ON",
		},
		members: []sql.Row{
			{"uuid": "6af89a97-e9d4-11f1-a090-87473486ffe7", "name": "db-0", "address": "127.0.0.1:3400"},
			{"uuid": "6cd3cac7-e9d4-11f1-b5cb-ba1261c64dba", "name": "db-1", "address": "127.0.0.1:3401"},
			{"uuid": "7e609eb9-e9d4-11f1-8550-deb7f3b4055e", "name": "arb", "address": ""},
		},
		writing: []sql.Row{{"transactions": "0"}},
	}
}

const noMember = "the server is not a member of a Galera Cluster: set spec.engine to MariaDB or MySQL"

func TestDecode(t *testing.T) {
	now := time.Unix(1000, 0)
	s := told().state(now)
	require.Equal(t, State{
		Node: "db-1", Version: "10.11.19", Looked: now, Serving: true, UUID: "6cd3cac7-e9d4-11f1-b5cb-ba1261c64dba", Cluster: "6af9382a-e9d4-11f1-9ffe-bb2fc3c989c7",
		View: 4, Primary: true, Connected: true, Operational: true, Phase: Synced, Words: "Synced", Ready: true, Weight: 1, Total: 3, Size: 3, Committed: 68, Cached: 3,
		Seen: []Seen{
			{"6af89a97-e9d4-11f1-a090-87473486ffe7", "db-0", "127.0.0.1:3400"}, {"6cd3cac7-e9d4-11f1-b5cb-ba1261c64dba", "db-1", "127.0.0.1:3401"},
			{"7e609eb9-e9d4-11f1-8550-deb7f3b4055e", "arb", ""},
		},
	}, s)
	for name, c := range map[string]struct {
		variables, status sql.Row
		want              func(s State) bool
	}{
		"sends":        {nil, sql.Row{"wsrep_local_state": "2", "wsrep_local_state_comment": "Donor/Desynced", "wsrep_desync_count": "1"}, func(s State) bool { return s.Serving && s.Phase == Donor && s.Desynced == 1 }},
		"joined":       {nil, sql.Row{"wsrep_local_state": "3", "wsrep_local_state_comment": "Joined"}, func(s State) bool { return s.Serving && s.Phase == Joined }},
		"cut off":      {nil, sql.Row{"wsrep_cluster_status": "non-Primary", "wsrep_local_state": "0", "wsrep_local_state_comment": "Initialized", "wsrep_ready": "OFF"}, func(s State) bool { return s.Serving && !s.Primary && s.Connected && s.Phase != Detached }},
		"has left":     {nil, sql.Row{"wsrep_cluster_status": "Disconnected", "wsrep_local_state": "0", "wsrep_local_state_comment": "Initialized", "wsrep_ready": "OFF", "wsrep_connected": "OFF"}, func(s State) bool { return s.Serving && !s.Primary && s.Phase == Detached }},
		"inconsistent": {nil, sql.Row{"wsrep_local_state": "5", "wsrep_local_state_comment": "Inconsistent", "wsrep_ready": "OFF"}, func(s State) bool { return s.Phase == Detached }},
		"rejects":      {sql.Row{"wsrep_reject_queries": "ALL"}, nil, func(s State) bool { return s.Rejects }},
		"split brain":  {sql.Row{"wsrep_provider_options": "pc.ignore_quorum = true; pc.ignore_sb = false; pc.weight = 1"}, nil, func(s State) bool { return s.SplitBrain }},
		"a weight":     {sql.Row{"wsrep_provider_options": "pc.ignore_quorum = no; pc.ignore_sb = no; pc.weight = 7"}, nil, func(s State) bool { return s.Weight == 7 && !s.SplitBrain }},
		"no weight":    {sql.Row{"wsrep_provider_options": "pc.ignore_quorum = no; pc.ignore_sb = no"}, nil, func(s State) bool { return !s.Serving }},
		"no Galera":    {sql.Row{"wsrep_on": "OFF"}, nil, func(s State) bool { return s.Problem == noMember }},
		"MySQL":        {sql.Row{"wsrep_on": ""}, nil, func(s State) bool { return s.Problem == noMember }},
		"no provider":  {sql.Row{"wsrep_provider": "none"}, nil, func(s State) bool { return s.Problem == noMember }},
		"Percona": {sql.Row{"version": "8.0.36-28.1"}, nil, func(s State) bool {
			return s.Problem == "the server is not MariaDB: Percona XtraDB Cluster and MySQL with Galera are not supported"
		}},
		"no state": {nil, sql.Row{"wsrep_local_state": ""}, func(s State) bool { return !s.Serving }},
		"another size": {nil, sql.Row{"wsrep_cluster_size": "2"}, func(s State) bool {
			return !s.Serving && s.Problem == "its list of members does not fit the number of members: the view changes"
		}},
		"transfer":    {nil, sql.Row{"wsrep_local_state": "1", "wsrep_local_state_comment": "Joining: receiving write sets (30/120 events)", "wsrep_ready": "OFF"}, func(s State) bool { return s.Phase == Joining && s.Received == 30 && s.Expected == 120 }},
		"an old look": {nil, sql.Row{"wsrep_evs_state": "GATHER"}, func(s State) bool { return s.Serving && !s.Operational }},
		"huge":        {nil, sql.Row{"wsrep_last_committed": "18446744073709551615", "wsrep_cluster_weight": "4611686018427387905"}, func(s State) bool { return s.Committed == -1 }},
	} {
		a := told()
		maps.Copy(a.variables, c.variables)
		maps.Copy(a.status, c.status)
		s := a.state(now)
		require.True(t, c.want(s), "%s: %+v", name, s)
		require.Equal(t, s.Problem == "", s.Serving)
	}
	a := told()
	a.variables["wsrep_on"], a.missing = "OFF", []string{"needs PROCESS"}
	require.Equal(t, noMember, a.state(now).Problem, "whatever else it does not tell")
	a = told()
	a.writing = []sql.Row{{"transactions": "2", "age": "17"}}
	require.Equal(t, 17*time.Second, a.state(now).Writing)
	a = told()
	for range maxMembers + 1 {
		a.members = append(a.members, sql.Row{"uuid": "u", "name": "n"})
	}
	require.Equal(t, "it tells of more members than can be told on", a.state(now).Problem)
}

// FuzzDecode: whatever a server says, a State is bounded, and what it leads to can be shown.
func FuzzDecode(f *testing.F) {
	f.Add("4", "Synced", "Primary", "3", "pc.weight = 1", "ON", "arb")
	f.Add("1", "(9999999999999999999/0 events)", "non-Primary", "-1", "pc.weight = 256;;=", "", "\x00\n")
	f.Fuzz(func(t *testing.T, state, words, status, size, options, ready, name string) {
		a := told()
		maps.Copy(a.status, sql.Row{"wsrep_local_state": state, "wsrep_local_state_comment": words, "wsrep_cluster_status": status, "wsrep_cluster_size": size, "wsrep_ready": ready})
		a.variables["wsrep_provider_options"] = options
		a.members[2]["name"] = name
		now := time.Unix(1000, 0)
		s := a.state(now)
		require.LessOrEqual(t, s.Weight, maxWeight)
		o := Observe(View{Now: now, Self: Member{State: s, Known: true}})
		require.Equal(t, engines.OneLine(o.Health.Reason), o.Health.Reason)
		for _, g := range o.Groups {
			require.LessOrEqual(t, len(g.Members), maxVotes)
			for _, m := range g.Members {
				require.True(t, m.Progress >= 0 && m.Progress <= 1)
			}
		}
	})
}

// FuzzPeers: whatever another agent says of its member, nothing is taken for more than the own
// server has seen, and a report is bounded.
func FuzzPeers(f *testing.F) {
	for _, s := range synced(3)[1:] {
		data, err := json.Marshal(s.Told(time.Unix(1000, 0)))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`{"node":"db-0","serving":true,"primary":true,"operational":true,"weight":-5,"age":-1}`))
	f.Add([]byte(`{"node":"db-1","serving":true,"primary":true,"operational":true,"weight":1000000000,"seen":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if json.Unmarshal(data, &s) != nil {
			return
		}
		v := healthy(3, nil)
		v.Others[0].State = s.Heard(v.Now)
		o := Observe(v)
		for _, g := range o.Groups {
			require.LessOrEqual(t, len(g.Members), maxVotes)
			active := 0
			for _, m := range g.Members {
				if m.State == engines.MemberActive {
					active++
				}
			}
			require.LessOrEqual(t, active, 3, "the own server has seen three votes")
		}
		require.Equal(t, engines.OneLine(o.Health.Reason), o.Health.Reason)
	})
}

package foundationdb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func process0(d document, role int) map[string]any {
	return d.process("a0")["roles"].([]any)[role].(map[string]any)
}

func told(list ...map[string]any) []any {
	var out []any
	for _, m := range list {
		out = append(out, m)
	}
	return out
}

// TestVerdicts checks what a document makes of the whole database, and that each hold says why.
func TestVerdicts(t *testing.T) {
	cluster := func(name string, value any) func(document) {
		return func(d document) { d.at("cluster")[name] = value }
	}
	logged := func(at float64) func(document) {
		return func(d document) {
			d.at("cluster")["cluster_controller_timestamp"] = 1795546821
			d.process("a0")["uptime_seconds"] = 5000
			d.process("a0")["messages"] = told(map[string]any{
				"name": "io_error", "description": "StorageServerFailed: io_error at some time", "time": 1.79555e9,
				"raw_log_message": fmt.Sprintf(`"Severity"="40", "ErrorKind"="Unset", "Time"="%.6f", "Type"="StorageServerFailed"`, at),
			})
		}
	}
	for name, c := range map[string]struct {
		change  func(document)
		verdict engines.Verdict
		why     string
	}{
		"no such sets of logs": {func(d document) {
			for _, key := range []string{"remote_log_fault_tolerance", "remote_log_replication_factor", "satellite_log_fault_tolerance", "satellite_log_replication_factor"} {
				delete(log0(d), key)
			}
		}, engines.VerdictGreen, ""},
		"null": {func(d document) {
			log0(d)["remote_log_fault_tolerance"], log0(d)["remote_log_replication_factor"] = nil, nil
		}, engines.VerdictGreen, ""},
		"half a set": {func(d document) {
			log0(d)["remote_log_replication_factor"] = 2
			delete(log0(d), "remote_log_fault_tolerance")
		}, engines.VerdictRecoverable, "logs are missing in 1 zones"},
		"not all logs must have a mutation": {func(d document) {
			log0(d)["log_replication_factor"], log0(d)["log_write_anti_quorum"], log0(d)["log_fault_tolerance"] = 3, 1, 1
		}, engines.VerdictGreen, ""},

		"distribution is off":       {cluster("data_distribution_disabled", true), engines.VerdictUnknown, "data distribution is disabled: lost copies are neither noticed nor made again; say `datadistribution on`"},
		"off for storage failures":  {cluster("data_distribution_disabled_for_ss_failures", true), engines.VerdictUnknown, "say `datadistribution enable ssfailure`"},
		"off for an even load only": {cluster("data_distribution_disabled_for_rebalance", true), engines.VerdictGreen, ""},

		"locked":               {cluster("database_lock_state", map[string]any{"locked": true, "lock_uid": "2ffda2"}), engines.VerdictYellow, "the database is locked (UID 2ffda2) by somebody"},
		"not locked":           {cluster("database_lock_state", map[string]any{"locked": false}), engines.VerdictGreen, ""},
		"no tolerance is said": {func(d document) { delete(d.at("cluster"), "fault_tolerance") }, engines.VerdictUnknown, "how many zones may fail (fault_tolerance)"},
		"half of it": {func(d document) {
			delete(d.at("cluster.fault_tolerance"), "max_zone_failures_without_losing_data")
		}, engines.VerdictUnknown, "fault_tolerance"},
		"starting": {func(d document) {
			d.at("cluster")["data"] = map[string]any{"state": map[string]any{"name": "initializing"}}
		}, engines.VerdictUnknown, "data distribution is starting"},
		"a server without an id": {func(d document) { delete(process0(d, 1), "id") }, engines.VerdictUnknown, "10.8.0.10:4500 has no id in the status"},

		"recruiting": {func(d document) {
			d.at("cluster.recovery_state")["name"], d.at("cluster.recovery_state")["active_generations"] = "recruiting_transaction_servers", 2
		}, engines.VerdictYellow, "a recovery is under way: recruiting_transaction_servers"},
		"old logs are needed": {func(d document) {
			d.at("cluster.recovery_state")["name"], d.at("cluster.recovery_state")["active_generations"] = "all_logs_recruited", 2
		}, engines.VerdictRecoverable, "old logs are still needed: all_logs_recruited, 2 generations of logs"},
		"a log is dead": {func(d document) {
			log0(d)["log_fault_tolerance"] = 0
			log0(d)["log_interfaces"] = told(map[string]any{"id": "0000000000000002", "healthy": false})
		}, engines.VerdictRecoverable, "a log that is still needed"},

		"a server that does not answer": {func(d document) { delete(process0(d, 1), "stored_bytes") }, engines.VerdictYellow, "fdb-0 (rack-a) does not serve: a storage server that the database counts on has no figures"},
		"an error of a minute ago":      {logged(1795546761.25), engines.VerdictYellow, "fdb-0 (rack-a) does not serve: its process says io_error: StorageServerFailed: io_error at some time"},
		"an error of an hour ago":       {logged(1795543221.25), engines.VerdictGreen, ""},
		"an error before it started":    {func(d document) { logged(1795546400)(d); d.process("a0")["uptime_seconds"] = 60 }, engines.VerdictGreen, ""},

		"storage servers are not told": {cluster("messages", told(map[string]any{"name": "storage_servers_error", "description": "Timed out trying to retrieve storage servers."})), engines.VerdictYellow, "the database says storage_servers_error: Timed out trying to retrieve storage servers"},
		"log servers are not told":     {cluster("messages", told(map[string]any{"name": "log_servers_error", "description": "Timed out trying to retrieve log servers."})), engines.VerdictYellow, "log_servers_error: Timed out"},
		"a disk is nearly full": {func(d document) {
			d.at("cluster.qos")["performance_limited_by"] = map[string]any{"name": "storage_server_min_free_space", "description": "Running out of storage space."}
		}, engines.VerdictYellow, "a disk is nearly full, and the database slows down: storage_server_min_free_space: Running out of storage space"},
		"busy": {func(d document) {
			d.at("cluster.qos")["performance_limited_by"] = map[string]any{"name": "storage_server_write_queue_size"}
		}, engines.VerdictGreen, ""},
		"maintenance": {cluster("maintenance_zone", "rack-c"), engines.VerdictGreen, "zone rack-c is under maintenance"},
		"a name that does not resolve": {func(d document) {
			d.at("client.database_status")["available"] = false
			d.at("client")["messages"] = told(map[string]any{"name": "no_cluster_controller", "description": "Unable to locate a cluster controller within 2 seconds."})
			seat(d, 1)["reachable"] = false
			d["cluster"] = map[string]any{"layers": map[string]any{"_valid": false}}
		}, engines.VerdictRed, "the database is unavailable: no_cluster_controller: Unable to locate a cluster controller within 2 seconds; of 3 coordinators 10.8.0.11:4500 do not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			d := healthy(t)
			c.change(d)
			h := seen(t, d, allServers).Health
			require.Equal(t, c.verdict, h.Verdict, h.Reason)
			require.Contains(t, h.Reason, c.why)
			if c.verdict != engines.VerdictGreen {
				require.NotEmpty(t, h.Reason)
			}
		})
	}
	s, err := decodeStatus(strings.NewReader(`{"client":{"database_status":{"available":false}},"cluster":{}}`))
	require.NoError(t, err)
	require.Equal(t, "the database is unavailable", s.down().Error(), "said once")
}

// allServers are those of the example.
var allServers = []string{"0000000000000001", "0000000000000003", "0000000000000005", "0000000000000006"}

// seen is what fdb-0 makes of a document with such a list of storage servers; nil: of those that run.
func seen(t *testing.T, d document, servers []string) engines.Observation {
	s, err := decodeStatus(strings.NewReader(d.text()))
	require.NoError(t, err)
	s.list = serverList{read: true, ids: servers}
	if servers == nil {
		s.list = listed(s)
	}
	return newWatcher("fdb-0").look(s, time.Unix(1_000_000, 0))
}

// TestTheDatabasesOwnToleranceBinds checks that the smaller of its figures counts beside what the
// groups conclude, that stateless pods wait too, and that what it sees and nobody else holds all.
func TestTheDatabasesOwnToleranceBinds(t *testing.T) {
	ask := func(data, availability int, change func(document)) (goes []string) {
		d := healthy(t)
		d.at("cluster.fault_tolerance")["max_zone_failures_without_losing_data"] = data
		d.at("cluster.fault_tolerance")["max_zone_failures_without_losing_availability"] = availability
		if change != nil {
			change(d)
		}
		groups := seen(t, d, nil).Groups
		for _, pod := range []string{"fdb-0", "fdb-1", "fdb-2", "fdb-3"} {
			if ok, _ := permits(groups, 1, nil, []string{pod}, true); ok {
				goes = append(goes, pod)
			}
		}
		return goes
	}
	all := []string{"fdb-0", "fdb-1", "fdb-2", "fdb-3"}
	require.Equal(t, all, ask(1, 1, nil))
	require.Empty(t, ask(1, 0, nil), "of two figures the smaller")
	require.Empty(t, ask(0, 1, nil))
	require.Empty(t, ask(-1, -1, nil))
	require.Equal(t, all, ask(5, 5, nil))

	// What only the database knows of is said.
	d := healthy(t)
	require.Empty(t, seen(t, d, nil).Health.Reason)
	d.at("cluster.fault_tolerance")["max_zone_failures_without_losing_availability"] = 0
	require.Equal(t, "the database says that it can spare no zone, and nothing is seen to be missing", seen(t, d, nil).Health.Reason)
	d.at("cluster")["maintenance_zone"] = "rack-c"
	require.Equal(t, "zone rack-c is under maintenance", seen(t, d, nil).Health.Reason)
	// Logs are recruited in the primary alone, which has no zone to spare even at rest.
	elsewhere := func(d document) {
		d.at("cluster")["active_primary_dc"] = "near"
		for _, name := range []string{"a0", "a1", "a2", "a3"} {
			d.process(name)["locality"].(map[string]any)["dcid"] = map[bool]string{true: "near", false: "far"}[name < "a2"]
		}
	}
	require.Equal(t, all, ask(0, 0, elsewhere))
	require.Equal(t, []string{"fdb-2"}, ask(0, 0, func(d document) { d.at("cluster")["maintenance_zone"] = "rack-c" }))
	// Where there is nothing to spare even at rest, the policy's own rules for that decide.
	require.Equal(t, all, ask(0, 0, func(d document) {
		d.at("cluster.configuration")["redundancy_mode"], tracker0(d)["min_replicas_remaining"] = "single", 1
		log0(d)["log_replication_factor"], log0(d)["log_fault_tolerance"] = 1, 0
	}))
	// Neither does it matter then that there was another pod once.
	once, w := healthy(t), newWatcher("fdb-0")
	once.at("cluster.configuration")["redundancy_mode"], tracker0(once)["min_replicas_remaining"] = "single", 1
	log0(once)["log_replication_factor"], log0(once)["log_fault_tolerance"] = 1, 0
	once.at("cluster.fault_tolerance")["max_zone_failures_without_losing_data"] = 0
	once.process("a3")["class_type"], once.process("a3")["roles"] = "stateless", []any{}
	seat(once, 2)["address"] = "10.8.0.12:4500"
	for range 2 {
		s, err := decodeStatus(strings.NewReader(once.text()))
		require.NoError(t, err)
		s.list = listed(s)
		ok, by := permits(w.look(s, time.Unix(1_000_000, 0)).Groups, 1, nil, []string{"fdb-0"}, true)
		require.True(t, ok, by)
		delete(once.at("cluster.processes"), "a3")
	}
	// A stateless pod waits while another zone misses something, and one that is emptied is no part of it.
	stateless := func(d document) {
		d.process("a3")["class_type"], d.process("a3")["roles"] = "stateless", []any{}
		d.at("cluster")["maintenance_zone"] = "rack-c"
	}
	require.Equal(t, []string{"fdb-2"}, ask(0, 0, stateless))
	emptied := func(d document) { stateless(d); d.process("a3")["excluded"] = true }
	require.Equal(t, []string{"fdb-2", "fdb-3"}, ask(0, 0, emptied))
}

// TestCoordinatorsThatComeBack checks that a coordinator whose process is not listed yet is waited for in
// other words than one whose process nobody can name; and that a dead one is said as the pod that is away.
func TestCoordinatorsThatComeBack(t *testing.T) {
	w, now := newWatcher("fdb-0"), time.Unix(1_000_000, 0)
	look := func(d document) engines.Health {
		s, err := decodeStatus(strings.NewReader(d.text()))
		require.NoError(t, err)
		s.list = listed(s)
		now = now.Add(40 * time.Second)
		return w.look(s, now).Health
	}
	away := healthy(t)
	delete(away.at("cluster.processes"), "a3")
	seat(away, 2)["reachable"] = false
	require.Equal(t, engines.VerdictGreen, look(healthy(t)).Verdict)
	require.Equal(t, "fdb-3 (rack-d) is away, its seat 10.8.0.13:4500 does not answer", look(away).Reason)
	seat(away, 2)["reachable"] = true
	for range 2 {
		require.Equal(t, engines.Health{Reason: "coordinator 10.8.0.13:4500 has come back and its process is not listed yet"}, look(away))
	}
	require.Contains(t, look(away).Reason, "need --locality_dns_name")
	require.Equal(t, engines.VerdictGreen, look(healthy(t)).Verdict)
	require.Contains(t, look(away).Reason, "has come back")
	delete(seat(away, 2), "reachable")
	require.Contains(t, look(away).Reason, "is not known")
}

// TestGhosts checks that what is listed by its address alone is no process of anybody: it is listed
// for two seconds after a process has ended, and before another has said who it is.
func TestGhosts(t *testing.T) {
	d := healthy(t)
	ghost := map[string]any{"address": "10.8.0.12:4500", "class_type": "storage", "excluded": false, "messages": []any{}, "roles": told(map[string]any{"role": "storage", "id": allServers[2]})}
	d.at("cluster.processes")["a2"] = ghost
	o := seen(t, d, allServers)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.Contains(t, o.Health.Reason, allServers[2])
	for _, g := range o.Groups {
		for _, m := range g.Members {
			require.NotContains(t, m.ID, "10.8.0.12", g.ID)
		}
	}
	require.Equal(t, engines.VerdictGreen, seen(t, d, []string{allServers[0], allServers[1], allServers[3]}).Health.Verdict, "its copies are elsewhere")
	ghost["uptime_seconds"] = 4.5
	require.Contains(t, inWords(seen(t, d, allServers)), "10.8.0.12:4500", "it runs, without saying where")
}

package foundationdb

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

var update = flag.Bool("update", false, "rewrite golden files")

// document is a status that can be changed by path.
type document map[string]any

func example(t testing.TB) document {
	data, err := os.ReadFile(filepath.Join("testdata", "status.json"))
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(data, &d))
	return d
}

// at is the object at a path.
func (d document) at(path string) map[string]any {
	here := map[string]any(d)
	for name := range strings.SplitSeq(path, ".") {
		here = here[name].(map[string]any)
	}
	return here
}

func (d document) process(name string) map[string]any { return d.at("cluster.processes." + name) }

func (d document) text() string {
	data, _ := json.Marshal(d)
	return string(data)
}

// healthy is the example when nothing is excluded.
func healthy(t testing.TB) document {
	d := example(t)
	d.at("cluster.configuration")["excluded_servers"] = []any{}
	d.process("a2")["excluded"] = false
	d.at("cluster.data.state")["name"] = "healthy"
	return d
}

func tracker0(d document) map[string]any {
	return d.at("cluster.data")["team_trackers"].([]any)[0].(map[string]any)["state"].(map[string]any)
}

func log0(d document) map[string]any { return d.at("cluster")["logs"].([]any)[0].(map[string]any) }

func seat(d document, i int) map[string]any {
	return d.at("client.coordinators")["coordinators"].([]any)[i].(map[string]any)
}

// situations are what an adapter meets, by name, as changes of the healthy example.
var situations = []struct {
	name   string
	change func(document)
}{
	{"healthy", func(document) {}},
	{"draining", func(d document) {
		d.at("cluster.configuration")["excluded_servers"] = []any{map[string]any{"locality": "locality_instance_id:fdb-2"}}
		d.process("a2")["excluded"] = true
		d.at("cluster.data.state")["name"] = "healing"
	}},
	{"drained", func(d document) {
		d.process("a2")["excluded"] = true
		d.process("a2")["roles"] = []any{}
	}},
	{"absent", func(d document) { delete(d.at("cluster.processes"), "a2") }},
	{"own process absent", func(d document) { delete(d.at("cluster.processes"), "a0") }},
	{"one copy", func(d document) {
		tracker0(d)["min_replicas_remaining"] = 1
		d.at("cluster.data.state")["name"] = "healing"
	}},
	{"no copy", func(d document) { tracker0(d)["min_replicas_remaining"] = 0 }},
	{"copies unknown", func(d document) { delete(tracker0(d), "min_replicas_remaining") }},
	{"recovering", func(d document) {
		r := d.at("cluster.recovery_state")
		r["name"], r["active_generations"], r["seconds_since_last_recovered"] = "accepting_commits", 2, 3
	}},
	{"just recovered", func(d document) { d.at("cluster.recovery_state")["seconds_since_last_recovered"] = 3 }},
	{"recovery unknown", func(d document) { delete(d.at("cluster.recovery_state"), "active_generations") }},
	{"down", func(d document) {
		d.at("client.database_status")["available"] = false
		d["cluster"] = map[string]any{}
	}},
	{"availability unknown", func(d document) { delete(d.at("client.database_status"), "available") }},
	{"own zone under maintenance", func(d document) {
		d.at("cluster")["maintenance_zone"], d.at("cluster")["maintenance_seconds_remaining"] = "rack-a", 540
	}},
	{"another zone under maintenance", func(d document) {
		d.at("cluster")["maintenance_zone"], d.at("cluster")["maintenance_seconds_remaining"] = "rack-c", 540
	}},
	{"coordinator lost", func(d document) { seat(d, 1)["reachable"] = false }},
	{"coordinator unknown", func(d document) { delete(seat(d, 1), "reachable") }},
	{"coordinators by name", func(d document) { seat(d, 1)["address"] = "10.8.0.11:4500:tls(fromHostname)" }},
	{"no quorum", func(d document) { d.at("client.coordinators")["quorum_reachable"] = false }},
	{"alarm", func(d document) {
		d.at("cluster")["messages"] = []any{map[string]any{"name": "full_replication_timeout"}}
	}},
	{"a log is lost", func(d document) { log0(d)["log_fault_tolerance"] = 0 }},
	{"mutations are lost", func(d document) { log0(d)["possibly_losing_data"] = true }},
	{"logs unknown", func(d document) { delete(d.at("cluster"), "logs") }},
	{"mode unknown", func(d document) { d.at("cluster.configuration")["redundancy_mode"] = "quadruple" }},
	{"zone unknown", func(d document) { delete(d.process("a0")["locality"].(map[string]any), "zoneid") }},
	{"another's zone unknown", func(d document) { delete(d.process("a1")["locality"].(map[string]any), "zoneid") }},
	{"two in one zone", func(d document) { d.process("a1")["locality"].(map[string]any)["zoneid"] = "rack-a" }},
	{"one pod in two zones", func(d document) { d.process("a1")["locality"].(map[string]any)["instance_id"] = "fdb-0" }},
	{"broken disk", func(d document) { d.process("a0")["messages"] = []any{map[string]any{"name": "io_error"}} }},
	{"roles unknown", func(d document) { delete(d.process("a1"), "roles") }},
	{"lagging", func(d document) {
		d.process("a0")["roles"].([]any)[1].(map[string]any)["data_lag"] = map[string]any{"seconds": 300}
	}},
	{"strange version", func(d document) { d.process("a0")["version"] = "seven" }},
	{"three halls", func(d document) {
		d.at("cluster.configuration")["redundancy_mode"] = "three_data_hall"
		for i, name := range []string{"a0", "a1", "a2", "a3"} {
			d.process(name)["locality"].(map[string]any)["data_hall"] = fmt.Sprintf("hall-%d", i%3)
		}
		tracker0(d)["min_replicas_remaining"] = 3
		log0(d)["log_replication_factor"], log0(d)["log_fault_tolerance"] = 4, 3
	}},
	{"two regions", func(d document) {
		d.at("cluster.configuration")["usable_regions"], d.at("cluster")["active_primary_dc"] = 2, "dc1"
		for i, name := range []string{"a0", "a1", "a2", "a3"} {
			d.process(name)["locality"].(map[string]any)["dcid"] = fmt.Sprintf("dc%d", 1+i/2)
		}
		d.at("cluster.data")["team_trackers"] = append(d.at("cluster.data")["team_trackers"].([]any),
			map[string]any{"primary": false, "state": map[string]any{"min_replicas_remaining": 1}})
	}},
}

// see is what the pod fdb-0 makes of a document.
func see(t testing.TB, text string, born time.Time) engines.Observation {
	s, err := decodeStatus(strings.NewReader(text))
	e := &Engine{options: Options{Instance: "fdb-0"}.withDefaults()}
	if err != nil {
		return e.observation(snapshot{}, err)
	}
	now := time.Unix(1_000_000, 0)
	v := snapshot{status: s, now: now, born: born}
	if is(s.available) {
		s.list = listed(s)
		v = e.remember(v)
	}
	return e.observation(v, nil)
}

func TestObservations(t *testing.T) {
	var out strings.Builder
	for _, s := range situations {
		d := healthy(t)
		s.change(d)
		fmt.Fprintf(&out, "== %s\n%s\n", s.name, inWords(see(t, d.text(), time.Time{})))
	}
	golden := filepath.Join("testdata", "observations.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String(), "run go test ./engines/foundationdb -update")
}

func inWords(o engines.Observation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %q version %s %s rank %d settled %v bytes %d roles %v\n", o.Node, o.Version, o.Member, o.Rank, o.Settled, o.DataBytes, o.Roles)
	fmt.Fprintf(&b, "health %s %s\n", o.Health.Verdict, o.Health.Reason)
	if o.Veto != "" {
		fmt.Fprintf(&b, "veto %s\n", o.Veto)
	}
	for _, g := range o.Groups {
		fmt.Fprintf(&b, "%s %s at least %d", g.ID, g.Kind, g.MinAvailable)
		if g.Moving {
			b.WriteString(" moving")
		}
		for _, m := range g.Members {
			fmt.Fprintf(&b, " [%s on %q in %q %s]", m.ID, m.Node, m.Domain, m.State)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestEarlierPod checks that a process that is older than its pod is not the pod's.
func TestEarlierPod(t *testing.T) {
	text := healthy(t).text() // its processes have run for a day
	now := time.Unix(1_000_000, 0)
	require.Equal(t, engines.MembershipLive, see(t, text, now.Add(-26*time.Hour)).Member)
	o := see(t, text, now.Add(-time.Minute))
	require.Equal(t, engines.MembershipUnknown, o.Member, "the database has not noticed yet, and nobody knows of the new one")
	require.False(t, o.Settled)
	require.Contains(t, o.Veto, "earlier pod")
}

// TestMemory checks that what is missing comes from the list of storage servers, and that memory only
// adds whose it is: without it, it is in a zone of its own.
func TestMemory(t *testing.T) {
	now := time.Unix(0, 0)
	look := func(m *memory, d document, list serverList) (*status, []remembered) {
		s, err := decodeStatus(strings.NewReader(d.text()))
		require.NoError(t, err)
		s.list = list
		now = now.Add(time.Hour)
		m.lookAt(now, s)
		return s, m.look(now, s)
	}
	all, err := decodeStatus(strings.NewReader(healthy(t).text()))
	require.NoError(t, err)
	list := listed(all)
	require.Len(t, list.ids, 4)
	gone := healthy(t)
	delete(gone.at("cluster.processes"), "a2")

	var m memory
	_, away := look(&m, healthy(t), list)
	require.Empty(t, away)
	for range 3 { // as long as it is on the list
		s, away := look(&m, gone, list)
		require.Len(t, away, 1)
		require.Equal(t, "fdb-2", away[0].instance)
		require.Equal(t, "rack-c", away[0].domain)
		require.Equal(t, engines.VerdictYellow, s.verdict(away).Verdict)
		require.Contains(t, s.verdict(away).Reason, "fdb-2 (rack-c) is away")
		require.Contains(t, inWords(engines.Observation{Groups: s.groups(away)}), `storage Shard at least 3 [fdb-0 on "fdb-0" in "rack-a" Active] [fdb-1 on "fdb-1" in "rack-b" Active] [fdb-2 on "fdb-2" in "rack-c" Down]`)
	}
	var fresh memory
	s, away := look(&fresh, gone, list)
	require.Len(t, away, 1)
	require.Contains(t, s.verdict(away).Reason, "its zone is not known")
	for _, pod := range []string{"fdb-0", "fdb-1", "fdb-3"} {
		ok, _ := permits(s.groups(away), 1, nil, []string{pod}, true)
		require.False(t, ok, pod)
	}
	moved := serverList{read: true}
	for _, p := range all.processes {
		for _, r := range p.ids {
			if r.role == "storage" && p.instance != "fdb-2" {
				moved.ids = append(moved.ids, r.id)
			}
		}
	}
	s, away = look(&m, gone, moved)
	require.Empty(t, away, "its data are elsewhere")
	require.Len(t, m.owners, 5, "three storage servers and two logs")
	require.Equal(t, engines.VerdictGreen, s.verdict(away).Verdict)

	noticed := healthy(t)
	delete(noticed.at("cluster.processes"), "a2")
	tracker0(noticed)["min_replicas_remaining"] = 1
	m = memory{}
	look(&m, healthy(t), list)
	s, away = look(&m, noticed, list)
	require.NotContains(t, inWords(engines.Observation{Groups: s.groups(away)[:1]}), "lost", "it is known what is missing")

	// What cannot be read is unknown, and forgets nobody.
	s, away = look(&m, gone, serverList{why: "no list"})
	require.Equal(t, engines.Health{Reason: "no list"}, s.verdict(away))
	_, away = look(&m, gone, list)
	require.Equal(t, "fdb-2", away[0].instance)

	// Without an age of the recovery, that of the generation counts.
	old := healthy(t)
	delete(old.at("cluster.recovery_state"), "seconds_since_last_recovered")
	s, _ = look(&m, old, list)
	require.Equal(t, time.Minute, m.recoveredFor(m.generationSince.Add(time.Minute), s))
}

// TestSameZoneCostsNothingMore, and another zone does.
func TestSameZoneCostsNothingMore(t *testing.T) {
	d := healthy(t)
	d.process("a3")["locality"].(map[string]any)["zoneid"] = "rack-a"
	groups := see(t, d.text(), time.Time{}).Groups
	for _, c := range []struct {
		away, going []string
		want        bool
		by          string
	}{
		{nil, []string{"fdb-0"}, true, ""},
		{nil, []string{"fdb-1"}, true, ""},
		{nil, []string{"fdb-0", "fdb-1"}, false, "storage"},
		{[]string{"fdb-1"}, []string{"fdb-2"}, false, "storage"},
		// Two seats of three are in one zone, which the quorum holds against.
		{[]string{"fdb-0"}, []string{"fdb-3"}, false, "coordinators"},
	} {
		ok, by := permits(groups, 1, c.away, c.going, true)
		require.Equal(t, c.want, ok, "%v unavailable, %v go: %s", c.away, c.going, by)
		require.Equal(t, c.by, by)
	}
	seat(d, 2)["address"] = "10.8.0.12:4500"
	ok, by := permits(see(t, d.text(), time.Time{}).Groups, 1, []string{"fdb-0"}, []string{"fdb-3"}, true)
	require.True(t, ok, by)
}

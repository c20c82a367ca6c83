package foundationdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// TestLocked checks that nothing is changed in a database that somebody has locked, and nothing
// unlocks it: whose lock it is is said.
func TestLocked(t *testing.T) {
	d := healthy(t)
	d.at("cluster")["database_lock_state"] = map[string]any{"locked": true, "lock_uid": "2ffda204"}
	d.at("cluster.configuration")["excluded_servers"] = []any{map[string]any{"locality": "locality_instance_id:fdb-2"}, map[string]any{"locality": "locality_rollcall:c/fdb-2"}}
	e, calls := telling(t, d.text(), Options{Instance: "fdb-2"})
	evacuate := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	undo := plan(t, e, evacuate)
	handoff := engines.Order{Kind: engines.Handoff, Claim: "c"}
	for _, p := range []engines.Progress{apply(t, e, evacuate, undo), apply(t, e, handoff, plan(t, e, handoff))} {
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "somebody has locked the database (lock UID 2ffda204)")
	}
	p, err := e.Restore(t.Context(), undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "2 entries stay on the exclusion list: somebody has locked the database (lock UID 2ffda204)")
	require.ErrorIs(t, e.Sweep(t.Context(), nil), ErrLocked)
	require.Empty(t, calls())
}

// TestExcludedByAPerson checks that the restart of a pod that somebody else has excluded is refused,
// so that it takes no turn, and what excludes it is said; what a mark says is ours is not theirs.
func TestExcludedByAPerson(t *testing.T) {
	for name, tt := range map[string]struct {
		entries []string
		says    string // empty means that it may go
	}{
		"nobody":              {nil, ""},
		"its name":            {[]string{"locality_instance_id:fdb-0"}, "somebody else has excluded fdb-0 (locality_instance_id:fdb-0)"},
		"its address":         {[]string{"10.8.0.10:4500"}, "(10.8.0.10:4500)"},
		"its machine":         {[]string{"10.8.0.10"}, "(10.8.0.10)"},
		"its zone":            {[]string{"locality_zoneid:rack-a"}, "(locality_zoneid:rack-a)"},
		"another":             {[]string{"locality_instance_id:fdb-9", "10.8.0.1"}, ""},
		"ours":                {[]string{"locality_instance_id:fdb-0", "locality_rollcall:c/fdb-0"}, ""},
		"ours, and theirs":    {[]string{"locality_instance_id:fdb-0", "locality_rollcall:c/fdb-0", "10.8.0.10"}, "(10.8.0.10)"},
		"our address, theirs": {[]string{"locality_instance_id:fdb-0", "10.8.0.10:4500", "locality_rollcall:c/fdb-0/10.8.0.10:4500"}, "(locality_instance_id:fdb-0)"},
		"for another pod":     {[]string{"locality_instance_id:fdb-0", "locality_rollcall:c/fdb-1"}, "(locality_instance_id:fdb-0)"},
	} {
		d := healthy(t)
		var list []any
		for _, entry := range tt.entries {
			key := "address"
			if strings.HasPrefix(entry, localityPrefix) {
				key = "locality"
			}
			list = append(list, map[string]any{key: entry})
		}
		d.at("cluster.configuration")["excluded_servers"] = list
		e, _ := telling(t, d.text(), Options{Instance: "fdb-0"})
		order := engines.Order{Kind: engines.Handoff, Claim: "h"}
		p := apply(t, e, order, plan(t, e, order))
		want := engines.ProgressRefused
		if tt.says == "" {
			want = engines.ProgressDone
		}
		require.Equal(t, want, p.State, "%s: %s", name, p.Detail)
		require.Contains(t, p.Detail, tt.says, name)
	}
	yes := true
	s := status{processes: []process{{instance: "fdb-0", address: "10.8.0.10:4500", excluded: &yes}}}
	require.Equal(t, "an entry that does not name it", s.excludedByPerson("fdb-0"))
}

// TestNoPlace checks that an evacuation is refused only where too few zones could hold the data, by
// processes of any class that takes some.
func TestNoPlace(t *testing.T) {
	no, yes := false, true
	at := func(instance, class string, excluded *bool, roles ...string) process {
		return process{instance: instance, zone: "zone of " + instance, class: class, excluded: excluded, rolesKnown: true, roles: roles}
	}
	for class, takes := range map[string]bool{"storage": true, "unset": true, "log": true, "transaction": true, "stateless": false, "coordinator": false, "": false} {
		for _, excluded := range []*bool{&no, &yes} {
			s := snapshot{status: &status{redundancy: "double", processes: []process{at("a", "storage", &no, "storage"), at("b", "storage", &no, "storage"), at("c", class, excluded)}}}
			require.Equal(t, takes && !*excluded, s.noPlace("a", 0) == "", "%s %v", class, *excluded)
		}
	}
}

// TestNeverIsSaidAtOnce checks that what can never be done is refused while the database is not ready
// for it, and what could be done once a missing pod is back is waited for.
func TestNeverIsSaidAtOnce(t *testing.T) {
	two := func(change func(document)) (*Engine, func() []string) {
		d := healthy(t)
		for name, p := range d.at("cluster.processes") {
			if zone := p.(map[string]any)["locality"].(map[string]any)["zoneid"]; zone != "rack-a" && zone != "rack-b" {
				delete(d.at("cluster.processes"), name)
			}
		}
		d.at("cluster")["messages"] = []any{map[string]any{"name": "log_servers_error"}}
		change(d)
		return telling(t, d.text(), Options{Instance: "fdb-0"})
	}
	order := engines.Order{Kind: engines.Evacuate, Claim: "c"}
	e, calls := two(func(document) {})
	p := apply(t, e, order, plan(t, e, order))
	require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
	require.Contains(t, p.Detail, "copies in as many zones")
	require.Empty(t, calls())

	e, _ = two(func(d document) {
		d.at("cluster")["messages"] = []any{map[string]any{"name": "log_servers_error"}, map[string]any{"name": "unreachable_processes"}}
	})
	require.Equal(t, engines.ProgressRunning, apply(t, e, order, plan(t, e, order)).State)

	no := false
	s := snapshot{status: &status{recovery: fullyRecovered, redundancy: "double", processes: []process{
		{instance: "a", zone: "1", class: "storage", excluded: &no, rolesKnown: true, roles: []string{"storage"}}, {instance: "b", zone: "2", class: "storage", excluded: &no},
	}}}
	one := 1
	s.generations = &one
	require.NotEmpty(t, s.never("a", 0))
	s.away = []remembered{{instance: "a", role: "storage"}}
	require.NotEmpty(t, s.never("a", 0), "its own")
	for _, r := range []remembered{{instance: "c", role: "storage"}, {role: "storage", id: "0011"}} {
		s.away = []remembered{r}
		require.Empty(t, s.never("a", 0))
	}
	s.away, s.absent = nil, []remembered{{instance: "c"}}
	require.Empty(t, s.never("a", 0))
}

// TestUnknownRefusals checks that words which nobody knows are told as they are, and that somebody
// should look.
func TestUnknownRefusals(t *testing.T) {
	no := refusal{"include", "ERROR: Out of cheese (4711)"}
	p := no.progress(no)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Equal(t, "include: fdbcli refused: ERROR: Out of cheese (4711) (words that are not known: somebody should look; it is asked again)", p.Detail)
	for _, known := range refusals {
		no := refusal{"coordinators", "ERROR: " + known.sign}
		p := no.progress(no)
		require.Equal(t, known.person, p.State == engines.ProgressRefused, known.sign)
		require.Contains(t, p.Detail, known.words)
	}
}

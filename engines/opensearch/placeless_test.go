package opensearch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// Only where OpenSearch says of every replica that is nowhere that no node may take it
// nothing will come of waiting.
func TestDecodePlaceless(t *testing.T) {
	row := func(state, primary, status string) string {
		out := `{"state":"` + state + `","primary":` + primary
		if status != "" {
			out += `,"unassigned_info":{"allocation_status":"` + status + `"}`
		}
		return out + "}"
	}
	served, no := row("STARTED", "true", ""), row("UNASSIGNED", "false", "deciders_no")
	for name, c := range map[string]struct {
		rows []string
		want bool
	}{
		"no place":               {[]string{served, no}, true},
		"none for either of two": {[]string{served, no, no}, true},
		"one of two is tried":    {[]string{served, no, row("UNASSIGNED", "false", "no_attempt")}, false},
		"throttled":              {[]string{served, row("UNASSIGNED", "false", "deciders_throttled")}, false},
		"asked what nodes have":  {[]string{served, row("UNASSIGNED", "false", "fetching_shard_data")}, false},
		"delayed":                {[]string{served, row("UNASSIGNED", "false", "delayed_allocation")}, false},
		"a word of tomorrow":     {[]string{served, row("UNASSIGNED", "false", "maybe")}, false},
		"nothing is said":        {[]string{served, row("UNASSIGNED", "false", "")}, false},
		"all are there":          {[]string{served, row("STARTED", "false", "")}, false},
		"only the primary":       {[]string{row("UNASSIGNED", "true", "deciders_no")}, false},
	} {
		id, got, err := decodePlaceless(strings.NewReader(`{"state_uuid":"s1","routing_table":{"indices":{"x":{"shards":{"0":[` + strings.Join(c.rows, ",") + `]}}}}}`))
		require.NoError(t, err, name)
		require.Equal(t, "s1", id)
		require.Equal(t, c.want, got["x/0"], name)
	}
	for _, text := range []string{"", "[]", "{}", `{"state_uuid":1}`, `{"error":"x"}`} {
		_, _, err := decodePlaceless(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

// It is asked only where something is missing that could be somewhere, and counts only
// for the state of which it was said.
func TestPlacelessIsOfTheSameState(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager", "data")
	c.add("books/0", 0, 1)
	path := "GET " + pathState + "/version,routing_table"
	e := mustNew(t, testOptions(c.options(0)))
	verdict := func() engines.Verdict {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.Live, o.Member)
		return o.Health.Verdict
	}
	require.Equal(t, engines.Green, verdict())
	require.Zero(t, c.asked(path))
	c.locked(func() {
		c.shards["books/0"][1] = &fakeCopy{state: "UNASSIGNED", info: "INDEX_CREATED", status: "deciders_no"}
	})
	require.Equal(t, engines.Recoverable, verdict())
	require.Equal(t, engines.Recoverable, verdict())
	require.Equal(t, 1, c.asked(path), "the state is the same")
	c.locked(func() { c.shards["books/0"][1].status = "no_attempt" })
	require.Equal(t, engines.Yellow, verdict())

	r := cluster("a 2.19.4 data", "b 2.19.4 data").with("x/0", "p a STARTED", "r - INDEX_CREATED")
	require.True(t, r.undecided())
	require.False(t, cluster("a 2.19.4 data", "b 2.19.4 data").with("x/0", "p a STARTED", "r - NODE_LEFT delayed").undecided())
}

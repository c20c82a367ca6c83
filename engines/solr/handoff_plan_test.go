package solr

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

func marked(r replica, m string, preferred bool) replica {
	r.mark, r.preferred = m, preferred
	return r
}

func TestPlanHandoff(t *testing.T) {
	abc := []string{"a", "b", "c"}
	pull := replica{node: "b", state: "active", kind: "PULL"}
	tlog := replica{node: "b", state: "active", kind: "TLOG"}
	for name, c := range map[string]struct {
		live     []string
		shards   []collection
		eligible []string
		to       []string // place and prior of each move
		stuck    []string
		leader   []string // leaderless
	}{
		"leads nothing":            {live: abc, shards: []collection{shardOf("s", "active", leading("b"), on("a", "active"))}},
		"one other":                {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"))}, to: []string{"c/s/r2 "}},
		"eligible first":           {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"), on("c", "active"))}, eligible: []string{"c"}, to: []string{"c/s/r3 "}},
		"no eligible fits":         {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"), on("c", "recovering"))}, eligible: []string{"c"}, to: []string{"c/s/r2 "}},
		"pull cannot lead":         {live: abc, shards: []collection{shardOf("s", "active", leading("a"), pull)}, stuck: []string{"c/s"}},
		"NRT before TLOG":          {live: abc, shards: []collection{shardOf("s", "active", leading("a"), tlog, on("c", "active"))}, to: []string{"c/s/r3 "}},
		"a preferred TLOG":         {live: abc, shards: []collection{shardOf("s", "active", leading("a"), marked(tlog, "", true), on("c", "active"))}, to: []string{"c/s/r2 r2"}},
		"dead cannot lead":         {live: []string{"a"}, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"))}, stuck: []string{"c/s"}},
		"recovering cannot lead":   {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "recovering"))}, stuck: []string{"c/s"}},
		"alone":                    {live: abc, shards: []collection{shardOf("s", "active", leading("a"))}, stuck: []string{"c/s"}},
		"two copies on the node":   {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("a", "active"))}, stuck: []string{"c/s"}},
		"inactive shard":           {live: abc, shards: []collection{shardOf("s", "inactive", leading("a"), on("b", "active"))}},
		"split under way":          {live: abc, shards: []collection{shardOf("s", "construction", leading("a"), on("b", "active"))}},
		"what people prefer":       {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"), marked(on("c", "active"), "", true))}, to: []string{"c/s/r3 r3"}},
		"the node was preferred":   {live: abc, shards: []collection{shardOf("s", "active", marked(leading("a"), "", true), on("b", "active"))}, to: []string{"c/s/r2 r1"}},
		"another's mark":           {live: abc, shards: []collection{shardOf("s", "active", marked(leading("a"), "other/b/r9", true), on("b", "active"))}, eligible: []string{"b"}, to: []string{"c/s/r2 r9"}},
		"given by one that leaves": {live: abc, shards: []collection{shardOf("s", "active", marked(leading("a"), "other/b/r9", true), on("b", "active"))}, stuck: []string{"c/s"}},
		"another has not given it": {live: abc, shards: []collection{shardOf("s", "active", marked(leading("a"), "other/b/r9", true), on("b", "active"), on("c", "active"))}, to: []string{"c/s/r3 r9"}},
		"marked, not preferred":    {live: abc, shards: []collection{shardOf("s", "active", leading("a"), on("b", "active"), marked(on("c", "active"), "claim/a/r9", false))}, to: []string{"c/s/r3 r9"}},
		"foreign mark":             {live: abc, shards: []collection{shardOf("s", "active", marked(leading("a"), "foreign", true), on("b", "active"))}, to: []string{"c/s/r2 r1"}},
		"ours without a leader":    {live: abc, shards: []collection{shardOf("s", "active", on("a", "active"), marked(on("b", "active"), "claim/a/", true))}, leader: []string{"c/s"}},
		"others without a leader":  {live: abc, shards: []collection{shardOf("s", "active", on("a", "active"), on("b", "active"))}},
		"spread over the least loaded": {live: abc, shards: []collection{
			shardOf("s", "active", leading("a"), on("b", "active"), on("c", "active")),
			shardOf("t", "active", leading("a"), on("b", "active"), on("c", "active")),
			shardOf("u", "active", leading("b")),
		}, to: []string{"c/s/r3 ", "c/t/r2 "}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planHandoff(stateWith(c.live, c.shards...), "a", "claim", c.eligible)
			var to []string
			for _, m := range plan.moves {
				require.Equal(t, "claim", m.mark.claim)
				require.Equal(t, "a", m.mark.node)
				to = append(to, m.to.String()+" "+m.mark.prior)
			}
			require.Equal(t, c.to, to)
			require.Equal(t, c.stuck, plan.stuck)
			require.Equal(t, c.leader, plan.leaderless)
			require.Equal(t, len(c.to) == 0 && len(c.leader) == 0, plan.done())
		})
	}
}

func TestPlanSkipsWhatIsWritten(t *testing.T) {
	s := shardOf("s", "active", leading("a"), marked(on("b", "active"), "claim/a/", true))
	plan := planHandoff(stateWith([]string{"a", "b"}, s), "a", "claim", nil)
	require.Len(t, plan.moves, 1)
	require.True(t, plan.moves[0].ready)
	require.Equal(t, []string{"c"}, plan.commits)
}

func TestCommitsOfAPlan(t *testing.T) {
	tlog := replica{node: "b", state: "active", kind: "TLOG"}
	for name, c := range map[string]struct {
		replicas []replica
		want     []string
	}{
		"NRT takes over":       {[]replica{leading("a"), on("b", "active")}, []string{"c"}},
		"TLOG takes over":      {[]replica{leading("a"), tlog}, []string{"c", "c"}},
		"TLOG does not":        {[]replica{leading("a"), tlog, on("c", "active")}, []string{"c"}},
		"TLOG leads already":   {[]replica{on("a", "active"), leading("b"), tlog}, []string{"c"}},
		"nothing on this node": {[]replica{leading("b"), tlog}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planHandoff(stateWith([]string{"a", "b", "c"}, shardOf("s", "active", c.replicas...)), "a", "claim", nil)
			require.Equal(t, c.want, plan.commits)
		})
	}
}

func TestPlanRelease(t *testing.T) {
	mine := func(m mark) bool { return m.claim == "claim" }
	at := func(r string) place { return place{"c", "s", r} }
	for name, c := range map[string]struct {
		replicas []replica
		want     []release
	}{
		"nothing":                 {[]replica{on("a", "active")}, nil},
		"nobody before":           {[]replica{on("a", "active"), marked(on("b", "active"), "claim/a/", true)}, []release{{at: at("r2"), drop: true}}},
		"somebody before":         {[]replica{on("a", "active"), marked(on("b", "active"), "claim/a/r1", true)}, []release{{at: at("r2"), prior: "r1"}}},
		"the same before":         {[]replica{marked(on("b", "active"), "claim/a/r1", true)}, []release{{at: at("r1")}}},
		"prior was removed":       {[]replica{marked(on("b", "active"), "claim/a/r9", true)}, []release{{at: at("r1"), drop: true}}},
		"people changed it":       {[]replica{marked(on("a", "active"), "", true), marked(on("b", "active"), "claim/a/", false)}, []release{{at: at("r2")}}},
		"another claim":           {[]replica{marked(on("b", "active"), "other/a/", true)}, nil},
		"foreign":                 {[]replica{marked(on("b", "active"), "foreign", true)}, nil},
		"copied to another":       {[]replica{marked(on("a", "active"), "claim/a/", true), marked(on("b", "active"), "claim/a/", false)}, []release{{at: at("r1"), drop: true}, {at: at("r2")}}},
		"copy is down, same todo": {[]replica{marked(on("b", "down"), "claim/a/", true)}, []release{{at: at("r1"), drop: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, planRelease(stateWith(nil, shardOf("s", "active", c.replicas...)), mine))
		})
	}
}

func TestMarks(t *testing.T) {
	m := mark{claim: "claim-1", node: "db-0.db.prod:8983_solr", prior: "core_node5"}
	got, ok := parseMark(m.String())
	require.True(t, ok)
	require.Equal(t, m, got)
	for _, text := range []string{"", "foreign", "a/b", "/n/", "c//p", "a/b/c/d"} {
		_, ok := parseMark(text)
		require.False(t, ok, text)
	}
	for _, claim := range []string{"", "a/b", "a b", "ä", string(make([]byte, 201))} {
		require.ErrorIs(t, engines.CheckClaim(claim), engines.ErrOrder)
	}
	require.NoError(t, engines.CheckClaim("prod.books-7_x:Y"))
}

package opensearch

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

const twoNodes = `{"cluster_uuid":"u","version":4,"state_uuid":"s4","master_node":"M","cluster_manager_node":"M",
 "nodes":{"M":{"name":"db-0","ephemeral_id":"e0","transport_address":"10.1.2.3:9300","attributes":{"shard_indexing_pressure_enabled":"true"}},
          "N":{"name":"db-1","ephemeral_id":"e1","transport_address":"db-1.x/10.1.2.4:9300"}},
 "routing_table":{"indices":{
  "pages":{"shards":{"10":[{"state":"UNASSIGNED","primary":false,"node":null,"relocating_node":null,"unassigned_info":{"reason":"NODE_LEFT","delayed":true,"details":"node_left [O]"}},
                           {"state":"RELOCATING","primary":true,"node":"M","relocating_node":"N"}],
                     "2":[{"state":"INITIALIZING","primary":true,"node":"N","unassigned_info":{"reason":"INDEX_CREATED","delayed":false}}]}},
  "books":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"M","relocating_node":null,"shard":0,"index":"books"}]}}}},
 "snapshots":{"snapshots":[{"repository":"backup","snapshot":"daily"}]},"restore":{"snapshots":[]}}`

func TestDecodeState(t *testing.T) {
	c, err := decodeState(strings.NewReader(twoNodes))
	require.NoError(t, err)
	require.Equal(t, &clusterState{
		id: "s4", cluster: "u", elected: "M", snapshot: "backup/daily",
		nodes: map[string]stateNode{"M": {"db-0", "e0", "10.1.2.3:9300"}, "N": {"db-1", "e1", "db-1.x/10.1.2.4:9300"}},
		shards: []shard{
			{"books", "0", []shardCopy{{primary: true, state: started, node: "M"}}},
			{"pages", "2", []shardCopy{{primary: true, state: initializing, node: "N"}}},
			{"pages", "10", []shardCopy{{primary: true, state: relocating, node: "M", target: "N"}, {state: unassigned, why: "NODE_LEFT", left: "O", delayed: true}}},
		},
	}, c)
	require.Equal(t, 2, c.hosted("M"))
	require.Equal(t, 2, c.hosted("N"), "also where one only goes to")
	require.Zero(t, c.hosted(""), "what is nowhere is on no node")
}

// What is cut off anywhere is no answer.
func TestDecodeStateTruncated(t *testing.T) {
	for i := range len(twoNodes) {
		_, err := decodeState(strings.NewReader(twoNodes[:i]))
		require.Error(t, err, "first %d bytes", i)
	}
}

func TestDecodeStateRefuses(t *testing.T) {
	nodes := `"state_uuid":"s","nodes":{"M":{"name":"db-0"}}`
	for in, says := range map[string]string{
		`[]`:                                  "must be an object",
		`null`:                                "no state_uuid",
		`{}`:                                  "no state_uuid",
		`{"x":1}`:                             "no state_uuid",
		`{"state_uuid":"s"}`:                  "no nodes",
		`{"state_uuid":"s","nodes":{"M":{}}}`: "has no name",
		`{"state_uuid":"s","nodes":{"":{"name":"db"}}}`:                                                       "has no name",
		`{` + nodes + `,"routing_table":[]}`:                                                                  "must be an object",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"x":[]}}}}}`:                               "must be a number",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"0":[]}}}}}`:                               "has no copies",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"STARTED"}]}}}}}`:            "on no node",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"ASLEEP","node":null}]}}}}}`: "ASLEEP on no node",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"0":[{"state":{},"node":"M"}]}}}}}`:        "cannot unmarshal",
		`{"state_uuid":{}}`: "cannot unmarshal",
		`{` + nodes + `,"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"STARTED","node":"M"},{"state":"STARTED","node":"M"}]}}}}}`: "two copies on one node",
	} {
		_, err := decodeState(strings.NewReader(in))
		require.ErrorContains(t, err, says, in)
	}
}

func TestDecodeUnknownCopy(t *testing.T) {
	c, err := decodeState(strings.NewReader(`{"state_uuid":"s","nodes":{"M":{"name":"db-0"}},"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"ASLEEP","node":"M"}]}}}}}`))
	require.NoError(t, err)
	require.Equal(t, copyUnknown, c.shards[0].copies[0].state)
}

func TestDecodeWhoLeft(t *testing.T) {
	for details, id := range map[string]string{
		"node_left [O]": "O", "": "", "node_left [": "", "node_left []": "", "failed shard on node [O]: node_left [O]": "",
	} {
		got, _ := leftBy(details)
		require.Equal(t, id, got, details)
	}
}

func TestDecodeHead(t *testing.T) {
	for in, elected := range map[string]string{
		`{"state_uuid":"s","master_node":"M"}`:                             "M",
		`{"state_uuid":"s","cluster_manager_node":"M"}`:                    "M",
		`{"state_uuid":"s","master_node":null}`:                            "",
		`{"state_uuid":"s"}`:                                               "",
		`{"state_uuid":"s","master_node":null,"cluster_manager_node":"M"}`: "M",
	} {
		h, err := decodeHead(strings.NewReader(in))
		require.NoError(t, err)
		require.Equal(t, elected, h.elected(), in)
	}
	for _, in := range []string{``, `{}`, `{"master_node":"M"}`, `{"state_uuid":1}`} {
		_, err := decodeHead(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeVoting(t *testing.T) {
	v, err := decodeVoting(strings.NewReader(`{"metadata":{"cluster_coordination":{"term":7,"last_committed_config":["M"],"last_accepted_config":["M","N"],
		"voting_config_exclusions":[{"node_id":"O","node_name":"db-2"},{"node_id":"_absent_","node_name":"db-9"}]}}}`))
	require.NoError(t, err)
	require.Equal(t, voting{[]string{"M"}, []string{"M", "N"}, []exclusion{{"O", "db-2"}, {absent, "db-9"}}}, v)
	require.True(t, v.excludes("O", "db-2"))
	require.True(t, v.excludes("P", "db-9"), "known by its name only")
	require.False(t, v.excludes(absent, "db-1"))
	for _, in := range []string{`{}`, `{"metadata":{}}`, `{"metadata":{"cluster_coordination":{"last_committed_config":["M"]}}}`, `x`} {
		_, err := decodeVoting(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeHealth(t *testing.T) {
	h, err := decodeHealth(strings.NewReader(`{"status":"yellow","timed_out":false,"active_shards":3,"initializing_shards":1,"unassigned_shards":2,"number_of_pending_tasks":2,"number_of_in_flight_fetch":1}`))
	require.NoError(t, err)
	require.Equal(t, health{status: "yellow", queued: true, copies: 6, initializing: 1, fetching: 1}, h)
	for _, in := range []string{`{}`, `{"status":"green"}`, `{"status":"blue","timed_out":false,"active_shards":0}`, `{"status":"green","active_shards":1}`,
		`{"status":503,"error":{}}`, ``} {
		_, err := decodeHealth(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeNodeFacts(t *testing.T) {
	f, err := decodeNodeFacts(strings.NewReader(`{"nodes":{"M":{"name":"db-0","version":"2.19.4","roles":["data","master"]},"N":{"name":"co","version":"3.0.0"}}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]nodeFacts{"M": {"db-0", "2.19.4", []string{"data", "master"}}, "N": {name: "co", version: "3.0.0"}}, f)
	for _, in := range []string{`{}`, `{"nodes":{}}`, `{"nodes":{"M":{"name":"db-0"}}}`, `{"nodes":{"M":{"version":"1.0.0"}}}`, `{"nodes":[]}`} {
		_, err := decodeNodeFacts(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeOwnShards(t *testing.T) {
	for in, want := range map[string]int{
		`{"nodes":{"M":{"name":"db-0"}}}`: 0,
		`{"nodes":{"M":{"name":"db-0","indices":{"shards":{"a":[{"0":{}},{"1":{}}],"b":[{"0":{}}]}}}}}`: 3,
	} {
		n, err := decodeOwnShards(strings.NewReader(in), "M")
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	for _, in := range []string{`{}`, `{"nodes":{}}`, `{"nodes":{"N":{"name":"db-1"}}}`, `{"nodes":{"M":{}}}`} {
		_, err := decodeOwnShards(strings.NewReader(in), "M")
		require.Error(t, err, "an empty answer is not an empty node: %s", in)
	}
}

func TestDecodeDataBytes(t *testing.T) {
	n, err := decodeDataBytes(strings.NewReader(`{"nodes":{"M":{"indices":{"store":{"size_in_bytes":69}}}}}`))
	require.NoError(t, err)
	require.EqualValues(t, 69, n)
	for _, in := range []string{`[]`, `{"nodes":{"M":{"indices":{"store":{"size_in_bytes":-1}}}}}`,
		`{"nodes":{"M":{"indices":{"store":{"size_in_bytes":9223372036854775807}}},"N":{"indices":{"store":{"size_in_bytes":1}}}}}`} {
		_, err := decodeDataBytes(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeSettings(t *testing.T) {
	s, err := decodeSettings(strings.NewReader(`{"persistent":{"a":"1","cluster.routing.allocation.exclude._name":"x, y,","archived.old":"7"},
		"transient":{"a":["2","3"],"b":true}}`))
	require.NoError(t, err)
	require.Equal(t, "2,3", s.effective("a"), "transient first")
	require.Equal(t, "true", s.effective("b"))
	require.Equal(t, []string{"x", "y"}, s.excluded())
	require.Equal(t, []string{"archived.old"}, s.archived())
	require.False(t, s.throttled())
	for _, in := range []string{`{}`, `{"persistent":{}}`, `{"persistent":{},"transient":{"a":{}}}`, `{"persistent":{},"transient":[]}`} {
		_, err := decodeSettings(strings.NewReader(in))
		require.Error(t, err, in)
	}
}

func TestDecodeAcknowledged(t *testing.T) {
	require.NoError(t, decodeAcknowledged(strings.NewReader(`{"acknowledged":true,"persistent":{}}`)))
	require.NoError(t, decodeAcknowledged(strings.NewReader(`{"acknowledged":false}`)))
	require.Error(t, decodeAcknowledged(strings.NewReader(`{"status":"OK"}`)))
}

// Every decoder takes anything at all and answers either an error or something
// that the rest can work with.
func FuzzDecoders(f *testing.F) {
	f.Add(twoNodes)
	f.Add(`{"metadata":{"cluster_coordination":{"last_committed_config":["M"],"last_accepted_config":["M"]}}}`)
	f.Add(`{"status":"red","timed_out":false,"active_shards":1}`)
	f.Add(`{"nodes":{"M":{"name":"db-0","version":"2.19.4","roles":["data"]}}}`)
	f.Add(`{"persistent":{"cluster.metadata.rollcall.0":"{}"},"transient":{}}`)
	f.Add(`{"error":{"type":"x","reason":"y"}}`)
	// Few, as each is tried before anything new is.
	for _, name := range []string{"moving", "killed-red", "snapshot", "no-manager"} {
		for _, x := range readConversation(f, filepath.Join("testdata", "recorded", "3.8.0", name+".txt")) {
			f.Add(string(x.answer))
		}
	}
	f.Fuzz(func(t *testing.T, in string) {
		from := func() io.Reader { return strings.NewReader(in) }
		r := reading{facts: map[string]nodeFacts{}}
		var err error
		r.settings, _ = decodeSettings(from())
		r.settings.marks()
		r.voting, _ = decodeVoting(from())
		_, _ = decodeOwnShards(from(), "M")
		_, _ = decodeDataBytes(from())
		_, _ = decodeHead(from())
		_ = decodeAcknowledged(from())
		errorText([]byte(in))
		if facts, err := decodeNodeFacts(from()); err == nil {
			r.facts = facts
		}
		h, _ := decodeHealth(from())
		if r.state, err = decodeState(from()); err != nil {
			return
		}
		o := observation(readings{self: identity{id: "M"}, managed: true, cluster: &r, health: h})
		for _, g := range o.Groups {
			ids := map[string]bool{}
			for _, m := range g.Members {
				if m.Node == "" && m.State != engines.MemberDown || ids[m.ID] {
					t.Fatalf("%s: member %s serves on no node, or twice", g.ID, m.ID)
				}
				ids[m.ID] = true
			}
		}
		for name := range r.state.nodes {
			planVotes(&r, name, "claim", nil)
			r.homeless(name)
		}
	})
}

func FuzzDecodeAllocation(f *testing.F) {
	f.Add([]byte(`{"persistent":"all","transient":null}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if a, err := decodeAllocation(in); err == nil && a.Persistent != nil {
			require.Contains(t, []string{"all", "primaries", "new_primaries", "none"}, strings.ToLower(*a.Persistent))
		}
	})
}

func FuzzParseMark(f *testing.F) {
	m := mark{Claim: "c", Node: "n", What: votes, Entry: "n"}
	f.Add(m.key(), m.String())
	f.Fuzz(func(t *testing.T, key, value string) {
		if m, ok := parseMark(key, value); ok {
			again, ok := parseMark(m.key(), m.String())
			require.True(t, ok)
			require.Equal(t, m, again)
		}
	})
}

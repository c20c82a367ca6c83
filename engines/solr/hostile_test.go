package solr

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/web/webtest"
	"github.com/rollcall-dev/rollcall/test/race"
)

const statusHead = `{"cluster":{"live_nodes":["a:1_solr"],"collections":{`

// comma before all but the first.
func comma(i int) string { return strings.Repeat(",", min(i, 1)) }

// hostileEngine asks a node that says who it is and answers everything else so.
func hostileEngine(t *testing.T, answer webtest.Hostile) *Engine {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == pathSystem {
			_, _ = io.WriteString(w, `{"mode":"solrcloud","node":"a:1_solr","lucene":{"solr-spec-version":"9.9.0"}}`)
			return
		}
		answer(w)
	}))
	t.Cleanup(server.Close)
	host, port := webtest.Address(t, server.URL)
	return mustNew(t, Options{Access: web.Access{Host: host, Port: port, Timeout: time.Minute}})
}

// TestHostileAnswers checks that whatever a Solr answers, its agent stays within its memory and
// says that it knows nothing, and why.
func TestHostileAnswers(t *testing.T) {
	race.Heavy(t)
	replica := `"node_name":"a:1_solr"`
	shapes := webtest.Shapes()
	shapes["nodes"] = webtest.Endless(`{"cluster":{"live_nodes":[""`, func(int) string { return `,""` })
	shapes["replicas"] = webtest.Endless(statusHead+`"c":{"shards":{"s":{"replicas":{`, func(i int) string { return fmt.Sprintf(`%s"%d":{%s}`, comma(i), i, replica) })
	shapes["shards"] = webtest.Endless(statusHead+`"c":{"shards":{`, func(i int) string { return fmt.Sprintf(`%s"%d":{}`, comma(i), i) })
	shapes["collections"] = webtest.Endless(statusHead, func(i int) string { return fmt.Sprintf(`%s"%d":{}`, comma(i), i) })
	shapes["a long name of many shards"] = webtest.Endless(statusHead+`"`+strings.Repeat("c", 200<<10)+`":{"shards":{`, func(i int) string { return fmt.Sprintf(`%s"%d":{}`, comma(i), i) })
	shapes["what is read over"] = webtest.Endless(statusHead+`"c":{"x":{`, func(i int) string { return fmt.Sprintf(`%s"%d":"%d"`, comma(i), i, i) })
	shapes["one replica"] = webtest.Endless(statusHead+`"c":{"shards":{"s":{"replicas":{"r":{`, func(i int) string { return fmt.Sprintf(`%s"%d":0`, comma(i), i) })
	shapes["nodes of replicas"] = webtest.Endless(statusHead+`"c":{"shards":{"s":{"replicas":{`, func(i int) string { return fmt.Sprintf(`%s"%d":{"node_name":"%d"}`, comma(i), i, i) })
	shapes["a bomb of replicas"] = webtest.Bomb(shapes["replicas"])
	for name, answer := range shapes {
		t.Run(name, func(t *testing.T) {
			e := hostileEngine(t, answer)
			refused := engines.TooLarge()
			var o engines.Observation
			peak := webtest.Peak(t, func() {
				var err error
				o, err = e.Observe(t.Context())
				require.NoError(t, err)
			})
			require.Less(t, peak.Held, int64(webtest.AgentLimit*9/10))
			require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
			require.Equal(t, engines.MembershipUnknown, o.Member)
			if name != "a long header" {
				require.Contains(t, o.Health.Reason, "is larger than the limit of")
				require.Greater(t, engines.TooLarge(), refused)
			}
			require.LessOrEqual(t, len(o.Health.Reason), 400)
		})
	}
}

// manyReplicas is a state of so many, 30 to a collection and three to a shard.
func manyReplicas(n, salt int) webtest.Hostile {
	return webtest.Wide(statusHead, n/30, func(c int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `%s"books-%d-%d":{"pullReplicas":"0","configName":"_default","replicationFactor":3,"router":{"name":"compositeId"},"nrtReplicas":3,"tlogReplicas":0,"shards":{`, comma(c), c, salt)
		for s := range 10 {
			fmt.Fprintf(&b, `%s"shard%d":{"range":"80000000-d554ffff","state":"active","health":"GREEN","replicas":{`, comma(s), s)
			for r := range 3 {
				fmt.Fprintf(&b, `%s"core_node%d":{"core":"books-%d-%d_shard%d_replica_n%d","node_name":"solr-%d.solr.search.svc.cluster.local:8983_solr","type":"NRT","state":"active","force_set_state":"false","base_url":"http://solr-%d.solr.search.svc.cluster.local:8983/solr","leader":"true"}`,
					comma(r), s*3+r, c, salt, s, r, (c+r)%100, (c+r)%100)
			}
			b.WriteString(`}}`)
		}
		b.WriteString(`}}`)
		return b.String()
	}, `}}}`)
}

// TestLargestStates checks that the largest that is legitimate, and the most that the limits let
// through, are read over and over within an agent's memory.
func TestLargestStates(t *testing.T) {
	race.Heavy(t)
	for name, c := range map[string]struct {
		answer func(salt int) webtest.Hostile
		groups int
	}{
		"60,000 replicas": {func(salt int) webtest.Hostile { return manyReplicas(60_000, salt) }, 20_000},
		"small ones": {func(salt int) webtest.Hostile {
			return webtest.Wide(statusHead+`"c":{"shards":{"s":{"replicas":{`, large.Objects-10, func(i int) string {
				return fmt.Sprintf(`%s"%d":{"node_name":"%d:%d"}`, comma(i), i, i%maxNodes, salt)
			}, `}}}}}}}`)
		}, 1},
		"small shards": {func(salt int) webtest.Hostile {
			return webtest.Wide(statusHead+`"c":{"shards":{`, large.Objects-10, func(i int) string {
				return fmt.Sprintf(`%s"%d-%d":{}`, comma(i), i, salt)
			}, `}}}}}`)
		}, large.Objects - 10},
	} {
		t.Run(name, func(t *testing.T) {
			var salt atomic.Int64
			e := hostileEngine(t, func(w http.ResponseWriter) { c.answer(int(salt.Load()))(w) })
			peak := webtest.Peak(t, func() {
				for range 3 {
					salt.Add(1)
					o, err := e.Observe(t.Context())
					require.NoError(t, err)
					require.Len(t, o.Groups, c.groups, o.Health.Reason)
				}
			})
			require.Less(t, peak.Held, int64(webtest.AgentLimit*9/10))
			require.Less(t, peak.Live, int64(webtest.AgentLimit/2))
		})
	}
}

func TestNodesAreBounded(t *testing.T) {
	state := func(nodes int) string {
		var b strings.Builder
		b.WriteString(statusHead + `"c":{"shards":{"s":{"replicas":{`)
		for i := range nodes {
			fmt.Fprintf(&b, `%s"%d":{"node_name":"%d"}`, comma(i), i, i)
		}
		return b.String() + `}}}}}}}`
	}
	_, err := decodeClusterStatus(strings.NewReader(state(maxNodes)))
	require.NoError(t, err)
	_, err = decodeClusterStatus(strings.NewReader(state(maxNodes + 1)))
	require.ErrorContains(t, err, "answer is larger than the limit of 4096 nodes")
}

package opensearch

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

const (
	stateHead = `{"state_uuid":"s","master_node":"A","nodes":{"A":{"name":"a","ephemeral_id":"e"}},`
	shardHead = stateHead + `"routing_table":{"indices":{`
)

// comma before all but the first.
func comma(i int) string { return strings.Repeat(",", min(i, 1)) }

// hostileEngine asks a node that is well until it is asked about all copies, or from
// the call on that is named. Each answer has another state.
func hostileEngine(t *testing.T, hostile map[string]webtest.Hostile) *Engine {
	var states atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := hostile[r.URL.Path]; answer != nil {
			answer(w)
			return
		}
		_, _ = io.WriteString(w, map[string]string{
			pathWhole:                          stateHead + `"routing_table":{"indices":{}}}`,
			pathState + "/version,master_node": fmt.Sprintf(`{"state_uuid":"s%d","cluster_uuid":"u","master_node":"A"}`, states.Add(1)),
			pathState + "/metadata/" + noIndex: `{"metadata":{"cluster_coordination":{"last_committed_config":["A"],"last_accepted_config":["A"]}}}`,
			pathSettings:                       `{"persistent":{},"transient":{}}`,
			pathHealth:                         `{"status":"green","timed_out":false,"active_shards":1}`,
			pathSelf:                           `{"nodes":{"A":{"name":"a","version":"2.19.4","roles":["data"]}}}`,
			pathNodes:                          `{"nodes":{"A":{"name":"a","version":"2.19.4","roles":["data"]}}}`,
		}[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	host, port := webtest.Address(t, server.URL)
	return mustNew(t, Options{Access: web.Access{Host: host, Port: port, Timeout: time.Minute}})
}

const pathWhole = pathState + "/version,master_node,nodes,routing_table,customs"

// TestHostileAnswers checks that whatever an OpenSearch answers, its agent stays within its memory
// and says that it knows nothing, and why.
func TestHostileAnswers(t *testing.T) {
	race.Heavy(t)
	type hostile struct {
		path   string
		answer webtest.Hostile
	}
	cases := map[string]hostile{}
	for name, answer := range webtest.Shapes() {
		cases[name] = hostile{pathWhole, answer}
		cases[name+" of itself"] = hostile{pathSelf, answer}
	}
	endless := func(path, head, each string) hostile {
		return hostile{path, webtest.Endless(head, func(i int) string { return comma(i) + strings.ReplaceAll(each, "%d", fmt.Sprint(i)) })}
	}
	cases["copies"] = endless(pathWhole, shardHead+`"i":{"shards":{`, `"%d":[{"state":"UNASSIGNED"}]`)
	cases["indices"] = endless(pathWhole, shardHead, `"%d":{"shards":{}}`)
	cases["nodes"] = endless(pathWhole, `{"state_uuid":"s","nodes":{`, `"%d":{"name":"%d"}`)
	cases["copies of one shard"] = endless(pathWhole, shardHead+`"i":{"shards":{"0":[`, `{}`)
	cases["a long name of many shards"] = endless(pathWhole, shardHead+`"`+strings.Repeat("i", 60<<10)+`":{"shards":{`, `"%d":[{"state":"UNASSIGNED"}]`)
	cases["what is read over"] = endless(pathWhole, stateHead+`"x":[`, `"%d"`)
	cases["snapshots"] = endless(pathWhole, stateHead+`"snapshots":{"snapshots":[`, `{}`)
	cases["settings"] = endless(pathSettings, `{"persistent":{`, `"%d":""`)
	cases["voters"] = endless(pathState+"/metadata/"+noIndex, `{"metadata":{"cluster_coordination":{"last_committed_config":[`, `""`)
	cases["facts"] = endless(pathNodes, `{"nodes":{`, `"%d":{"name":"a","version":"1"}`)
	cases["roles"] = endless(pathNodes, `{"nodes":{"A":{"name":"a","version":"1","roles":[`, `""`)
	cases["a bomb of copies"] = hostile{pathWhole, webtest.Bomb(cases["copies"].answer)}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := hostileEngine(t, map[string]webtest.Hostile{c.path: c.answer})
			refused := engines.TooLarge()
			var o engines.Observation
			peak := webtest.Peak(t, func() {
				var err error
				o, err = e.Observe(t.Context())
				require.NoError(t, err)
			})
			require.Less(t, peak.Held, int64(webtest.AgentLimit*9/10))
			require.Equal(t, engines.VerdictUnknown, o.Health.Verdict)
			if !strings.Contains(name, "a long header") && !strings.Contains(name, "nothing JSON is") {
				require.Contains(t, o.Health.Reason, "is larger than the limit of")
				require.Greater(t, engines.TooLarge(), refused)
			}
			require.LessOrEqual(t, len(o.Health.Reason), 400)
		})
	}
}

// TestLargestStates checks that the largest that is legitimate, and the most that the limits let
// through, are read over and over within an agent's memory.
func TestLargestStates(t *testing.T) {
	race.Heavy(t)
	most := large.Objects/2 - 10
	for name, c := range map[string]struct {
		answer func(salt int64) webtest.Hostile
		shards int
	}{
		"50,000 shards, five to an index": {func(int64) webtest.Hostile {
			return func(w http.ResponseWriter) {
				state := string(largeState(100_000))
				webtest.Wide(state[:len(state)-1], 0, nil, state[len(state)-1:])(w)
			}
		}, 50_000},
		"50,000 shards, one to an index, nowhere": {func(salt int64) webtest.Hostile {
			return webtest.Wide(shardHead, 50_000, func(i int) string {
				copy := func(primary bool, node string) string {
					return fmt.Sprintf(`{"state":"UNASSIGNED","primary":%t,"node":null,"relocating_node":null,"unassigned_info":{"reason":"NODE_LEFT","delayed":true,"details":"node_left [%s]"}}`, primary, node)
				}
				return fmt.Sprintf(`%s"logs-2026.11.%06d-%d":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"A","relocating_node":null},%s]}}`, comma(i), i, salt, copy(false, "node-id-of-22-chars-00"))
			}, `}}}`)
		}, 50_000},
		"small ones": {func(salt int64) webtest.Hostile {
			return webtest.Wide(shardHead+`"i":{"shards":{`, most, func(i int) string {
				return fmt.Sprintf(`%s"%d":[{"state":"UNASSIGNED","primary":true}]`, comma(i), int64(i)+salt*1_000_000)
			}, `}}}}}`)
		}, most},
	} {
		t.Run(name, func(t *testing.T) {
			var salt atomic.Int64
			e := hostileEngine(t, map[string]webtest.Hostile{pathWhole: func(w http.ResponseWriter) { c.answer(salt.Add(1))(w) }})
			var last engines.Observation // an agent has the last while it makes the next
			peak := webtest.Peak(t, func() {
				for range 3 {
					o, err := e.Observe(t.Context())
					require.NoError(t, err)
					require.Greater(t, len(o.Groups), c.shards, o.Health.Reason)
					last = o
				}
			})
			require.NotEmpty(t, last.Groups)
			require.Less(t, peak.Held, int64(webtest.AgentLimit*9/10))
			require.Less(t, peak.Live, int64(webtest.AgentLimit/2))
		})
	}
}

// A name is part of what each shard is called.
func TestLongNamesAreRefused(t *testing.T) {
	state := func(name string) string {
		return shardHead + `"` + name + `":{"shards":{"0":[{"state":"UNASSIGNED"}]}}}}}`
	}
	_, err := decodeState(strings.NewReader(state(strings.Repeat("i", 512))))
	require.NoError(t, err)
	_, err = decodeState(strings.NewReader(state(strings.Repeat("i", 513))))
	require.ErrorContains(t, err, "answer is larger than the limit of 512 bytes in a name")
}

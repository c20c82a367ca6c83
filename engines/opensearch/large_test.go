package opensearch

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeState is an answer with n copies: half as many shards with a replica each,
// five to an index, on 60 nodes.
func largeState(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"cluster_uuid":"u","version":9,"state_uuid":"s9","master_node":"node-id-of-22-chars-00","nodes":{`)
	id := func(i int) string { return fmt.Sprintf("node-id-of-22-chars-%02d", i%60) }
	for i := range 60 {
		fmt.Fprintf(&b, `%s%q:{"name":"search-data-%d","ephemeral_id":"process-id-of-22-chars-%d","transport_address":"10.1.2.%d:9300"}`,
			strings.Repeat(",", min(i, 1)), id(i), i, i, i)
	}
	b.WriteString(`},"routing_table":{"indices":{`)
	for index := range n / 10 {
		fmt.Fprintf(&b, `%s"logs-2026.11.%06d":{"shards":{`, strings.Repeat(",", min(index, 1)), index)
		for s := range 5 {
			fmt.Fprintf(&b, `%s"%d":[{"state":"STARTED","primary":true,"node":%q,"relocating_node":null},{"state":"STARTED","primary":false,"node":%q,"relocating_node":null}]`,
				strings.Repeat(",", min(s, 1)), s, id(index+s), id(index+s+1))
		}
		b.WriteString(`}}`)
	}
	b.WriteString(`}}}`)
	return b.Bytes()
}

// A copy costs a bounded number of bytes, however many there are.
func TestLargeStateIsSmall(t *testing.T) {
	const copies = 100_000 // 50,000 shards with a replica each
	body := largeState(copies)
	require.Less(t, int64(len(body)), withDefaults(Options{}).MaxBytes/3)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	c, err := decodeState(bytes.NewReader(body))
	require.NoError(t, err)
	kept := held() - before
	require.Len(t, c.shards, copies/2)
	require.Less(t, kept/copies, uint64(160), "bytes kept for each copy of an answer of %d", len(body))
	runtime.KeepAlive(body)
	runtime.KeepAlive(c)
}

func BenchmarkDecode50000(b *testing.B) {
	body := largeState(100_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeState(bytes.NewReader(body)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkObservation50000(b *testing.B) {
	state, err := decodeState(bytes.NewReader(largeState(100_000)))
	require.NoError(b, err)
	r := &reading{state: state, facts: map[string]nodeFacts{}}
	for id, n := range state.nodes {
		r.facts[id] = nodeFacts{name: n.name, version: "2.19.4", roles: []string{"data"}}
	}
	self := identity{"node-id-of-22-chars-00", r.facts["node-id-of-22-chars-00"]}
	b.ReportAllocs()
	for b.Loop() {
		observation(readings{self: self, managed: true, cluster: r, health: health{status: "green", copies: 100_000}})
	}
}

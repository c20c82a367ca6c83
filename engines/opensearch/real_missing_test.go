package opensearch

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/opensearch/opensearchtest"
)

// fill writes documents that take a while to be copied.
func fill(n *opensearchtest.Node, index string, documents int) {
	var body strings.Builder
	for range documents {
		text := make([]byte, 4<<10)
		for i := range text {
			text[i] = 'a' + byte(rand.IntN(26))
		}
		fmt.Fprintf(&body, "{\"index\":{}}\n{\"text\":%q}\n", text)
	}
	n.Call("POST", "/"+index+"/_bulk?refresh=true", body.String())
	n.Call("POST", "/"+index+"/_flush", "")
}

// lockIndices keeps the indices of a node that has stopped from being opened, as a
// process does that still has them.
func lockIndices(t *testing.T, n *opensearchtest.Node) (free func()) {
	locks, err := filepath.Glob(filepath.Join(n.Dir(), "nodes", "0", "indices", "*", "0", "index", "write.lock"))
	require.NoError(t, err)
	require.NotEmpty(t, locks)
	var held []*os.File
	for _, path := range locks {
		file, err := os.OpenFile(path, os.O_RDWR, 0o644)
		require.NoError(t, err)
		require.NoError(t, syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}))
		held = append(held, file)
	}
	return func() {
		for _, file := range held {
			file.Close()
		}
	}
}

// TestRealMissing checks the verdict for copies that no restart brings back, for copies that are
// being built, and for copies that exist only on a disk.
func TestRealMissing(t *testing.T) {
	version := opensearchtest.Versions[len(opensearchtest.Versions)-1]
	c := opensearchtest.Start(t, opensearchtest.Options{Versions: []string{version, version, version}})
	n, victim := c.Nodes[0], c.Nodes[1]
	n.AwaitHealth("green", 3)
	e := realEngine(t, n)
	members := func(o engines.Observation, id string) (states []string) {
		for _, g := range o.Groups {
			if g.ID == id {
				for _, m := range g.Members {
					states = append(states, m.State.String())
				}
			}
		}
		return states
	}
	placed := func(index string, on *opensearchtest.Node, replicas int) {
		n.Call("PUT", "/"+index, fmt.Sprintf(`{"settings":{"number_of_shards":1,"number_of_replicas":%d,"index.routing.allocation.include._name":%q}}`, replicas, on.Name))
	}

	n.Call("PUT", "/many", `{"settings":{"number_of_shards":1,"number_of_replicas":3}}`)
	o := await(t, e, "one replica too many", func(o engines.Observation) bool {
		return len(members(o, "many/0")) == 3 && o.Health.Verdict == engines.VerdictGreen
	})
	require.Equal(t, "more copies are configured than there are nodes for, of many/0", o.Health.Reason)
	require.Equal(t, []string{"Active", "Active", "Active"}, members(o, "many/0"))
	require.True(t, o.Settled)

	placed("filtered", n, 1)
	o = await(t, e, "no place", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
	require.Equal(t, "opensearch finds no node that may take it, missing: a copy of filtered/0", o.Health.Reason)
	require.ElementsMatch(t, []string{"Active", "Down"}, members(o, "filtered/0"))
	require.True(t, o.Settled, "all nodes have what they can have")

	placed("moving", victim, 0)
	n.Call("PUT", "/moving/_settings", `{"index.routing.allocation.include._name":null}`)
	fill(n, "moving", 200)
	await(t, e, "as before", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
	n.Call("PUT", pathSettings, `{"transient":{"indices.recovery.max_bytes_per_sec":"40kb"}}`)
	n.Call("POST", "/_cluster/reroute?metric=none",
		fmt.Sprintf(`{"commands":[{"move":{"index":"moving","shard":0,"from_node":%q,"to_node":%q}}]}`, victim.Name, c.Nodes[2].Name))
	o = await(t, e, "moving", func(o engines.Observation) bool { return len(members(o, "moving/0")) == 2 })
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict, "nobody goes while copies move")
	require.Equal(t, "being moved: a copy of moving/0; opensearch finds no node that may take it, missing: a copy of filtered/0", o.Health.Reason)
	n.Call("PUT", pathSettings, `{"transient":{"indices.recovery.max_bytes_per_sec":null}}`)
	await(t, e, "moved", func(o engines.Observation) bool {
		return o.Health.Verdict == engines.VerdictRecoverable && len(members(o, "moving/0")) == 1
	})

	n.Call("DELETE", "/many,filtered,moving", "")
	placed("alone", victim, 0)
	fill(n, "alone", 10)
	n.Call("PUT", "/alone/_settings", `{"index.routing.allocation.include._name":null}`)
	n.AwaitHealth("green", 3)
	victim.Stop()
	free := lockIndices(t, victim)
	victim.Start()
	victim.AwaitUp()
	own := realEngine(t, victim)
	await(t, own, "back, and its copy is on its disk only", func(o engines.Observation) bool {
		return o.Member == engines.MembershipLive && o.Health.Verdict == engines.VerdictRed
	})
	hosted := func() int {
		r, _ := realReading(t, n)
		id, one := r.state.byName(victim.Name)
		require.True(t, one)
		return r.state.hosted(id)
	}
	require.Eventually(t, func() bool { return hosted() == 0 }, time.Minute, 100*time.Millisecond, "no shard names the node once OpenSearch has given up")
	order := engines.Order{Kind: engines.Evacuate, Claim: "empty"}
	undo, err := own.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	said := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		p, err := own.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
		said = p.Detail
	}
	require.Contains(t, said, "may be on the disk of this node alone; no copy serves of alone/0")
	free()
	n.Call("POST", "/_cluster/reroute?retry_failed=true&metric=none", "")
	repeat(t, func() (engines.Progress, error) { return own.Drain(t.Context(), order, undo) })
	var answer struct{ Count int }
	require.NoError(t, json.Unmarshal(n.Call("GET", "/alone/_count", ""), &answer))
	require.Equal(t, 10, answer.Count)
	require.Zero(t, hosted())
	repeat(t, func() (engines.Progress, error) { return own.Restore(t.Context(), undo) })
}

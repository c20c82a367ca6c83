package opensearch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// Only where OpenSearch says of a replica that is nowhere that no node may take it
// nothing will come of waiting.
func TestDecodeExplanation(t *testing.T) {
	explained := func(primary bool, state, can string) string {
		return fmt.Sprintf(`{"index":"x","shard":3,"primary":%v,"current_state":%q,"can_allocate":%q}`, primary, state, can)
	}
	for text, want := range map[string]bool{
		explained(false, "unassigned", "no"):                 true,
		explained(false, "unassigned", "yes"):                false,
		explained(false, "unassigned", "throttled"):          false,
		explained(false, "unassigned", "awaiting_info"):      false,
		explained(false, "unassigned", "allocation_delayed"): false,
		explained(false, "unassigned", "a word of tomorrow"): false,
		explained(false, "started", "no"):                    false,
		explained(true, "unassigned", "no"):                  false,
	} {
		got, err := decodeExplanation(strings.NewReader(text), "x", 3)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "[]", "{}", `{"index":"y","shard":3,"primary":false}`, `{"index":"x","shard":4,"primary":false}`, `{"index":"x","shard":3}`} {
		_, err := decodeExplanation(strings.NewReader(text), "x", 3)
		require.Error(t, err, text)
	}
}

// It is asked only where something is missing that could be somewhere, of not too many
// shards, and counts only for the state of which it was said.
func TestExplanationsAreOfTheSameState(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager", "data")
	c.add("books/0", 0, 1)
	e := mustNew(t, testOptions(c.options(0)))
	verdict := func() engines.Verdict { return verdictOf(t, e) }
	asked := func() int { return c.asked("POST " + pathExplain) }
	require.Equal(t, engines.VerdictGreen, verdict())
	require.Zero(t, asked())
	replica := func(shard, status string) {
		c.locked(func() {
			c.shards[shard] = []*fakeCopy{{primary: true, state: "STARTED", node: "id-0"}, {state: "UNASSIGNED", info: "INDEX_CREATED", status: status}}
		})
	}
	replica("books/0", "no")
	require.Equal(t, engines.VerdictRecoverable, verdict())
	require.Equal(t, engines.VerdictRecoverable, verdict())
	require.Equal(t, 1, asked(), "the state is the same")
	replica("books/0", "throttled")
	require.Equal(t, engines.VerdictYellow, verdict())
	require.Equal(t, 2, asked())
	for i := range mostExplained {
		replica(fmt.Sprintf("books/%d", i), "no")
	}
	require.Equal(t, engines.VerdictRecoverable, verdict())
	replica(fmt.Sprintf("books/%d", mostExplained), "no")
	before := asked()
	require.Equal(t, engines.VerdictYellow, verdict(), "they are too many to ask")
	require.Equal(t, before, asked())

	r := cluster("a 2.19.4 data", "b 2.19.4 data").with("x/0", "p a STARTED", "r - INDEX_CREATED").with("x/1", "p a STARTED", "r - NODE_LEFT delayed")
	require.Len(t, r.undecided(), 1)
	r.state.id = "an older one"
	replica("x/0", "no")
	require.NoError(t, e.api.explain(t.Context(), r))
	require.Nil(t, r.placeless)
}

// verdictOf is the verdict of a live member.
func verdictOf(t *testing.T, e *Engine) engines.Verdict {
	t.Helper()
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipLive, o.Member)
	return o.Health.Verdict
}

// TestExplanationsAreAskedForAgain: where OpenSearch was not asked in time, may not be asked, or said that it waits
// for something, it is asked again though the state stays the same. Once it says no, it is not.
func TestExplanationsAreAskedForAgain(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager", "data")
	missing := &fakeCopy{state: "UNASSIGNED", info: "INDEX_CREATED", status: "awaiting_info"}
	c.locked(func() {
		c.shards["books/0"] = []*fakeCopy{{primary: true, state: "STARTED", node: "id-0"}, missing}
		c.shards["books/1"] = []*fakeCopy{{primary: true, state: "STARTED", node: "id-0"}, {state: "UNASSIGNED", info: "INDEX_CREATED", status: "no"}}
	})
	e := mustNew(t, testOptions(c.options(0)))
	verdict := func() engines.Verdict { return verdictOf(t, e) }
	later := func() { e.observer.cluster.explained = time.Now().Add(-explainAgain) }
	asked := func() int { return c.asked("POST " + pathExplain) }
	require.Equal(t, engines.VerdictYellow, verdict())
	c.mu.Lock()
	missing.status = "no" // the state is the same
	c.mu.Unlock()
	require.Equal(t, engines.VerdictYellow, verdict(), "it was asked a moment ago")
	later()
	require.Equal(t, engines.VerdictRecoverable, verdict())
	require.Equal(t, 4, asked())
	later()
	require.Equal(t, engines.VerdictRecoverable, verdict())
	require.Equal(t, 4, asked(), "nothing is undecided")
}

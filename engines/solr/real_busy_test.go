package solr

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
)

// TestRealBusy runs each long operation of the collections API while the node on which it works is paused: all the time
// the other members are busy, and afterwards they are not.
func TestRealBusy(t *testing.T) {
	t.Parallel() // each has a cluster of its own
	for _, version := range solrtest.Tried() {
		t.Run(version, func(t *testing.T) { busyWith(t, version) })
	}
}

func busyWith(t *testing.T, version string) {
	// The paused node stays live until the overseer has been looked at twice (keepOverseer, keepWorking): without a live
	// node Solr gives an operation up.
	c := solrtest.Start(t, solrtest.Options{Versions: []string{version, version, version}, SessionTimeout: time.Minute})
	var asked, works *solrtest.Node // neither is the overseer
	for _, n := range c.Nodes {
		switch {
		case n == overseerOf(t, c):
		case asked == nil:
			asked = n
		default:
			works = n
		}
	}
	for _, name := range []string{"books", "target"} {
		asked.Create(name, "numShards", "1", "nrtReplicas", "1", "createNodeSet", works.Name)
	}
	_, _, err := works.PostJSON("/solr/books/update?commit=true", `[{"id":"1"},{"id":"2"},{"id":"3"}]`)
	require.NoError(t, err)
	e := realEngine(t, asked)
	await(t, e, "at rest", func(o engines.Observation) bool { return whole(o) && o.Busy == "" })
	for _, operation := range []struct{ name, params string }{
		{"backup", "action=BACKUP&collection=books&name=saved&location=" + url.QueryEscape(c.Shared())},
		{"restore", "action=RESTORE&collection=again&name=saved&createNodeSet=" + works.Name + "&location=" + url.QueryEscape(c.Shared())},
		{"reindexing", "action=REINDEXCOLLECTION&name=books&target=reindexed&createNodeSet=" + works.Name},
		{"migration", "action=MIGRATE&collection=books&target.collection=target&split.key=a!&forward.timeout=5"},
		{"split", "action=SPLITSHARD&collection=books&shard=shard1"},
	} {
		t.Run(operation.name, func(t *testing.T) {
			if operation.name != "backup" && operation.name != "split" && os.Getenv(solrtest.EnvAll) == "" {
				t.Skip(solrtest.EnvAll + " is not set")
			}
			if operation.name == "reindexing" && strings.HasPrefix(version, "10.") {
				t.Skip("it uses streaming expressions, which the tests' Solr 10 has not")
			}
			resume := works.Pause()
			task := "async-" + operation.name
			ask(t, asked, operation.params+"&async="+task)
			o := await(t, e, "busy", func(o engines.Observation) bool { return o.Busy != "" })
			require.Equal(t, busyWords, o.Busy)
			require.Empty(t, o.Veto)
			resume()
			await(t, e, "over", func(o engines.Observation) bool { return o.Busy == "" })
			state, words, err := e.api.task(t.Context(), task)
			require.NoError(t, err)
			t.Logf("%s: %s", state, words)
			require.NotEqual(t, taskRunning, state)
		})
	}
	t.Run("the overseer is paused", func(t *testing.T) {
		resume := overseerOf(t, c).Pause()
		e := realEngine(t, asked)
		o := await(t, e, "not known", func(o engines.Observation) bool { return o.Veto != "" })
		require.Contains(t, o.Veto, "the overseer is unknown")
		time.Sleep(time.Second)
		resume()
		await(t, e, "known again", func(o engines.Observation) bool { return o.Veto == "" && o.Busy == "" })
	})
	t.Run("the overseer restarts", func(t *testing.T) {
		old := overseerOf(t, c)
		old.Stop()
		old.Start()
		old.AwaitUp()
		await(t, e, "known again", func(o engines.Observation) bool { return whole(o) && o.Veto == "" && o.Busy == "" })
		require.NotEqual(t, old, overseerOf(t, c))
	})
}

func ask(t *testing.T, n *solrtest.Node, params string) {
	values, err := url.ParseQuery(params + "&wt=json")
	require.NoError(t, err)
	body, status, err := n.Try(http.MethodGet, pathCollections, values)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "%s", body)
}

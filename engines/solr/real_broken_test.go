package solr

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/solr/solrtest"
)

// lockIndex keeps a core that is not open from being opened, as a process does that
// still has its index.
func lockIndex(t *testing.T, n *solrtest.Node, core string) (free func()) {
	file, err := os.OpenFile(filepath.Join(n.Dir(), core, "data", "index", "write.lock"), os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	require.NoError(t, syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}))
	return func() { file.Close() }
}

// TestRealBrokenReplica checks that a copy that was down before anybody was restarted holds up
// nobody but those on which its shard depends. A restart that does not cure it ends as well as one
// that does.
func TestRealBrokenReplica(t *testing.T) {
	c := solrtest.Start(t, solrtest.Options{Versions: []string{"9.10.1", "9.10.1", "9.10.1"}, SessionTimeout: 6 * time.Second})
	victim, other := c.Nodes[1], c.Nodes[0]
	other.Create("books", "numShards", "1", "nrtReplicas", "3")
	other.Create("pages", "numShards", "1", "nrtReplicas", "2", "createNodeSet", victim.Name+","+c.Nodes[2].Name)
	watcher, e := realEngine(t, other), realEngine(t, victim)
	await(t, watcher, "before", whole)
	core := ""
	for _, r := range other.State()["books"]["shard1"] {
		if r["node_name"] == victim.Name {
			core = r["core"].(string)
		}
	}
	books := func(o engines.Observation) (states []string) {
		for _, g := range o.Groups {
			if g.ID == "books/shard1" {
				for _, m := range g.Members {
					states = append(states, m.State.String())
				}
			}
		}
		slices.Sort(states)
		return states
	}
	broken := func(o engines.Observation) bool {
		return slices.Equal(books(o), []string{"Active", "Active", "Down"}) && stateOf(o, victim.Name) == engines.MembershipLive
	}

	victim.Stop()
	free := lockIndex(t, victim, core)
	victim.Start()
	await(t, watcher, "broken", broken)
	// Long enough for every copy that can recover.
	o := await(t, watcher, "the rest is well", func(o engines.Observation) bool {
		return broken(o) && o.Settled && !slices.ContainsFunc(o.Groups, func(g engines.Group) bool {
			return g.ID != "books/shard1" && slices.ContainsFunc(g.Members, func(m engines.Member) bool { return m.State != engines.MemberActive })
		})
	})
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
	require.Contains(t, o.Health.Reason, "down on a live node, which a restart may mend if it lasts: books/shard1/")
	body, status, err := victim.Try(http.MethodGet, pathHealth, map[string][]string{"requireHealthyCores": {"true"}, "wt": {"json"}})
	t.Logf("the node's own health: %d %s %v", status, body, err)

	own, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipLive, own.Member, own.Veto)
	require.False(t, own.Settled, "it may be about to recover")
	e.observer.quiet.since = time.Now().Add(-stillAfter)
	own, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.True(t, own.Settled, "it has had its time")

	// A restart that cures nothing leaves it as it was.
	undo, _ := prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: "first"})
	victim.Stop()
	victim.Start()
	await(t, watcher, "as before", func(o engines.Observation) bool { return broken(o) && o.Health.Verdict == engines.VerdictRecoverable })
	await(t, e, "live", func(o engines.Observation) bool { return o.Member == engines.MembershipLive && broken(o) })
	restoreAll(t, e, undo)

	free()
	undo, _ = prepare(t, e, engines.Order{Kind: engines.Handoff, Claim: "second"})
	victim.Stop()
	victim.Start()
	await(t, e, "cured", whole)
	restoreAll(t, e, undo)
	await(t, watcher, "whole", whole)
}

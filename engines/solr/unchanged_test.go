package solr

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// What is down is waited for as long as it may come back by itself, and no longer; a
// time that nobody has seen is no part of that.
func TestQuiet(t *testing.T) {
	start := time.Unix(0, 0)
	var q quiet
	at := time.Duration(0)
	look := func(after time.Duration, words ...string) bool {
		at += after
		return q.look(start.Add(at), words)
	}
	hold := func(d time.Duration, words ...string) (last bool) {
		for range int(d / time.Second) {
			last = look(time.Second, words...)
		}
		return last
	}
	require.False(t, look(0, "a Down"))
	require.False(t, hold(stillAfter-time.Second, "a Down"))
	require.True(t, look(time.Second, "a Down"))
	require.False(t, look(time.Second, "a Recovering"), "it gets better")
	require.False(t, hold(stillAfter-time.Second, "a Recovering"))
	require.True(t, look(time.Second, "a Recovering"))
	require.False(t, look(unseen+time.Second, "a Recovering"), "nobody has looked")
}

// A copy that is down for good makes its node unsettled for a while, and not for ever.
func TestBrokenCopyEndsToBeWaitedFor(t *testing.T) {
	c := newFakeCluster(t, 3)
	c.add("books", "shard1", "nnn", 0, 1, 2)
	c.mu.Lock()
	c.each(func(_, _, _ string, r *fakeReplica) {
		if r.node == c.nodes[1] {
			r.state = "down"
		}
	})
	c.mu.Unlock()
	e := mustNew(t, testOptions(c.options(1)))
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
	require.False(t, o.Settled, "it may have just started")
	e.observer.quiet.since = time.Now().Add(-stillAfter)
	o, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.True(t, o.Settled)

	c.fault(1, 1) // it is unavailable
	_, err = e.Observe(t.Context())
	require.NoError(t, err)
	c.fault(1, 0)
	o, err = e.Observe(t.Context())
	require.NoError(t, err)
	require.False(t, o.Settled, "what was before it went counts no more")
}

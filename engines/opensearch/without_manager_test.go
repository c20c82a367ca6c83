package opensearch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
)

// An election is no evidence that a node has left; to follow nobody for good is.
func TestElectionIsNoFailure(t *testing.T) {
	start := time.Unix(0, 0)
	at := time.Duration(0)
	var l withoutManager
	look := func(after time.Duration, alone bool) bool {
		at += after
		return l.look(start.Add(at), alone)
	}
	for range 60 {
		require.False(t, look(time.Second, true))
	}
	require.True(t, look(time.Second, true))
	require.False(t, look(time.Second, false), "elected")
	require.False(t, look(time.Second, true), "and another election")
	require.False(t, look(unseen+time.Second, true))
	require.False(t, look(electionTime, true), "nobody has looked meanwhile")

	c := newFakeCluster(t, 3, "cluster_manager", "data")
	e := mustNew(t, testOptions(c.options(1)))
	see := func() engines.Observation {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		return o
	}
	require.Equal(t, engines.MembershipLive, see().Member)
	c.locked(func() { c.elected = "" })
	o := see()
	require.Equal(t, engines.MembershipUnknown, o.Member)
	require.Contains(t, o.Health.Reason, "one may be elected right now")
	e.observer.alone.since = time.Now().Add(-electionTime)
	o = see()
	require.Equal(t, engines.MembershipNotLive, o.Member)
	require.Equal(t, "the node follows no elected cluster manager", o.Health.Reason)
	c.fault(1, enginetest.Failing)
	require.Equal(t, engines.MembershipUnknown, see().Member, "an error of the server says nothing")
	c.fault(1, 0)
	require.Equal(t, engines.MembershipUnknown, see().Member, "and what was before it counts no more")
}

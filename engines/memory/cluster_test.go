package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"
)

func observe(t *testing.T, c *memory.Cluster, node string) engines.Observation {
	o, err := c.Engine(node).Observe(t.Context())
	require.NoError(t, err)
	return o
}

func TestStopAndStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := memory.New(memory.Options{Recovery: time.Minute}, "a", "b", "c")
		c.AddGroup("books/shard1", "a", "b")
		c.AddGroup("lonely/shard1", "a")
		require.Equal(t, engines.VerdictGreen, observe(t, c, "b").Health.Verdict)

		c.Stop("a")
		require.Equal(t, "b", c.Leader("books/shard1"))
		require.Empty(t, c.Leader("lonely/shard1"))
		o := observe(t, c, "b")
		require.Equal(t, engines.Health{Verdict: engines.VerdictRed, Reason: "no active copy of lonely/shard1"}, o.Health)
		require.Equal(t, engines.MembershipNotLive, observe(t, c, "a").Member)

		c.Start("a")
		o = observe(t, c, "a")
		require.Equal(t, engines.MembershipLive, o.Member)
		require.False(t, o.Settled, "recovering")
		time.Sleep(59 * time.Second)
		require.False(t, observe(t, c, "a").Settled)
		time.Sleep(time.Second)
		o = observe(t, c, "a")
		require.True(t, o.Settled)
		require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
		require.Equal(t, "b", c.Leader("books/shard1"), "leadership does not come back by itself")
		require.Equal(t, "a", c.Leader("lonely/shard1"))
	})
}

func TestWhatTestsCanSet(t *testing.T) {
	c := memory.New(memory.Options{}, "a")
	c.AddNode("b")
	c.AddGroup("g", "a", "b")
	c.SetVersion("a", "2.0.0")
	c.SetRoles("a", true, "overseer")
	c.SetBusy("a", "backup", "not now")
	c.SetDataBytes("a", 7)
	c.SetMember("g", "b", engines.MemberMoving)
	c.Garble(func(node string, o *engines.Observation) { o.Rank = len(node) })
	o := observe(t, c, "a")
	require.Equal(t, "2.0.0 overseer true backup not now", o.Version+" "+o.Roles[0]+map[bool]string{true: " true "}[o.Last]+o.Busy+" "+o.Veto)
	require.EqualValues(t, 7, o.DataBytes)
	require.Equal(t, 1, o.Rank)
	require.True(t, o.Groups[0].Moving)
	c.SetMembership("a", engines.MembershipUnknown)
	require.Equal(t, engines.MembershipUnknown, observe(t, c, "a").Member)
	require.Panics(t, func() { c.Engine("nobody") })
	require.Panics(t, func() { c.AddGroup("g", "a") })
}

func TestHooksSeeCallsAndWrites(t *testing.T) {
	c := memory.New(memory.Options{}, "a", "b")
	c.AddGroup("g", "a", "b")
	e := c.Engine("a")
	order := engines.Order{Kind: engines.Handoff, Claim: "claim"}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	c.Intercept(func(_ context.Context, call memory.Call) error {
		if call.Op == memory.Write {
			return errors.New("disk is full")
		}
		return nil
	})
	_, err = e.Drain(t.Context(), order, undo)
	require.EqualError(t, err, "disk is full")
	require.Equal(t, "a", c.Leader("g"))
	c.Intercept(nil)
	p, err := e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Equal(t, []string{"claim a g"}, c.Marks())
	require.Equal(t, []memory.Call{
		{Node: "a", Op: memory.PlanDrain, Order: order}, {Node: "a", Op: memory.Drain, Order: order}, {Node: "a", Op: memory.Drain, Order: order},
	}, c.Calls())
}

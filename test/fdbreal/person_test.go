package fdbreal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAPersonsMaintenance holds all pods of other zones, says so, and is there afterwards.
func TestAPersonsMaintenance(t *testing.T) {
	c := Start(t, Options{})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	c.Admin.must(t, "maintenance on zone-b 600")
	time.Sleep(2 * time.Second)
	o := NewRollout(t.Context(), r)
	err := o.Run(time.Minute)
	require.Error(t, err, "it is done under a person's maintenance")
	said := err.Error()
	for held := range o.Held {
		said += "\n" + held
	}
	for _, g := range o.Went {
		require.Equal(t, "zone-b", g.Zone, "%v", o.Went)
	}
	require.Contains(t, strings.ToLower(said), "maintenance", said)
	require.Contains(t, c.Admin.must(t, "maintenance"), "zone-b", "it is not Rollcall's to end")
	c.Admin.must(t, "maintenance off")
}

// TestAPersonsExclusion is said, and left alone.
func TestAPersonsExclusion(t *testing.T) {
	c := Start(t, Options{})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	c.Admin.must(t, "exclude 127.0.0.1:1 locality_instance_id:fdb-2")
	had := c.excluded(t)
	asked := r.AskUntil(30*time.Second, nil, zones...)
	t.Log(asked)
	require.ElementsMatch(t, had, c.excluded(t))
	said := asked.Words
	for _, a := range r.agents {
		o, _ := a.last()
		said += o.Veto + o.Busy + o.Health.Reason
		if a.pod.Name == "fdb-2" {
			require.Contains(t, o.Veto+o.Busy+o.Health.Reason, "excluded by somebody", "its own report says it: %+v", o)
			require.False(t, o.Excluded, "that would end with the pod")
		}
	}
	o := NewRollout(t.Context(), r)
	err := o.Run(time.Minute)
	for held := range o.Held {
		said += "\n" + held
	}
	t.Log(len(o.Went), "went;", err)
	require.ElementsMatch(t, had, c.excluded(t), "it is not Rollcall's to end")
	for _, g := range o.Went {
		require.Empty(t, g.Away)
	}
	require.Contains(t, strings.ToLower(said), "exclu", said)
}

// TestAPersonsLock holds all pods, is said, and stays.
func TestAPersonsLock(t *testing.T) {
	c := Start(t, Options{})
	r := NewRollcall(t, c)
	r.RequireAnybody(6 * time.Minute)
	said := c.Admin.must(t, "lock")
	t.Log(said)
	held := r.RequireNobody(30 * time.Second)
	require.Contains(t, strings.ToLower(held), "lock", held)
	a := c.Admin.run(t.Context(), 10*time.Second, "writemode on", "set a b")
	require.Contains(t, a.stdout+a.stderr, "lock", "it is locked as before: %s", a)
}

package foundationdb

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

// A process that a document does not list is not live only where the document can be
// relied on to list all.
func TestMissingFromOneStatus(t *testing.T) {
	recovery := func(name string, generations int, ago float64) func(document) {
		return func(d document) {
			r := d.at("cluster.recovery_state")
			r["name"], r["active_generations"], r["seconds_since_last_recovered"] = name, generations, ago
		}
	}
	says := func(name string) func(document) {
		return func(d document) { d.at("cluster")["messages"] = []any{map[string]any{"name": name}} }
	}
	for name, c := range map[string]struct {
		change func(document)
		want   engines.Membership
		why    string
	}{
		"a document at rest":            {func(document) {}, engines.MembershipNotLive, ""},
		"recovering":                    {recovery("recruiting_transaction_servers", 2, 0), engines.MembershipUnknown, "a recovery is under way"},
		"accepting, logs of before":     {recovery("all_logs_recruited", 3, 4), engines.MembershipUnknown, "recovered 4 s ago"},
		"accepting for a while already": {recovery("all_logs_recruited", 3, 40), engines.MembershipNotLive, ""},
		"recovered a moment ago":        {recovery("fully_recovered", 1, 3), engines.MembershipUnknown, "recovered 3 s ago"},
		"recovered, and all have come":  {recovery("fully_recovered", 1, 30), engines.MembershipNotLive, ""},
		"how far is not said":           {func(d document) { delete(d.at("cluster.recovery_state"), "name") }, engines.MembershipUnknown, "does not say how far"},
		"some could not be asked":       {says("status_incomplete"), engines.MembershipUnknown, "status_incomplete"},
		"some do not answer":            {says("unreachable_processes"), engines.MembershipUnknown, "unreachable_processes"},
		"the database is down":          {func(d document) { d.at("client.database_status")["available"] = false }, engines.MembershipUnknown, ""},
		"available, nobody says":        {func(d document) { delete(d.at("client.database_status"), "available") }, engines.MembershipUnknown, ""},
		"another message, as of a disk": {says("low_space"), engines.MembershipNotLive, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := healthy(t)
			c.change(d)
			there := see(t, d.text(), time.Time{})
			delete(d.at("cluster.processes"), "a0")
			o := see(t, d.text(), time.Time{})
			require.Equal(t, c.want, o.Member, o.Veto)
			require.Contains(t, o.Veto, c.why)
			require.False(t, o.Settled)
			if d.at("client.database_status")["available"] == true {
				require.Equal(t, engines.MembershipLive, there.Member, "who is listed is there")
			}
		})
	}
}

// What is on the exclusion list stays there until the database has been available again for
// Options.Recovered, also what a claim that is gone left behind.
func TestNothingIsIncludedDuringARecovery(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	pod := s.pods[4]
	e := s.engine(pod)
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	undo := plan(t, e, order)
	for range 40 {
		if apply(t, e, order, undo); len(s.Model().Excluded) > 0 {
			break
		}
		s.Advance(5 * time.Second)
	}
	s.Settle()
	excluded := s.Model().Excluded
	require.Contains(t, excluded, "locality_instance_id:"+pod)

	s.Scale(-1)
	log := ""
	for _, g := range s.Model().Generations {
		log = g.Logs[0].Process
	}
	require.NotEqual(t, pod, log)
	s.Kill(log)
	for range 1000 {
		if m := s.Model(); m.Accepting() && m.Recovery.Phase != model.FullyRecovered {
			break
		}
		s.Advance(100 * time.Millisecond)
	}
	require.NotEqual(t, model.FullyRecovered, s.Model().Recovery.Phase)
	e.options.Recovered = 10 * time.Second
	p, err := e.Restore(t.Context(), undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	require.Contains(t, p.Detail, "s ago, must be at least 10 s")
	require.ErrorIs(t, e.Sweep(t.Context(), nil), ErrRecovering)
	require.Equal(t, excluded, s.Model().Excluded)
	other := engines.Order{Kind: engines.Handoff, Claim: "h"}
	p, err = e.Restore(t.Context(), plan(t, e, other))
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State, "a handoff has put nothing there")

	s.Scale(20)
	s.Settle()
	s.Advance(10 * time.Second)
	for range 3 {
		if p, err = e.Restore(t.Context(), undo); p.State == engines.ProgressDone {
			break
		}
	}
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State, p.Detail)
	require.Empty(t, s.Model().Excluded)
}

// TestOldLogsHoldNoInclude checks that old logs, which are kept for as long as a storage server is
// away, hold nothing on the exclusion list, and that an earlier phase does.
func TestOldLogsHoldNoInclude(t *testing.T) {
	for phase, goes := range map[string]bool{"all_logs_recruited": true, "storage_recovered": true, "recruiting_transaction_servers": false} {
		d := healthy(t)
		r := d.at("cluster.recovery_state")
		r["name"], r["active_generations"], r["seconds_since_last_recovered"] = phase, 3, 40
		d.at("cluster.configuration")["excluded_servers"] = []any{map[string]any{"locality": "locality_instance_id:fdb-2"}, map[string]any{"locality": "locality_rollcall:c/fdb-2"}}
		e, calls := telling(t, d.text(), Options{Instance: "fdb-2"})
		e.options.Recovered = 10 * time.Second
		err := e.Sweep(t.Context(), nil)
		p, again := e.Restore(t.Context(), plan(t, e, engines.Order{Kind: engines.Evacuate, Claim: "c"}))
		require.NoError(t, again)
		if !goes {
			require.ErrorIs(t, err, ErrRecovering)
			require.Contains(t, p.Detail, "a recovery is under way: "+phase)
			require.Empty(t, calls())
			continue
		}
		require.NoError(t, err)
		require.Len(t, calls(), 2, phase)
		require.Contains(t, calls()[0], "include ")
	}
}

// Somebody who works in a zone takes its processes down, so nothing is moved meanwhile:
// not off that zone, nor off another.
func TestNothingIsExcludedDuringMaintenance(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: 20})
	s.Settle()
	s.Change(func(m *model.Cluster) { m.Maintain("zone-a", 100*time.Hour) })
	order := engines.Order{Kind: engines.Evacuate, Claim: "move"}
	for _, pod := range []string{s.pods[0], s.pods[4]} {
		e := s.engine(pod)
		p := apply(t, e, order, plan(t, e, order))
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "zone zone-a is under maintenance for 3")
		require.Contains(t, p.Detail, "s more")
		require.Contains(t, p.Detail, "maintenance off")
		require.Empty(t, s.Model().Excluded)
	}
	for _, call := range s.Calls() {
		require.False(t, strings.HasPrefix(call, "exclude") || strings.HasPrefix(call, "coordinators "), "not even its seat: %s", call)
	}
	s.Change(func(m *model.Cluster) { m.EndMaintenance() })
	s.Settle()
	pod := s.pods[4]
	e := s.engine(pod)
	finish(t, s, e, order, plan(t, e, order))
	require.Contains(t, s.Model().Excluded, "locality_instance_id:"+pod)
}

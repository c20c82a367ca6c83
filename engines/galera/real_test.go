package galera

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql/grants"
)

// TestRealRollingRestart restarts one member after the other as a drain allows, while a client
// writes to all of them. No acknowledged write is lost on any member, and the component is never
// smaller than two.
func TestRealRollingRestart(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 3})
	w.Table()
	client := w.write()
	for i, s := range w.Members {
		require.Eventually(t, func() bool { return w.drain(i).State == engines.ProgressDone }, time.Minute, 50*time.Millisecond)
		s.Stop()
		for j := range w.Members {
			if j == i {
				require.Equal(t, engines.MembershipNotLive, w.observe(j).Member)
				continue
			}
			o := w.says(j, engines.VerdictRecoverable, "not in the primary component: "+s.Name)
			have, least := available(o, componentGroup)
			require.Equal(t, [2]int{2, 2}, [2]int{have, least})
			w.held(j, "1 of 3 votes would be left")
		}
		s.Start()
		for j := range w.Members {
			w.green(j)
		}
	}
	client.complete(w)
}

// TestRealMemberKilled checks that a member that is gone counts as missing while the others still
// see it, and that one that was paused does not speak for the component.
func TestRealMemberKilled(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 3})
	w.Table()
	client := w.write()
	last := w.Members[2]
	last.Kill()
	o := w.observe(0) // at once, whether the others have noticed it or not
	have, least := available(o, componentGroup)
	require.Equal(t, [2]int{2, 2}, [2]int{have, least}, "%+v", o)
	require.NotEqual(t, engines.VerdictGreen, o.Health.Verdict)
	require.Equal(t, engines.ProgressRunning, w.drain(0).State)
	w.says(0, engines.VerdictRecoverable, "not in the primary component: db-2")
	w.held(1, "1 of 3 votes would be left")
	last.Start()
	for i := range w.Members {
		w.green(i)
	}

	resume := last.Pause()
	o = w.observe(0)
	require.NotEqual(t, engines.VerdictGreen, o.Health.Verdict, "its agent has no answer")
	require.Equal(t, engines.ProgressRunning, w.drain(0).State)
	w.says(0, engines.VerdictRecoverable, "not in the primary component: db-2")
	resume()
	for began := time.Now(); time.Since(began) < time.Second; {
		o = w.observe(2)
		have, _ = available(o, componentGroup)
		require.False(t, o.Health.Verdict == engines.VerdictGreen && have == 3 && last.Wsrep("wsrep_evs_state") != "OPERATIONAL", "it still has its old view: %+v", o)
	}
	for i := range w.Members {
		w.green(i)
	}
	client.complete(w)
}

// TestRealDonor checks that neither the donor of a full state transfer nor the third member goes.
func TestRealDonor(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 3, Settings: map[string]string{"wsrep_sst_donor": "db-1,"}})
	w.Members[2].Stop()
	w.Members[2].ForgetState()
	w.HoldTransfers(true)
	w.Members[2].Start()
	o := w.until(1, "donor", func(o engines.Observation) bool { return o.Busy != "" })
	require.Equal(t, "sends all of its data to db-2 (Donor/Desynced)", o.Busy)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	require.False(t, o.Settled)
	w.held(1, "db-1 is Donor/Desynced")
	w.held(0, "1 of 3 votes would be left")
	o = w.says(0, engines.VerdictYellow, "db-2 has left, or receives a full state transfer")
	active, _ := available(o, dataGroup)
	require.Equal(t, 1, active, "only db-0 serves and keeps up")
	require.Equal(t, engines.MembershipNotLive, w.observe(2).Member)
	w.HoldTransfers(false)
	for i := range w.Members {
		w.green(i)
	}
	// A long transaction is waited for, for a while.
	w.Table()
	tx, err := w.Members[0].Open(mysqltest.AppUser, mysqltest.AppPassword, "app").Begin()
	require.NoError(t, err)
	_, err = tx.Exec("INSERT INTO numbers VALUES (1)")
	require.NoError(t, err)
	time.Sleep(1200 * time.Millisecond)
	order := engines.Order{Kind: engines.Handoff, Claim: "long"}
	undo, err := w.engines[0].PlanDrain(t.Context(), order)
	require.NoError(t, err)
	p, err := w.engines[0].Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Contains(t, p.Detail, "a transaction with changes has been open for")
	require.Eventually(t, func() bool {
		p, err = w.engines[0].Drain(t.Context(), order, undo)
		return err == nil && p.State == engines.ProgressDone
	}, 10*time.Second, 100*time.Millisecond)
	require.NoError(t, tx.Rollback())
}

// TestRealPartition checks what is said while one member of three is cut off, then all, and then
// all are stopped.
func TestRealPartition(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 3})
	w.Members[2].Isolate(true)
	w.until(2, "cut off", func(o engines.Observation) bool { return w.Members[2].Wsrep("wsrep_cluster_status") == "non-Primary" })
	o := w.observe(2)
	require.Equal(t, engines.MembershipUnknown, o.Member, "%+v", o)
	require.False(t, o.Settled)
	require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
	active, _ := available(o, componentGroup)
	require.Zero(t, active, "it knows nothing of the others")
	w.held(2, "db-2 is in no primary component")
	for i := range 2 {
		w.says(i, engines.VerdictRecoverable, "not in the primary component: db-2")
		w.held(i, "1 of 3 votes would be left")
	}
	w.Members[0].Isolate(true)
	w.Members[1].Isolate(true)
	for i := range w.Members {
		o = w.says(i, engines.VerdictRed, "no member is in a primary component; of those that answer, ")
		require.Contains(t, o.Health.Reason, "has the highest sequence number, ")
		require.Equal(t, engines.MembershipUnknown, o.Member)
	}
	for _, s := range w.Members {
		s.Kill()
	}
	for i := range w.Members {
		o = w.says(i, engines.VerdictRed, "no member is in a primary component; the server does not run on db-")
		require.Contains(t, o.Health.Reason, "compare seqno and safe_to_bootstrap in grastate.dat, or what --wsrep-recover prints")
		require.Equal(t, engines.MembershipNotLive, o.Member)
	}
	w.Bootstrapped(0)
	for i := range w.Members {
		w.green(i)
	}
}

// TestRealArbitrator checks that two members and an arbitrator can be restarted one by one, and
// that nothing goes without the arbitrator.
func TestRealArbitrator(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 2})
	w.held(0, "without db-0 1 of 2 votes would be left")
	arbitrator := w.StartArbitrator("arb")
	w.AwaitSynced(arbitrator)
	o := w.until(0, "the arbitrator", func(o engines.Observation) bool { return o.Settled && o.Health.Verdict == engines.VerdictGreen })
	have, least := available(o, componentGroup)
	require.Equal(t, [2]int{3, 2}, [2]int{have, least})
	copies, _ := available(o, dataGroup)
	require.Equal(t, 2, copies, "an arbitrator has none")
	for i, s := range w.Members {
		require.Eventually(t, func() bool { return w.drain(i).State == engines.ProgressDone }, time.Minute, 50*time.Millisecond)
		s.Stop()
		w.says(1-i, engines.VerdictRecoverable, "not in the primary component: "+s.Name)
		w.held(1-i, "votes would be left")
		s.Start()
		w.green(0)
		w.green(1)
	}
	arbitrator.Kill()
	w.until(0, "no arbitrator", func(o engines.Observation) bool {
		have, _ := available(o, componentGroup)
		return o.Settled && have == 2
	})
	w.held(0, "without db-0 1 of 3 votes would be left") // the arbitrator is missed
}

// TestRealGrants checks that the grants suffice, and that a missing one is named.
func TestRealGrants(t *testing.T) {
	w := newRealWorld(t, mysqltest.GaleraOptions{Members: 1})
	account := " TO '" + mysqltest.AgentUser + "'@'127.0.0.1'"
	w.Members[0].Exec("REVOKE ALL PRIVILEGES, GRANT OPTION FROM" + account[3:])
	e, err := New(realOptions(w.Members[0], nil))
	require.NoError(t, err)
	defer e.Close()
	list := grants.For(Name, engines.Galera.String())
	require.Len(t, list, 2)
	for i, says := range []string{"needs SELECT on mysql.wsrep_cluster_members; needs PROCESS", "needs SELECT on mysql.wsrep_cluster_members"} {
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, "the server does not tell all: "+says, o.Health.Reason)
		w.Members[0].Exec("GRANT " + list[i].String() + account)
	}
	require.True(t, e.local(t.Context()).Serving, "a grant counts at once")
}

// TestRealOtherServers: servers that are no members of Galera are refused with the engine to set.
func TestRealOtherServers(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		e, err := New(realOptions(mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1})[0], nil))
		require.NoError(t, err)
		defer e.Close()
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.Health{Reason: noMember}, o.Health)
		require.Empty(t, o.Groups)
		_, err = e.PlanDrain(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c", NotAfter: time.Now().Add(time.Minute)})
		require.ErrorContains(t, err, noMember)
	})
}

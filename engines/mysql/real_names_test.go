package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// nowhere is what follows names that do not resolve, by the standard.
const nowhere = ".nowhere.invalid"

// refused has the primary try to hand over for a while: it says why it does not, and nothing has
// changed at any server.
func (m *realMembers) refused(claim, words string) {
	m.t.Helper()
	before := []string{source(m.servers[0]), source(m.servers[1]), source(m.servers[2])}
	order := engines.Order{Kind: engines.Handoff, Claim: claim, NotAfter: time.Now().Add(time.Minute)}
	undo, err := m.engines[0].PlanDrain(m.t.Context(), order)
	require.NoError(m.t, err)
	for range 5 {
		p, err := m.engines[0].Drain(m.t.Context(), order, undo)
		require.NoError(m.t, err)
		require.NotEqual(m.t, engines.ProgressDone, p.State)
		require.Contains(m.t, p.Detail, words)
		require.Equal(m.t, []int{0}, m.writable())
		time.Sleep(100 * time.Millisecond)
	}
	m.until(0, func(e *Engine) (engines.Progress, error) { return e.Restore(m.t.Context(), undo) })
	m.repair()
	require.Equal(m.t, before, []string{source(m.servers[0]), source(m.servers[1]), source(m.servers[2])})
	require.Equal(m.t, []int{0}, m.writable())
}

// TestRealNamesThatDoNotResolve checks that no replica is given a source by a name that does not
// resolve: the primary keeps its role while nobody could be told where the next one is.
func TestRealNamesThatDoNotResolve(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3})
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		name := func(i int, host string) {
			servers[i].Settings["report_host"] = host
			servers[i].Restart()
			servers[i].AwaitFollowing()
		}
		name(1, "sql-1"+nowhere)
		name(2, "sql-2"+nowhere)
		m := membersAt(t, servers)
		o := m.await(0, "said", func(o engines.Observation) bool { return o.Veto != "" })
		t.Log(o.Veto)
		require.Contains(t, o.Veto, "does not resolve")
		m.refused("whole", "the name by which "+m.name(1)+" is followed does not resolve, so that nobody can be told to follow it")

		// A bare name of which nobody tells what follows it.
		if flavor == mysqltest.MariaDB || everything() { // MySQL starts slowly
			name(1, "sql-1")
			name(2, "sql-2")
			m = membersAt(t, servers)
			m.await(0, "said", func(o engines.Observation) bool { return o.Veto != "" })
			m.refused("bare", "nobody tells what follows sql-1 in the DNS")
		}

		// One that resolves is enough.
		name(2, "127.0.0.1")
		m = membersAt(t, servers)
		m.await(0, "green", green)
		m.prepare(0, "one")
		m.repair()
		require.Equal(t, []int{2}, m.writable())
		for i := range 2 {
			servers[i].AwaitFollowing()
			require.Equal(t, servers[2].Address(), source(servers[i]))
		}
	})
}

// TestRealSourceThatDoesNotResolve checks a replica that somebody gave such a name: it is named, it
// counts as no copy, the others go on, and the right name mends it with nothing lost.
func TestRealSourceThatDoesNotResolve(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		app := mysqltest.Table(t, m.servers[0])
		require.NoError(t, mysqltest.Insert(app, 1))
		m.await(0, "green", green)
		lost := m.servers[2]
		changeSource(lost, "HOST", "'sql-0"+nowhere+"'")
		require.NoError(t, mysqltest.Insert(app, 2))
		o := m.await(1, "said", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
		t.Log(o.Health.Reason)
		require.Contains(t, o.Health.Reason, "broken: "+lost.Address())
		require.Contains(t, o.Health.Reason, "sql-0"+nowhere)
		require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "data")[lost.Address()])
		require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "acks")[lost.Address()])
		m.repair()
		require.Contains(t, source(lost), nowhere, "who gave it the name may have meant it")

		m.prepare(1, "claim-1")
		changeSource(lost, "HOST", "'127.0.0.1'")
		lost.AwaitFollowing()
		lost.AwaitExecuted(m.servers[0])
		require.Equal(t, "3", lost.Value("SELECT SUM(n) FROM app.numbers"))
		m.await(1, "green again", green)
		require.Equal(t, []int{0}, m.writable())
	})
}

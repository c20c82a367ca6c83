package mysql

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/sql/grants"
)

const agentAccount = "'" + mysqltest.AgentUser + "'@'127.0.0.1'"

// grant gives the agents' account these privileges but one, and no others, on all servers.
func grant(t *testing.T, servers []*mysqltest.Server, primary int, list []grants.Grant, but string) {
	t.Helper()
	statements := []string{"REVOKE ALL PRIVILEGES, GRANT OPTION FROM " + agentAccount}
	for _, g := range list {
		if left := slices.DeleteFunc(slices.Clone(g.Privileges), func(p string) bool { return p == but }); len(left) > 0 {
			statements = append(statements, "GRANT "+grants.Grant{Privileges: left, On: g.On}.String()+" TO "+agentAccount)
		}
	}
	servers[primary].Exec(statements...)
	const has = "SHOW GRANTS FOR " + agentAccount
	for _, s := range servers {
		mysqltest.Eventually(t, func() bool { return slices.Equal(all(s.Rows(has)), all(servers[primary].Rows(has))) })
	}
}

// all values of rows, in order.
func all(rows []map[string]string) (out []string) {
	for _, r := range rows {
		for _, v := range r {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// eachMissing takes each of the privileges away once, and checks that the agents of members, which know
// nothing yet, name it. It returns those without which agents still see all that they need.
func (m *realMembers) eachMissing(primary int, list []grants.Grant) (act []string) {
	m.t.Helper()
	for _, g := range list {
		for _, p := range g.Privileges {
			grant(m.t, m.servers, primary, list, p)
			for i := range m.servers {
				m.agent(i)
			}
			before := m.writable()
			o := m.observe(primary)
			if o.Health.Verdict == engines.VerdictUnknown {
				require.Contains(m.t, o.Health.Reason, "needs "+p)
				// While a commit waits for an acknowledgement, MariaDB is not asked where its logs begin.
				m.await(primary, "without "+p, func(o engines.Observation) bool { return len(o.Groups) == 0 })
				continue
			}
			require.Contains(m.t, o.Veto, "needs "+p)
			order := engines.Order{Kind: engines.Handoff, Claim: "without-" + strings.ReplaceAll(p, " ", "-"), NotAfter: time.Now().Add(time.Minute)}
			undo, err := m.engines[primary].PlanDrain(m.t.Context(), order)
			require.NoError(m.t, err)
			progress, err := m.engines[primary].Drain(m.t.Context(), order, undo)
			require.NoError(m.t, err)
			require.Equal(m.t, engines.ProgressRunning, progress.State)
			require.Contains(m.t, progress.Detail, "needs "+p)
			require.Equal(m.t, before, m.writable(), "nothing was begun")
			require.Zero(m.t, m.engines[primary].newestLook().Switch)
			act = append(act, p)
		}
	}
	grant(m.t, m.servers, primary, list, "")
	for i := range m.servers {
		m.agent(i)
	}
	return act
}

// TestRealGrantsSwitchable checks that the documented grants suffice for switchovers, and that each that
// is missing is named before writes are stopped.
func TestRealGrantsSwitchable(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		c := m.write()
		c.more(t)
		list := grants.For(string(flavor), engines.Switchable.String())
		require.Len(t, m.eachMissing(0, list), 4)
		for _, claim := range []string{"there", "and-back"} {
			primary := m.writable()[0]
			m.await(primary, "green", green)
			m.prepare(primary, claim)
			m.repair()
			require.Len(t, m.writable(), 1)
			require.NotEqual(t, primary, m.writable()[0])
		}
		c.more(t)
		c.check(t, m.servers[m.writable()[0]])
	})
}

// TestRealGrantsInPlace checks that agents need only see where the primary restarts in place, and what
// else they need where they must open it, or start replication.
func TestRealGrantsInPlace(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := chart(t, flavor)
		list := grants.For(string(flavor), engines.FixedPrimary.String())
		require.Equal(t, list, grants.For(string(flavor), engines.SingleServer.String()))
		require.Empty(t, m.eachMissing(0, list))
		o := m.await(0, "green", green)
		require.Equal(t, engines.FixedPrimary, o.Topology)
		order := engines.Order{Kind: engines.Handoff, Claim: "c", Primary: engines.RestartInPlace}
		undo, err := m.engines[0].PlanDrain(t.Context(), order)
		require.NoError(t, err)
		m.apply(undo, order)

		m.primary = engines.RestartInPlace // as it cannot be seen while all are read-only
		repairs := grants.Repairs(string(flavor))
		needs := func(i int, privilege string) {
			t.Helper()
			repair := func() engines.Progress {
				m.observe(i)
				p, err := m.engines[i].Repair(t.Context())
				require.NoError(t, err)
				return p
			}
			m.servers[i].Restart()
			m.agent(i) // as the pod's new one
			var p engines.Progress
			require.Eventually(t, func() bool { p = repair(); return strings.Contains(p.Detail, "needs "+privilege) }, time.Minute, 100*time.Millisecond, "%v", &p)
			m.servers[i].Exec("SET SESSION sql_log_bin = 0", "GRANT "+privilege+" ON *.* TO "+agentAccount)
			mysqltest.Eventually(t, func() bool { return repair().State == engines.ProgressDone })
		}
		m.servers[0].Settings["read_only"] = "ON"
		needs(0, repairs[0])
		require.Equal(t, 0, m.writable()[0])
		if flavor == mysqltest.MariaDB { // whose replica has forgotten which server was behind an address
			return
		}
		m.servers[1].Settings["skip_slave_start"] = "ON"
		needs(1, repairs[1])
		m.servers[1].AwaitFollowing()
	})
}

package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// change of what a replica follows, in the words of the flavor; what is not named stays.
func changeSource(s *mysqltest.Server, name, value string) {
	statement := "CHANGE REPLICATION SOURCE TO SOURCE_"
	if s.Flavor == mysqltest.MariaDB {
		statement = "CHANGE MASTER TO MASTER_"
	}
	s.Exec("STOP REPLICA", statement+name+" = "+value, "START REPLICA")
}

// source is where a replica is told to go.
func source(s *mysqltest.Server) string {
	for _, r := range s.Rows("SHOW REPLICA STATUS") {
		return r["Source_Host"] + r["Master_Host"] + ":" + r["Source_Port"] + r["Master_Port"]
	}
	return ""
}

// observe has all agents look, as they do all the time, and returns what one concludes.
func (m *realMembers) observe(i int) engines.Observation {
	m.t.Helper()
	for j, e := range m.engines {
		if j != i {
			_, err := e.Observe(m.t.Context())
			require.NoError(m.t, err)
		}
	}
	o, err := m.engines[i].Observe(m.t.Context())
	require.NoError(m.t, err)
	return o
}

// await looks until it is so.
func (m *realMembers) await(i int, what string, is func(o engines.Observation) bool) engines.Observation {
	m.t.Helper()
	var o engines.Observation
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if o = m.observe(i); is(o) {
			return o
		}
	}
	require.FailNow(m.t, "never "+what, "%+v", o)
	return o
}

func green(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictGreen && o.Settled }

// prepare carries out an order of the member's agent until it is done.
func (m *realMembers) prepare(i int, claim string) engines.Progress {
	m.t.Helper()
	order := engines.Order{Kind: engines.Handoff, Claim: claim, NotAfter: time.Now().Add(time.Minute)}
	undo, err := m.engines[i].PlanDrain(m.t.Context(), order)
	require.NoError(m.t, err)
	return m.until(i, func(e *Engine) (engines.Progress, error) { return e.Drain(m.t.Context(), order, undo) })
}

// TestRealReplicasOfAService checks that the replicas reach the primary by a name that belongs to
// no member, as a Service's does. Draining one of them changes nothing; the primary hands over all
// the same, and those who must be moved get a name that is a member's. One that cannot reach its
// source is not healthy.
func TestRealReplicasOfAService(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, SemiSync: true, Settings: map[string]string{"bind_address": "0.0.0.0"}})
		service := fmt.Sprintf("127.0.0.2:%d", servers[0].Port)
		for _, s := range servers[1:] {
			changeSource(s, "HOST", "'127.0.0.2'")
			s.AwaitFollowing()
			require.Equal(t, service, source(s))
		}
		m := membersAt(t, servers)
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		for i := range servers {
			o := m.await(i, "green", green)
			require.Empty(t, o.Veto)
			require.Len(t, o.Nodes, 3, "the name is nobody's")
		}
		for i := 1; i <= 2; i++ {
			require.Equal(t, m.servers[i].Address()+" is a replica", m.prepare(i, fmt.Sprintf("claim-%d", i)).Detail)
			m.repair()
			for _, s := range servers[1:] {
				require.Equal(t, service, source(s), s.Name)
			}
		}
		m.await(1, "green", green)

		m.prepare(0, "claim-0")
		m.repair()
		to := 1
		if source(servers[1]) != "" {
			to = 2
		}
		for i, s := range servers {
			if i != to {
				s.AwaitFollowing()
				require.Equal(t, servers[to].Address(), source(s), "no name of a Service follows the role")
			}
		}
		m.await(0, "green", green)

		changeSource(servers[0], "HOST", "'127.0.0.2'")
		changeSource(servers[0], "PORT", "1")
		for range 20 {
			require.NotEqual(t, engines.VerdictGreen, m.observe(to).Health.Verdict)
			time.Sleep(50 * time.Millisecond)
		}
		o := m.await(to, "said why", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
		require.Contains(t, o.Health.Reason, "broken: "+servers[0].Address())
		require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "data")[servers[0].Address()])
		require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "acks")[servers[0].Address()])
		m.repair()
		require.Equal(t, "127.0.0.2:1", source(servers[0]), "who follows somebody outside is left")
	})
}

// TestRealChain checks that a replica of a replica stays one, while the one before it is
// unavailable, too.
func TestRealChain(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3})
		servers[2].Follow(servers[1])
		servers[2].AwaitFollowing()
		m := membersAt(t, servers)
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		o := m.await(2, "green", green)
		for _, c := range enginetest.Group(t, o, "primary").Members {
			require.Equal(t, c.Node != servers[2].Address(), c.Eligible, c.Node)
		}
		m.prepare(2, "claim-2")
		m.prepare(1, "claim-1")
		m.repair()
		require.Equal(t, servers[1].Address(), source(servers[2]))

		servers[1].Kill()
		m.wire.Connect(map[string]engines.Peered{servers[1].Address(): nil})
		for range 20 {
			for _, i := range []int{0, 2} {
				m.wire.Alone(servers[i].Address(), func() { _, _ = m.engines[i].Repair(t.Context()) })
			}
			require.Equal(t, servers[1].Address(), source(servers[2]), "it waits")
			time.Sleep(100 * time.Millisecond)
		}
		servers[1].Restart()
		m.agent(1)
		m.repair()
		servers[2].AwaitFollowing()
		m.await(2, "green", green)
		require.Equal(t, servers[1].Address(), source(servers[2]))
	})
}

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

// semiSyncNames are what the halves are called.
func semiSyncNames(f mysqltest.Flavor) (source, replica string) {
	if f == mysqltest.MariaDB {
		return "rpl_semi_sync_master", "rpl_semi_sync_slave"
	}
	return "rpl_semi_sync_source", "rpl_semi_sync_replica"
}

// TestRealDelayed checks that a replica that lags on purpose holds nobody, is restarted like a pod
// that has nothing, and takes nothing over.
func TestRealDelayed(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		changeSource(m.servers[2], "DELAY", "3600")
		app := mysqltest.Table(t, m.servers[0])
		for n := range 3 {
			require.NoError(t, mysqltest.Insert(app, n))
			time.Sleep(time.Second)
		}
		late := m.servers[2].Address()
		for i := range m.servers {
			m.engines[i].options.MaxLag = time.Second
			o := m.await(i, "green", green)
			require.Empty(t, o.Veto+o.Busy)
			for _, g := range o.Groups {
				require.False(t, g.Has(late), g.ID)
			}
			require.Contains(t, o.Nodes, engines.Node{Name: late, Address: late, State: engines.MembershipLive})
		}
		require.Greater(t, *lookFrom(t, m.servers[2]).Source.Lag, time.Second)
		m.prepare(2, "claim-2")
		m.prepare(0, "claim-0")
		m.repair()
		require.Empty(t, source(m.servers[1]), "the other one takes over")
		m.servers[2].AwaitFollowing()
		require.Equal(t, m.servers[1].Address(), source(m.servers[2]))
		m.await(1, "green", green)
	})
}

// TestRealUncounted checks that a replica said a moment ago that it is asked for acknowledgements,
// and the primary, whose connection to it ended, does not count it any more. Never more are
// available than it counts.
func TestRealUncounted(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, m.servers[0]), 1))
		for i := range m.servers {
			m.await(i, "green", green)
		}
		available := func() (active, counted int) {
			o, err := m.engines[0].Observe(t.Context())
			require.NoError(t, err)
			for _, s := range enginetest.States(t, o, "acks") {
				if s == engines.MemberActive {
					active++
				}
			}
			return active, m.engines[0].newestLook().SemiSync.Clients
		}
		active, counted := available()
		require.Equal(t, []int{2, 2}, []int{active, counted})

		resume := m.servers[1].Pause() // its agent has not noticed yet
		defer resume()
		list := "SELECT ID FROM " + map[mysqltest.Flavor]string{mysqltest.MySQL: "performance_schema.processlist", mysqltest.MariaDB: "information_schema.PROCESSLIST"}[flavor] +
			" WHERE COMMAND LIKE 'Binlog Dump%'"
		for _, r := range m.servers[0].Rows(list) {
			m.servers[0].Exec("KILL CONNECTION " + r["ID"])
		}
		fewest := 2
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			active, counted = available()
			require.LessOrEqual(t, active, counted)
			fewest = min(fewest, counted)
		}
		require.Less(t, fewest, 2, "it does not count who is not connected")
		require.Equal(t, 1, active, "the other one has come again")
	})
}

// TestRealIdle checks that a primary that gives up waiting as soon as nobody is connected has not
// noticed that they are again, because nobody has committed anything since.
func TestRealIdle(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		source, _ := semiSyncNames(flavor)
		waits := source + "_wait_no_" + map[mysqltest.Flavor]string{mysqltest.MySQL: "replica", mysqltest.MariaDB: "slave"}[flavor]
		p := m.servers[0]
		app := mysqltest.Table(t, p)
		p.Exec("SET GLOBAL " + waits + " = OFF")
		// MySQL notices at once if a replica that comes back acknowledges the last commit.
		idle := func(n int) bool {
			for _, s := range m.servers[1:] {
				s.Exec("STOP REPLICA IO_THREAD")
			}
			require.NoError(t, mysqltest.Insert(app, n))
			for _, s := range m.servers[1:] {
				s.Exec("START REPLICA IO_THREAD")
				s.AwaitFollowing()
				s.AwaitExecuted(p)
			}
			return flavor == mysqltest.MariaDB || p.Rows(fmt.Sprintf("SHOW STATUS LIKE '%s_status'", source))[0]["Value"] == "OFF"
		}
		n := 10
		for ; !idle(n); n++ {
			require.Less(t, n, 20, "the primary notices each time")
		}
		for i := range m.servers {
			m.await(i, "green", green)
		}
		require.NoError(t, mysqltest.Insert(app, 2))
		mysqltest.Eventually(t, func() bool { return lookFrom(t, p).SemiSync.Working })

		// It waits for nobody, which is another matter.
		p.Exec("SET GLOBAL "+waits+" = ON", "SET GLOBAL "+source+"_timeout = 100")
		for _, s := range m.servers[1:] {
			s.Exec("STOP REPLICA IO_THREAD")
		}
		require.NoError(t, mysqltest.Insert(app, 3))
		require.NotEqual(t, engines.VerdictGreen, m.observe(0).Health.Verdict)
	})
}

// TestRealBroken checks that a replica whose applier has failed holds nobody once it is known that
// it does not go on, and is told to be no copy; what it is as a pod is settled.
func TestRealBroken(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		app := mysqltest.Table(t, m.servers[0])
		require.NoError(t, mysqltest.Insert(app, 1))
		for _, s := range m.servers[1:] {
			s.AwaitExecuted(m.servers[0])
		}
		broken := m.servers[2]
		broken.AllowWrites()
		broken.Exec("SET SESSION sql_log_bin = 0", "DROP TABLE app.numbers")
		broken.RefuseWrites()
		require.NoError(t, mysqltest.Insert(app, 2))
		o := m.await(1, "seen", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictYellow })
		require.Contains(t, o.Health.Reason, broken.Address()+" does not replicate: error ")
		o = m.await(1, "known to last", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
		require.Contains(t, o.Health.Reason, "broken: "+broken.Address()+" does not replicate: error ")
		require.Equal(t, engines.MemberDown, enginetest.States(t, o, "data")[broken.Address()])
		require.NotEqual(t, engines.MemberActive, enginetest.States(t, o, "acks")[broken.Address()])
		own := m.observe(2)
		require.True(t, own.Settled)
		require.Empty(t, own.Veto)
		require.Equal(t, engines.MembershipLive, own.Member)
	})
}

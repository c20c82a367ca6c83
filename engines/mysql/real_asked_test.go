package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// Servers as charts set them up: each kind works, or is refused in words before anything changes.

// followByLog makes it a replica without GTIDs, from what the primary writes now on.
func followByLog(s, primary *mysqltest.Server) {
	status, change := "SHOW BINARY LOG STATUS", "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=%d, SOURCE_USER='%s', SOURCE_PASSWORD='%s', "+
		"SOURCE_LOG_FILE='%s', SOURCE_LOG_POS=%s, GET_SOURCE_PUBLIC_KEY=1"
	if s.Flavor == mysqltest.MariaDB {
		status, change = "SHOW BINLOG STATUS", "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='%s', MASTER_PASSWORD='%s', "+
			"MASTER_LOG_FILE='%s', MASTER_LOG_POS=%s, MASTER_USE_GTID=no"
	}
	at := primary.Rows(status)[0]
	s.Exec(fmt.Sprintf(change, primary.Port, mysqltest.ReplicaUser, mysqltest.ReplicaPassword, at["File"], at["Position"]), "START REPLICA")
	s.AwaitFollowing()
}

func TestRealServersWithoutGTIDs(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		settings := map[string]string{}
		if flavor == mysqltest.MySQL {
			settings = map[string]string{"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
		}
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, Alone: true, Settings: settings})
		for _, s := range servers[1:] {
			followByLog(s, servers[0])
		}
		m := membersAt(t, servers)
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		m.refused("claim", map[mysqltest.Flavor]string{
			mysqltest.MySQL: "does not tell by GTIDs what it has executed: MySQL needs gtid_mode=ON", mysqltest.MariaDB: "follows without GTIDs",
		}[flavor])
		for i := 1; i <= 2; i++ {
			m.prepare(i, fmt.Sprintf("claim-%d", i))
		}
		require.NoError(t, mysqltest.Insert(servers[0].Open(mysqltest.AppUser, mysqltest.AppPassword, "app"), 2))
	})
}

func TestRealServersWithoutReportHost(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := membersAt(t, mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, Settings: map[string]string{"report_host": ""}}))
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, m.servers[0]), 1))
		o := m.await(0, "said", func(o engines.Observation) bool { return o.Veto != "" })
		require.Contains(t, o.Veto, "has no report_host")
		m.refused("claim", "has no report_host, so that nobody can be told to follow it")
	})
}

// TestRealEqualServerIDs: two replicas with one server_id follow the primary, at least on MySQL, and
// could not follow each other.
func TestRealEqualServerIDs(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3})
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		servers[2].Settings["server_id"] = servers[1].Settings["server_id"]
		servers[2].Restart()
		m := membersAt(t, servers)
		o := m.await(0, "said", func(o engines.Observation) bool { return o.Veto != "" })
		require.Contains(t, o.Veto, "have the same server_id, 2")
		m.refused("claim", "nobody can take over")

		if flavor == mysqltest.MySQL && !everything() {
			return // it starts slowly
		}
		// The same as the primary's: it does not replicate at all.
		servers[2].Settings["server_id"] = servers[0].Settings["server_id"]
		servers[2].Restart()
		m.agent(2)
		o = m.await(0, "said", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
		require.Regexp(t, "does not replicate: error (1593|13117): .* equal (MySQL|MariaDB) server ids", o.Health.Reason)
	})
}

// TestRealRandomServerIDs: each start of a server comes with another server_id.
func TestRealRandomServerIDs(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		if flavor == mysqltest.MySQL && !everything() {
			t.Skip("MySQL tells servers by their UUID, and starts slowly: make test-mysql-all")
		}
		m := startMembers(t, flavor, 3)
		id := 100
		again := func(i int) {
			id++
			m.servers[i].Settings["server_id"] = fmt.Sprint(id)
			m.servers[i].Restart()
			m.agent(i)
		}
		c := m.write()
		for i := 1; i <= 2; i++ {
			m.prepare(i, fmt.Sprintf("claim-%d", i))
			again(i)
			m.servers[i].SemiSync(false)
			m.servers[i].Exec("STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD")
			m.await(i, "green", green)
		}
		m.prepare(0, "claim-0")
		again(0)
		m.repair()
		now := m.writable()
		require.Len(t, now, 1)
		require.NotEqual(t, 0, now[0])
		m.servers[0].AwaitFollowing()
		c.more(t)
		c.check(t, m.servers[now[0]])
		m.servers[0].AwaitExecuted(m.servers[now[0]])

		for i := range m.servers { // all are started again
			again(i)
		}
		for deadline := time.Now().Add(time.Minute); len(m.writable()) != 1; { // one is opened once all have been known for a while
			require.True(t, time.Now().Before(deadline), "nobody was opened")
			m.repair()
		}
		for i := range m.servers {
			m.await(i, "green", green)
		}
	})
}

package mysql

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// podPeers gives members the pods of a chart.
type podPeers struct {
	engines.Peers
	pods map[string]string // by node
}

func (p podPeers) List() []engines.Peer {
	list := p.Peers.List()
	for i := range list {
		list[i].Pod = p.pods[list[i].Node]
	}
	return list
}

// startChart starts servers as a chart with a fixed primary does: the first starts writable, the others
// follow an address that is nobody's name, by positions. None has a report_host or GTIDs. The second
// one starts read-only, the third takes writes. names are those of the members, pods by name.
func startChart(t *testing.T, flavor mysqltest.Flavor) (servers []*mysqltest.Server, names []string, pods map[string]string) {
	settings := map[string]string{"read_only": "OFF", "report_host": ""}
	position, file := "SHOW MASTER STATUS", "MASTER"
	if flavor == mysqltest.MySQL {
		settings["super_read_only"], settings["gtid_mode"], settings["enforce_gtid_consistency"] = "OFF", "OFF", "OFF"
		position, file = "SHOW BINARY LOG STATUS", "SOURCE"
	}
	servers = mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, Alone: true, Settings: settings})
	at := servers[0].Rows(position)[0]
	for i, s := range servers[1:] {
		// By default MySQL tries ten times, here in ten seconds, and then no more: a slow machine takes longer to start a server.
		more := map[string]string{"SOURCE": ", GET_SOURCE_PUBLIC_KEY=1, SOURCE_RETRY_COUNT=0", "MASTER": ", MASTER_USE_GTID=no"}[file]
		s.Exec(strings.ReplaceAll(fmt.Sprintf("CHANGE %s TO X_HOST='127.0.0.1', X_PORT=%d, X_USER='%s', X_PASSWORD='%s', X_LOG_FILE='%s', X_LOG_POS=%s, X_CONNECT_RETRY=1%s",
			map[string]string{"SOURCE": "REPLICATION SOURCE", "MASTER": "MASTER"}[file], servers[0].Port, mysqltest.ReplicaUser, mysqltest.ReplicaPassword, at["File"], at["Position"], more), "X_", file+"_"), "START REPLICA")
		s.AwaitFollowing()
		if i == 0 {
			s.Settings["read_only"] = "ON"
			s.Restart()
			s.AwaitFollowing()
		}
	}
	names, pods = namesOf(t, servers), map[string]string{}
	for i := range servers {
		pods[names[i]] = []string{"pri-0", "sec-0", "sec-1"}[i]
	}
	return servers, names, pods
}

// namesOf are the names of servers without a report_host.
func namesOf(t *testing.T, servers []*mysqltest.Server) (names []string) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, s := range servers {
		names = append(names, fmt.Sprintf("%s:%d", host, s.Port))
	}
	return names
}

// chart gives each of them an agent.
func chart(t *testing.T, flavor mysqltest.Flavor) *realMembers {
	servers, names, pods := startChart(t, flavor)
	m := &realMembers{t: t, wire: enginetest.NewWire(), engines: make([]*Engine, 3), servers: servers, names: names, pods: pods}
	t.Cleanup(m.wire.Wait)
	for i := range servers {
		m.agent(i)
	}
	return m
}

// standing is what must be the same before and after: who takes writes, and who follows whom.
func standing(servers []*mysqltest.Server) []string {
	var out []string
	for _, s := range servers {
		row := s.Rows("SELECT @@read_only AS r")[0]["r"]
		for _, r := range s.Rows("SHOW REPLICA STATUS") {
			row += " " + r["Source_Host"] + r["Master_Host"] + ":" + r["Source_Port"] + r["Master_Port"]
		}
		out = append(out, row)
	}
	return out
}

// steadily writes numbers to the primary, and to nobody else.
func (m *realMembers) steadily() *client {
	mysqltest.Table(m.t, m.servers[0])
	ctx, cancel := context.WithCancel(m.t.Context())
	c := &client{stop: cancel}
	db := m.servers[0].Open(mysqltest.AppUser, mysqltest.AppPassword, "app")
	c.ended.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			bounded, end := context.WithTimeout(ctx, 3*time.Second)
			if _, err := db.ExecContext(bounded, "INSERT INTO numbers VALUES (?)", n); err == nil {
				c.acked.Store(n, true)
				c.count.Add(1)
			}
			end()
			time.Sleep(2 * time.Millisecond)
		}
	})
	return c
}

// TestRealFixedPrimary drains the primary of a chart in place under load, stops it and starts it
// again: nothing is changed on any server, nobody else is opened while it is away, all follow again,
// and no acknowledged write is lost.
func TestRealFixedPrimary(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := chart(t, flavor)
		before := standing(m.servers)
		c := m.steadily()
		c.more(t)
		observe := func(i int) engines.Observation {
			o, err := m.engines[i].Observe(t.Context())
			require.NoError(t, err)
			return o
		}
		green := func(i int) {
			t.Helper()
			require.Eventually(t, func() bool { // all agents look all the time
				return observe(0).Node+observe(1).Node+observe(2).Node != "" && observe(i).Health.Verdict == engines.VerdictGreen
			}, 30*time.Second, 100*time.Millisecond)
		}
		for i := range m.engines {
			green(i)
			o := observe(i)
			require.Equal(t, engines.FixedPrimary.String(), o.Topology.String())
			require.Empty(t, o.Veto)
			require.True(t, o.Settled)
			require.Equal(t, i == 0, o.Last)
			require.Equal(t, i == 0, o.Roles[0] == "primary")
			require.Len(t, o.Nodes, 3)
		}
		require.Len(t, observe(0).After, 2)

		order := engines.Order{Kind: engines.Handoff, Claim: "c", Primary: engines.RestartInPlace, NotAfter: time.Now().Add(2 * time.Minute)}
		undo, err := m.engines[0].PlanDrain(t.Context(), order)
		require.NoError(t, err)
		drain := func() engines.Progress {
			p, err := m.engines[0].Drain(t.Context(), order, undo)
			require.NoError(t, err)
			return p
		}
		waits := func(words string) {
			t.Helper()
			p := drain()
			require.Equal(t, engines.ProgressRunning, p.State, p.Detail)
			require.Contains(t, p.Detail, words)
		}
		m.servers[2].Exec("STOP REPLICA SQL_THREAD")
		waits("it restarts in place once its replicas have everything: ")
		waits("has stopped replicating")
		m.servers[2].Exec("START REPLICA SQL_THREAD")
		open := m.servers[0].Open(mysqltest.AppUser, mysqltest.AppPassword, "app")
		tx, err := open.Begin()
		require.NoError(t, err)
		_, err = tx.Exec("INSERT INTO numbers VALUES (-1)")
		require.NoError(t, err)
		require.Eventually(t, func() bool { return strings.Contains(drain().Detail, "a write that has been open for") }, 30*time.Second, 200*time.Millisecond)
		require.NoError(t, tx.Commit())
		p := m.apply(undo, order)
		require.Equal(t, "it restarts in place: its replicas have everything", p.Detail)
		require.Equal(t, before, standing(m.servers), "nothing was written to any server")

		m.servers[0].Stop()
		for range 5 {
			for _, e := range m.engines[1:] {
				_, err := e.Repair(t.Context())
				require.NoError(t, err)
				_, err = e.Observe(t.Context())
				require.NoError(t, err)
			}
		}
		for i, s := range m.servers[1:] {
			require.Equal(t, strings.Fields(before[i+1])[0], s.Value("SELECT @@read_only"), "nobody else is opened")
			require.Equal(t, []string{"replica"}, observe(i+1).Roles)
			require.Equal(t, engines.FixedPrimary, observe(i+1).Topology, "it is remembered")
		}
		m.servers[0].Start()
		m.servers[0].AwaitUp()
		m.repair()
		require.Equal(t, before, standing(m.servers))
		c.more(t)
		restored, err := m.engines[0].Restore(t.Context(), undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, restored.State)
		c.check(t, m.servers[0])
		for _, s := range m.servers[1:] {
			s.AwaitFollowing()
			last := m.servers[0].Value("SELECT COUNT(*) FROM app.numbers")
			require.Eventually(t, func() bool { return s.Value("SELECT COUNT(*) FROM app.numbers") == last }, time.Minute, 100*time.Millisecond)
			c.check(t, s)
		}
		for i := range m.engines {
			green(i)
		}
		t.Log(c.count.Load(), "writes acknowledged")
	})
}

// TestRealSingleServer checks that a server that is alone and starts writable is asked for nothing,
// and that its drain only waits for what is being written.
func TestRealSingleServer(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		s := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 1, Settings: map[string]string{
			"read_only": "OFF", "report_host": "", map[mysqltest.Flavor]string{mysqltest.MySQL: "super_read_only", mysqltest.MariaDB: "read_only"}[flavor]: "OFF",
		}})[0]
		e, err := New(realOptions(s))
		require.NoError(t, err)
		defer e.Close()
		o, err := e.Observe(t.Context())
		require.NoError(t, err)
		require.Equal(t, engines.SingleServer, o.Topology)
		require.Equal(t, engines.VerdictGreen, o.Health.Verdict)
		require.Empty(t, o.Veto)
		require.True(t, o.Last)
		order := engines.Order{Kind: engines.Handoff, Claim: "c", Primary: engines.RestartInPlace}
		undo, err := e.PlanDrain(t.Context(), order)
		require.NoError(t, err)
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State)
		require.Equal(t, "it restarts in place, and nobody else is there", p.Detail)
		require.Equal(t, "0", s.Value("SELECT @@read_only"))
		s.Restart()
		p, err = e.Restore(t.Context(), undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State)
		require.Equal(t, "0", s.Value("SELECT @@read_only"))
	})
}

package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// insisting is a client that offers each number to the servers for 2 s. One that nobody has taken by
// then has failed.
type insisting struct {
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu      sync.Mutex
	acked   []int
	failed  []string
	longest time.Duration // that one number took
}

// acknowledging has each server acknowledge also after it was started again.
var acknowledging = map[string]string{"rpl_semi_sync_slave_enabled": "ON"}

const insistence = 2 * time.Second

func insist(t *testing.T, servers []*mysqltest.Server) *insisting {
	var at []*sql.DB
	for _, s := range servers {
		at = append(at, s.Open(mysqltest.AppUser, mysqltest.AppPassword, "app"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := &insisting{stop: cancel}
	c.ended.Go(func() {
		to := 0
		for n := 1; ctx.Err() == nil; n++ {
			began, err := time.Now(), error(nil)
			for {
				bounded, end := context.WithTimeout(ctx, insistence-time.Since(began))
				err = insertIn(bounded, at[to], n)
				end()
				var refusal *driver.MySQLError
				if errors.As(err, &refusal) && refusal.Number == 1062 { // it was written, and the answer was lost
					err = nil
				}
				if err == nil || ctx.Err() != nil || time.Since(began) > insistence {
					break
				}
				to = (to + 1) % len(at)
				engines.Sleep(ctx, 10*time.Millisecond)
			}
			c.note(n, time.Since(began), err, ctx.Err() != nil)
			engines.Sleep(ctx, 10*time.Millisecond)
		}
	})
	t.Cleanup(c.end)
	return c
}

func (c *insisting) note(n int, took time.Duration, err error, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case over:
	case err != nil:
		c.failed = append(c.failed, fmt.Sprintf("%d: %v", n, err))
	default:
		c.acked, c.longest = append(c.acked, n), max(c.longest, took)
	}
}

func (c *insisting) end() {
	c.stop()
	c.ended.Wait()
}

// check ends the client: nothing has failed, and every server has all that was acknowledged.
func (c *insisting) check(t *testing.T, servers []*mysqltest.Server, primary int) {
	t.Helper()
	c.end()
	require.Empty(t, c.failed)
	for i, s := range servers {
		if i != primary {
			s.AwaitExecuted(servers[primary])
		}
		there := map[string]bool{}
		for _, row := range s.Rows("SELECT n FROM app.numbers") {
			there[row["n"]] = true
		}
		for _, n := range c.acked {
			require.True(t, there[fmt.Sprint(n)], "the acknowledged write %d is not on %s", n, s.Name)
		}
	}
	t.Logf("%d writes acknowledged, none lost, none failed; the longest took %s", len(c.acked), c.longest.Round(time.Millisecond))
}

// everything reports whether also what takes long is asked for: make test-mysql-all.
func everything() bool { return os.Getenv("ROLLCALL_MYSQL_ALL") != "" }

// restartAs brings a server back with another version, as a new pod does.
func (m *realMembers) restartAs(i int, version string) {
	m.t.Helper()
	s := m.servers[i]
	m.wire.Connect(map[string]engines.Peered{s.Address(): nil})
	if everything() {
		delete(s.Settings, "ssl") // from 11.4 on each then has a certificate of its own, and replicas demand it
	}
	s.Become(version)
	s.AwaitUp()
	m.agent(i)
}

// upgrade rolls a version: the replicas, then the primary, which hands over once.
func (m *realMembers) upgrade(primary int, version string) (now int) {
	m.t.Helper()
	for i := range m.servers {
		if i != primary {
			m.prepare(i, fmt.Sprintf("%s-%d", version, i))
			m.restartAs(i, version)
			m.servers[i].Upgrade()
			m.await(i, "green", green)
			require.Equal(m.t, []int{primary}, m.writable(), "a replica's restart moves nobody")
		}
	}
	order := engines.Order{Kind: engines.Handoff, Claim: version, NotAfter: time.Now().Add(time.Minute)}
	undo, err := m.engines[primary].PlanDrain(m.t.Context(), order)
	require.NoError(m.t, err)
	p := m.until(primary, func(e *Engine) (engines.Progress, error) { return e.Drain(m.t.Context(), order, undo) })
	m.t.Logf("to %s: %s", version, p.Detail)
	after := m.writable()
	require.Len(m.t, after, 1)
	require.NotEqual(m.t, primary, after[0])
	m.restartAs(primary, version)
	m.servers[primary].Upgrade()
	m.until(primary, func(e *Engine) (engines.Progress, error) { return e.Restore(m.t.Context(), undo) })
	m.repair()
	for i := range m.servers {
		m.await(i, "green", green)
	}
	require.Equal(m.t, after, m.writable(), "one switchover")
	return after[0]
}

// TestRealUpgrade rolls MariaDB through the versions that are there, under a client that writes.
func TestRealUpgrade(t *testing.T) {
	versions := mysqltest.Versions(t, mysqltest.MariaDB)
	if len(versions) < 2 {
		t.Skip("one version of MariaDB is there: nothing to upgrade to")
	}
	m := membersAt(t, mysqltest.Start(t, mysqltest.Options{Flavor: mysqltest.MariaDB, Version: versions[0], Servers: 3, SemiSync: true, Settings: acknowledging}))
	_ = mysqltest.Table(t, m.servers[0])
	c := insist(t, m.servers)
	primary := 0
	for _, version := range versions[1:] {
		began := time.Now()
		primary = m.upgrade(primary, version)
		t.Logf("%s in %s", version, time.Since(began).Round(time.Second))
		for _, s := range m.servers {
			require.True(t, strings.HasPrefix(s.Value("SELECT VERSION()"), version+"-"))
		}
	}
	c.check(t, m.servers, primary)
	for i, s := range m.servers {
		if i != primary {
			require.Empty(t, follows(s, m.servers[primary]))
		}
	}
}

// TestRealReplicaOlderThanItsSource shows what happens where a primary was made newer than its
// replicas: they go on as long as they understand what it writes, and none of them takes over.
func TestRealReplicaOlderThanItsSource(t *testing.T) {
	versions := mysqltest.Versions(t, mysqltest.MariaDB)
	if len(versions) < 2 {
		t.Skip("one version of MariaDB is there")
	}
	first, last := versions[0], versions[len(versions)-1]
	m := membersAt(t, mysqltest.Start(t, mysqltest.Options{Flavor: mysqltest.MariaDB, Version: first, Servers: 3, SemiSync: true, Settings: acknowledging}))
	app := mysqltest.Table(t, m.servers[0])
	m.restartAs(0, last)
	m.repair()
	for i := range m.servers {
		m.await(i, "green", green)
	}
	require.NoError(t, mysqltest.Insert(app, 1))
	m.servers[1].AwaitExecuted(m.servers[0])

	order := engines.Order{Kind: engines.Handoff, Claim: "claim", NotAfter: time.Now().Add(time.Minute)}
	undo, err := m.engines[0].PlanDrain(t.Context(), order)
	require.NoError(t, err)
	p, err := m.engines[0].Drain(t.Context(), order, undo)
	require.NoError(t, err)
	t.Log(p.State, p.Detail)
	require.NotEqual(t, engines.ProgressDone, p.State)
	require.Contains(t, p.Detail, "older than "+last)
	require.Equal(t, []int{0}, m.writable())
	m.until(0, func(e *Engine) (engines.Progress, error) { return e.Restore(t.Context(), undo) })
	require.NoError(t, mysqltest.Insert(app, 2))

	// A type that the older one does not know.
	m.servers[0].Exec("CREATE TABLE app.vectors (v VECTOR(3) NOT NULL)")
	o := m.await(1, "known to last", func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictRecoverable })
	t.Log(o.Health.Reason)
	require.Regexp(t, `broken: \S+ does not replicate: error 4161: Error 'Unknown data type: 'VECTOR''`, o.Health.Reason)
	require.Equal(t, engines.MemberDown, enginetest.States(t, o, "data")[m.servers[1].Address()])

	for i := 1; i <= 2; i++ {
		m.restartAs(i, last)
	}
	m.repair()
	for i := range m.servers {
		m.await(i, "green again", green)
	}
	for _, s := range m.servers[1:] {
		s.AwaitExecuted(m.servers[0])
		require.Equal(t, "1", s.Value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 'vectors'"))
	}
}

// TestRealStepThatMySQLRefuses shows why there is a hold from MySQL 8.0 to 9: the server does not
// start on those data, and changes nothing of them.
func TestRealStepThatMySQLRefuses(t *testing.T) {
	versions := mysqltest.Versions(t, mysqltest.MySQL)
	if len(versions) < 2 {
		t.Skip("one version of MySQL is there")
	}
	newest, oldest := versions[0], versions[len(versions)-1]
	s := mysqltest.Start(t, mysqltest.Options{Flavor: mysqltest.MySQL, Version: oldest, Servers: 1})[0]
	require.NoError(t, mysqltest.Insert(mysqltest.Table(t, s), 1))
	s.Become(newest)
	mysqltest.Eventually(t, s.Ended)
	require.Contains(t, s.Said(), "Invalid MySQL server upgrade: Cannot upgrade from 80015 to 9")
	s.Become(oldest)
	s.AwaitUp()
	require.Equal(t, "1", s.Value("SELECT COUNT(*) FROM app.numbers"))
	require.Equal(t, "8.4.0", FactsOf(MySQL).MinSource[9])
}

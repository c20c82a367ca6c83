package mysql

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// realMembers are real servers, each with the code under test, connected in one
// process.
type realMembers struct {
	t       *testing.T
	servers []*mysqltest.Server
	wire    *enginetest.Wire
	engines []*Engine
	names   []string          // on the wire, where they are not addresses
	pods    map[string]string // of a chart, by name
	primary engines.Primary   // what people say that it does
}

func startMembers(t *testing.T, flavor mysqltest.Flavor, count int) *realMembers {
	return membersAt(t, mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: count, SemiSync: true}))
}

func membersAt(t *testing.T, servers []*mysqltest.Server) *realMembers {
	m := &realMembers{t: t, wire: enginetest.NewWire(), engines: make([]*Engine, len(servers)), servers: servers}
	t.Cleanup(m.wire.Wait)
	for i := range m.servers {
		m.agent(i)
	}
	return m
}

// agent starts one that knows nothing, in the place of an earlier one.
func (m *realMembers) agent(i int) {
	o := realOptions(m.servers[i])
	o.Peers, o.Primary = m.wire.From(m.name(i)), m.primary
	o.Limits.Quiet, o.Limits.RetryAfter, o.Limits.BrokenAfter = time.Second, time.Second, 3*time.Second
	if m.pods != nil {
		o.Peers, o.Pod, o.Limits.BrokenAfter = podPeers{o.Peers, m.pods}, m.pods[m.name(i)], 0
	}
	e, err := New(o)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { require.NoError(m.t, e.Close()) })
	m.engines[i] = e
	m.wire.Connect(map[string]engines.Peered{m.name(i): e})
}

// name is what the member calls itself.
func (m *realMembers) name(i int) string {
	if m.names != nil {
		return m.names[i]
	}
	s := m.servers[i]
	host, err := os.Hostname()
	require.NoError(m.t, err)
	return replication.JoinName(cmp.Or(s.Settings["report_host"], host), s.Settings["report_port"])
}

// until calls f, as an agent does, until it is done, and lets the others repair.
func (m *realMembers) until(i int, f func(e *Engine) (engines.Progress, error)) engines.Progress {
	m.t.Helper()
	var p engines.Progress
	var err error
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		m.wire.Alone(m.name(i), func() { p, err = f(m.engines[i]) })
		if err == nil && p.State == engines.ProgressDone {
			return p
		}
		for j, other := range m.engines {
			if j != i {
				m.wire.Alone(m.name(j), func() { _, _ = other.Repair(m.t.Context()) })
			}
		}
	}
	require.FailNow(m.t, "not done", "%v %v", p, err)
	return p
}

// repair lets every agent repair until none has anything to do in one whole round.
func (m *realMembers) repair() {
	m.t.Helper()
	for range 20 {
		again := false
		for i := range m.engines {
			rounds := 0
			m.until(i, func(e *Engine) (engines.Progress, error) {
				rounds++
				return e.Repair(m.t.Context())
			})
			again = again || rounds > 1
		}
		if !again {
			return
		}
	}
	require.FailNow(m.t, "they never come to rest")
}

func (m *realMembers) apply(undo []byte, order engines.Order) engines.Progress {
	m.t.Helper()
	return m.until(0, func(e *Engine) (engines.Progress, error) { return e.Drain(m.t.Context(), order, undo) })
}

// writable are the servers that allow writes.
func (m *realMembers) writable() []int {
	var out []int
	for i, s := range m.servers {
		if s.Value("SELECT @@read_only") == "0" {
			out = append(out, i)
		}
	}
	return out
}

// client writes numbers to whatever server takes them, and notes which were
// acknowledged.
type client struct {
	acked sync.Map
	count atomic.Int64
	stop  context.CancelFunc
	ended sync.WaitGroup
}

func (m *realMembers) write() *client {
	mysqltest.Table(m.t, m.servers[0])
	ctx, cancel := context.WithCancel(m.t.Context())
	c := &client{stop: cancel}
	c.ended.Go(func() {
		for n := 1; ctx.Err() == nil; n++ {
			for _, s := range m.servers {
				db := s.Open(mysqltest.AppUser, mysqltest.AppPassword, "app")
				bounded, end := context.WithTimeout(ctx, 3*time.Second)
				_, err := db.ExecContext(bounded, "INSERT INTO numbers VALUES (?)", n)
				end()
				_ = db.Close()
				if err == nil {
					c.acked.Store(n, true)
					c.count.Add(1)
					break
				}
			}
		}
	})
	return c
}

// check ends the client and looks for all that was acknowledged at the server.
func (c *client) check(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	c.stop()
	c.ended.Wait()
	there := map[string]bool{}
	for _, row := range s.Rows("SELECT n FROM app.numbers") {
		there[row["n"]] = true
	}
	c.acked.Range(func(n, _ any) bool {
		require.True(t, there[fmt.Sprint(n)], "the acknowledged write %v is lost", n)
		return true
	})
}

func (c *client) more(t *testing.T) {
	t.Helper()
	n := c.count.Load()
	require.Eventually(t, func() bool { return c.count.Load() > n+3 }, 30*time.Second, 20*time.Millisecond)
}

func TestRealSwitchover(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		c := m.write()
		c.more(t)
		order := engines.Order{Kind: engines.Handoff, Claim: "claim-1", NotAfter: time.Now().Add(3 * time.Minute)}
		undo, err := m.engines[0].PlanDrain(t.Context(), order)
		require.NoError(t, err)
		t.Log(m.apply(undo, order).Detail)
		now := m.writable()
		require.Len(t, now, 1)
		require.NotEqual(t, 0, now[0])
		c.more(t)

		m.servers[0].Restart()
		m.agent(0)
		m.until(0, func(e *Engine) (engines.Progress, error) { return e.Restore(t.Context(), undo) })
		m.repair()
		c.more(t)
		c.check(t, m.servers[now[0]])
		for _, i := range []int{0, 3 - now[0]} {
			m.servers[i].AwaitFollowing()
			m.servers[i].AwaitExecuted(m.servers[now[0]])
		}
		require.Equal(t, now, m.writable())
	})
}

// TestRealSwitchoverBroken breaks the driver's way to the candidate at each step of
// a switchover, and the agent that drives is another one afterwards.
func TestRealSwitchoverBroken(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		m := startMembers(t, flavor, 3)
		c := m.write()
		primary := 0
		for i, step := range []string{stepIntend, stepPromote, stepFollow} {
			for j, link := range []enginetest.Link{enginetest.Cut, enginetest.Deaf} {
				from := m.servers[primary].Address()
				var broken atomic.Bool
				m.wire.Watch(func(_, _ string, s engines.Step) enginetest.Link {
					if s.Name == step && broken.CompareAndSwap(false, true) {
						return link
					}
					return enginetest.Whole
				})
				began := time.Now()
				order := engines.Order{Kind: engines.Handoff, Claim: fmt.Sprintf("claim-%d-%d", i, j), NotAfter: time.Now().Add(3 * time.Minute)}
				undo, err := m.engines[primary].PlanDrain(t.Context(), order)
				require.NoError(t, err)
				bounded, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
				m.wire.Alone(from, func() { _, _ = m.engines[primary].Drain(bounded, order, undo) })
				cancel()
				m.agent(primary)
				seen := ""
				m.until(primary, func(e *Engine) (engines.Progress, error) {
					p, err := e.Drain(t.Context(), order, undo)
					if text := fmt.Sprint(p.State, " ", p.Detail, " ", err); text != seen {
						seen = text
						t.Logf("%s %v after %v: %s", step, link, time.Since(began).Round(100*time.Millisecond), text)
					}
					return p, err
				})
				m.until(primary, func(e *Engine) (engines.Progress, error) { return e.Restore(t.Context(), undo) })
				m.repair()
				now := m.writable()
				require.Len(t, now, 1, "%s %v", step, link)
				require.NotEqual(t, primary, now[0], "%s %v", step, link)
				primary = now[0]
				c.more(t)
			}
		}
		c.check(t, m.servers[primary])
	})
}

// TestRealCandidateDies kills the candidate's server when it is told to take over,
// before it hears it or after it has, and starts it again.
func TestRealCandidateDies(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		for _, link := range []enginetest.Link{enginetest.Cut, enginetest.Deaf} {
			m := startMembers(t, flavor, 3)
			c := m.write()
			c.more(t)
			killed := make(chan int, 1)
			var broken atomic.Bool
			m.wire.Watch(func(_, to string, s engines.Step) enginetest.Link {
				if s.Name != stepPromote || !broken.CompareAndSwap(false, true) {
					return enginetest.Whole
				}
				for i, server := range m.servers {
					if server.Address() != to {
						continue
					}
					if link == enginetest.Cut {
						server.Kill()
					} else {
						time.AfterFunc(200*time.Millisecond, server.Kill)
					}
					killed <- i
				}
				return link
			})
			order := engines.Order{Kind: engines.Handoff, Claim: "claim-1", NotAfter: time.Now().Add(3 * time.Minute)}
			undo, err := m.engines[0].PlanDrain(t.Context(), order)
			require.NoError(t, err)
			var back sync.WaitGroup
			back.Go(func() {
				server := m.servers[<-killed]
				time.Sleep(2 * time.Second)
				server.Start()
			})
			m.apply(undo, order)
			back.Wait()
			m.until(0, func(e *Engine) (engines.Progress, error) { return e.Restore(t.Context(), undo) })
			m.repair()
			now := m.writable()
			require.Len(t, now, 1)
			c.more(t)
			c.check(t, m.servers[now[0]])
			for i, s := range m.servers {
				if i != now[0] {
					s.AwaitFollowing()
					s.AwaitExecuted(m.servers[now[0]])
				}
			}
		}
	})
}

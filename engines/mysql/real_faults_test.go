package mysql

import (
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// says waits until the agent says the words.
func (w *realWorld) says(i int, words string) {
	w.t.Helper()
	last := ""
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		a := w.agent(i)
		a.mu.Lock()
		last = a.last
		a.mu.Unlock()
		if strings.Contains(last, words) {
			return
		}
	}
	w.t.Fatalf("want %q: %s", words, last)
}

// sees waits until a look at the server is so.
func (w *realWorld) sees(i int, is func(s replication.State) bool) {
	w.t.Helper()
	mysqltest.Eventually(w.t, func() bool { return is(w.agent(i).engine.local(w.ctx)) })
}

// realObstacle keeps a member from taking over until it is unavailable.
type realObstacle struct {
	name  string
	words string
	put   func(w *realWorld, r roles)
	away  func(w *realWorld, r roles)
}

func realObstacles(flavor mysqltest.Flavor) []realObstacle {
	change := "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = %d"
	if flavor == mysqltest.MariaDB {
		change = "CHANGE MASTER TO MASTER_DELAY = %d"
	}
	delay := func(w *realWorld, i, seconds int) {
		w.servers[i].Exec("STOP REPLICA", fmt.Sprintf(change, seconds), "START REPLICA")
	}
	lags := func(s replication.State) bool { return s.Source.Lag != nil && *s.Source.Lag > 2*time.Second }
	var open *sql.Tx
	var locks *sql.Conn
	return []realObstacle{
		{name: "a long write", words: "a write that has been open for ", put: func(w *realWorld, r roles) {
			w.servers[r.from].Exec("CREATE TABLE app.slow (n INT PRIMARY KEY)")
			var err error
			open, err = w.servers[r.from].Open(mysqltest.AppUser, mysqltest.AppPassword, "app").Begin()
			require.NoError(w.t, err)
			_, err = open.Exec("INSERT INTO slow VALUES (1)")
			require.NoError(w.t, err)
			w.sees(r.from, func(s replication.State) bool { return s.Writing >= time.Second })
		}, away: func(w *realWorld, r roles) {
			_, err := open.Exec("INSERT INTO slow VALUES (2)")
			require.NoError(w.t, err, "it is not killed")
			require.NoError(w.t, open.Commit())
			w.carriedOut(r.from)
			require.Equal(w.t, []int{r.to}, w.writers())
			require.Equal(w.t, "2", w.servers[r.to].Value("SELECT COUNT(*) FROM app.slow"))
		}},
		{name: "lag", words: " lags ", put: func(w *realWorld, r roles) { // somebody locks what clients write to
			var err error
			locks, err = w.servers[r.to].Root().Conn(w.ctx)
			require.NoError(w.t, err)
			_, err = locks.ExecContext(w.ctx, "LOCK TABLES app.numbers READ")
			require.NoError(w.t, err)
			w.sees(r.to, lags)
		}, away: func(w *realWorld, _ roles) {
			_, err := locks.ExecContext(w.ctx, "UNLOCK TABLES")
			require.NoError(w.t, err)
			require.NoError(w.t, locks.Close())
		}},
		{name: "a delay", words: " replicates with a delay of 4s on purpose", put: func(w *realWorld, r roles) {
			delay(w, r.to, 4)
			w.sees(r.to, func(s replication.State) bool { return s.Source.Delay > 0 })
		}, away: func(w *realWorld, r roles) { delay(w, r.to, 0) }},
		{name: "a stopped applier", words: "'s applier is stopped", put: func(w *realWorld, r roles) {
			w.servers[r.to].Exec("STOP REPLICA SQL_THREAD")
		}, away: func(w *realWorld, r roles) { w.servers[r.to].Exec("START REPLICA SQL_THREAD") }},
		{name: "a stopped receiver", words: " is not connected to ", put: func(w *realWorld, r roles) {
			w.servers[r.to].Exec("STOP REPLICA IO_THREAD")
		}, away: func(w *realWorld, r roles) { w.servers[r.to].Exec("START REPLICA IO_THREAD") }},
		{name: "an errant transaction", words: " has transactions that ", put: func(w *realWorld, r roles) { w.stray(r.to, r.to, 1) },
			away: func(w *realWorld, r roles) { w.stray(r.from, r.to, 1) }},
	}
}

// stray makes one server write a transaction of its own, or another one the same.
func (w *realWorld) stray(at, of, n int) {
	w.t.Helper()
	s := w.servers[at]
	if s.Flavor == mysqltest.MariaDB { // in a domain that keeps replication going
		s.Exec(fmt.Sprintf("SET SESSION gtid_domain_id = %d", n), fmt.Sprintf("SET SESSION server_id = %d", w.servers[of].ID),
			"SET SESSION gtid_seq_no = 1", fmt.Sprintf("CREATE DATABASE IF NOT EXISTS stray%d", n))
		if at != of { // as if it had come by replication
			s.Exec("SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos")
		}
		return
	}
	gtid := fmt.Sprintf("%s:%d", w.servers[of].Value("SELECT @@server_uuid"), 1000+n)
	statements := []string{"SET SESSION gtid_next = '" + gtid + "'", "BEGIN", "COMMIT", "SET SESSION gtid_next = AUTOMATIC"}
	if at == of {
		statements = append(append([]string{"SET GLOBAL super_read_only = OFF"}, statements...), "SET GLOBAL super_read_only = ON")
	}
	s.Exec(statements...)
}

// TestRealObstacles checks that what keeps a member from taking over is waited for, and said;
// clients notice nothing of it, and the role is handed over afterwards.
func TestRealObstacles(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		w := newRealWorld(t, flavor, acknowledged(flavor))
		primary := w.rest("start")
		for i, o := range realObstacles(flavor) {
			r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
			o.put(w, r)
			var stopped atomic.Bool
			w.order(r, fmt.Sprintf("claim-%d", i), restores, func(_ int, what string) bool {
				if what == "stopWrites before" {
					stopped.Store(true)
				}
				return false
			}, w.servers[r.to].Address())
			w.says(r.from, o.words)
			w.client.more(w)
			require.False(t, stopped.Load(), o.name)
			require.Equal(t, []int{r.from}, w.writers(), o.name)
			o.away(w, r)
			primary = w.rest(o.name)
			require.Equal(t, r.to, primary, o.name)
			t.Logf("%s: longest without a write: %s", o.name, w.client.longest().Round(time.Millisecond))
		}

		// Another member is chosen, and who has strayed is left alone until it has
		// nothing of its own any more.
		r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		w.stray(r.to, r.to, 2)
		w.order(r, "claim-stray", restores, nil)
		w.says(r.to, " has what ")
		require.Equal(t, []int{r.other}, w.writers())
		require.NotEmpty(t, follows(w.servers[r.to], w.servers[r.other]))
		w.stray(r.other, r.to, 2)
		require.Equal(t, r.other, w.rest("who has strayed"))
	})
}

// TestRealFaults checks that servers that die, hang or fail once writes are stopped, and are not
// mended before somebody takes writes again.
func TestRealFaults(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		w := newRealWorld(t, flavor, acknowledged(flavor))
		primary := w.rest("start")
		kill := func(i int) (mend func()) {
			w.servers[i].Kill()
			return func() { w.servers[i].Restart() }
		}
		hang := func(i int) (mend func()) { return w.servers[i].Pause() }
		for i, f := range []struct {
			name, at string
			do       func(i int) (mend func())
		}{
			{"the candidate dies when writes are stopped", "from dropClients before", kill},
			{"the candidate dies when it is to take over", "promote before", kill},
			{"the candidate hangs when writes are stopped", "from dropClients before", hang},
			{"the candidate hangs when it is to take over", "promote before", hang},
		} {
			r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
			mend := make(chan func(), 1)
			var done atomic.Bool
			w.order(r, fmt.Sprintf("claim-%d", i), restores, func(actor int, what string) bool {
				name, at := r.named(actor, what), r.to
				if strings.HasPrefix(name, "from asks other:") {
					at = r.other
				}
				if strings.HasSuffix(name, f.at) && done.CompareAndSwap(false, true) {
					w.note("BREAK %s", f.name)
					mend <- f.do(at)
				}
				return false
			})
			mended := <-mend
			began := time.Now()
			w.client.more(w)
			w.good(f.name)
			took := time.Since(began)
			mended()
			primary = w.rest(f.name)
			require.NotEqual(t, r.from, primary)
			t.Logf("%s: writes again after %s", f.name, took.Round(time.Millisecond))
		}

		// The disk is full, or whatever else makes it refuse.
		r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		var failing atomic.Bool
		failing.Store(true)
		reopened := make(chan bool, 1)
		w.order(r, "claim-full", restores, func(actor int, what string) bool {
			name := r.named(actor, what)
			if name == "from allowWrites after" && failing.CompareAndSwap(true, false) {
				reopened <- true
			}
			return failing.Load() && name == "to allowWrites before"
		}, w.servers[r.to].Address())
		require.True(t, <-reopened)
		w.client.more(w)
		w.good("a server that refuses")
		primary = w.rest("a server that refuses")
		require.Equal(t, r.to, primary)

		// Nobody takes over for a primary that hangs.
		resume := w.servers[primary].Pause()
		w.says(primary, "the server has not answered within ")
		for i := range w.servers {
			if i != primary {
				w.says(i, "nobody is known to allow writes")
			}
		}
		require.Empty(t, w.writers())
		resume()
		require.Equal(t, primary, w.rest("a primary that hangs"))

		// Not even when it hangs while it hands over.
		r = roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		hung := make(chan func(), 1)
		w.order(r, "claim-hang", restores, func(actor int, what string) bool {
			if r.named(actor, what) == "from stopWrites before" && len(hung) == 0 && failing.CompareAndSwap(false, true) {
				hung <- w.servers[primary].Pause()
			}
			return false
		})
		resume = <-hung
		time.Sleep(3 * time.Second)
		require.Empty(t, w.writers())
		resume()
		require.NotEqual(t, primary, w.rest("a primary that hangs while it hands over"))
	})
}

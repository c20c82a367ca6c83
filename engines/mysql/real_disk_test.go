package mysql

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
)

// newSmallDisks is a world in which each server's data have a disk of their own.
func newSmallDisks(t *testing.T, flavor mysqltest.Flavor) *realWorld {
	o := acknowledged(flavor)
	o.DiskMB = 192
	return newRealWorld(t, flavor, o)
}

// sessions returns the sessions of agents on a server, those among them that wait for what was
// abandoned.
func (w *realWorld) sessions(i int) int {
	w.t.Helper()
	n := 0
	for _, row := range w.servers[i].Rows("SHOW PROCESSLIST") { // a SELECT takes space on the disk
		if row["User"] == mysqltest.AgentUser {
			n++
		}
	}
	return n
}

// stays so for a while: nobody but these allows writes, and agents leave few sessions
// on the server whose disk is full: what they have at most, and as many that they were
// left alone with.
func (w *realWorld) stays(d time.Duration, full int, writers ...int) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		require.LessOrEqual(w.t, w.sessions(full), 2*server.MaxSessions)
		now := w.writers()
		require.Subset(w.t, writers, now)
		require.LessOrEqual(w.t, len(now), 1)
	}
}

// freed waits until the server has seen that there is space again, which takes it up
// to a minute, and all is at rest; it answers who allows writes.
func (w *realWorld) freed(name string, free func()) int {
	w.t.Helper()
	began, acknowledged := time.Now(), w.client.total()
	free()
	for deadline := began.Add(2 * time.Minute); w.client.total() == acknowledged && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		continue
	}
	primary := w.rest(name)
	w.t.Logf("%s: at rest %s after there was space again; longest without a write: %s",
		name, time.Since(began).Round(time.Millisecond), w.client.longest().Round(time.Millisecond))
	return primary
}

// TestRealDiskFull checks that both flavors wait for space. A handover that is asked for holds
// meanwhile and says why, and goes on by itself afterwards.
func TestRealDiskFull(t *testing.T) {
	if !*allBreaks {
		t.Skip("only with -breaks.all: make test-mysql-all")
	}
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		w := newSmallDisks(t, flavor)
		primary := w.rest("start")

		r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		free := w.servers[r.from].FillDisk()
		// The last commits may still find space.
		for total := -1; total != w.client.total(); time.Sleep(3 * time.Second) {
			total = w.client.total()
		}
		w.order(r, "claim-primary", restores, nil)
		w.says(r.from, "a write that has been open for ")
		acknowledged := w.client.total()
		w.stays(20*time.Second, r.from, r.from)
		require.Equal(t, acknowledged, w.client.total(), "the disk is not full")
		primary = w.freed("the primary's disk is full", free)
		require.NotEqual(t, r.from, primary)

		// Clients notice nothing of a candidate that cannot take over.
		r = roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
		free = w.servers[r.to].FillDisk()
		w.client.more(w)
		time.Sleep(3 * w.agent(r.from).engine.options.MaxLag)
		var stopped atomic.Bool
		w.order(r, "claim-candidate", restores, func(_ int, what string) bool {
			if what == "stopWrites before" {
				stopped.Store(true)
			}
			return false
		}, w.servers[r.to].Address())
		w.says(r.from, "disk ") // MariaDB's does not answer, MySQL's says that all is well
		w.stays(15*time.Second, r.to, r.from)
		w.client.more(w)
		w.says(r.from, "disk ")
		require.False(t, stopped.Load())
		primary = w.freed("the candidate's disk is full", free)
		require.Equal(t, r.to, primary)
	})
}

// TestRealDiskFills fills the disk in the middle of a handover. The member that has the role then
// keeps it until there is space.
func TestRealDiskFills(t *testing.T) {
	if !*allBreaks {
		t.Skip("only with -breaks.all: make test-mysql-all")
	}
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		w := newSmallDisks(t, flavor)
		primary := w.rest("start")
		for i, f := range []struct {
			name, at string
			whose    func(r roles) int
		}{
			{"the candidate's disk becomes full when it is to take over", "from asks to: promote before", func(r roles) int { return r.to }},
			{"the primary's disk becomes full when writes are to be stopped", "from stopWrites before", func(r roles) int { return r.from }},
		} {
			r := roles{from: primary, to: (primary + 1) % 3, other: (primary + 2) % 3}
			full := make(chan func(), 1)
			var done atomic.Bool
			w.order(r, "claim-"+strconv.Itoa(i), restores, func(actor int, what string) bool {
				if r.named(actor, what) == f.at && done.CompareAndSwap(false, true) {
					w.note("FULL %s", f.name)
					full <- w.servers[f.whose(r)].FillDisk()
				}
				return false
			}, w.servers[r.to].Address())
			free := <-full
			w.stays(15*time.Second, f.whose(r), r.from, r.to)
			primary = w.freed(f.name, free)
			require.Contains(t, []int{r.from, r.to}, primary)
		}
	})
}

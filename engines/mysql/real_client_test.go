package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// steady is a client that writes numbers all the time, to whatever server takes
// them, and notes those that were acknowledged.
type steady struct {
	mu      sync.Mutex
	acked   []int
	gap     time.Duration // the longest between two of them
	newest  time.Time
	checked int
	count   int
}

func newSteady(w *realWorld) *steady {
	c := &steady{newest: time.Now()}
	var at []*sql.DB
	for _, s := range w.servers {
		at = append(at, s.Open(mysqltest.AppUser, mysqltest.AppPassword, "app"))
	}
	w.running.Go(func() {
		to := 0
		for n := 1; w.ctx.Err() == nil; n++ {
			ctx, end := context.WithTimeout(w.ctx, 2*time.Second)
			err := insertIn(ctx, at[to], n)
			end()
			if err != nil {
				to = (to + 1) % len(at)
				engines.Sleep(w.ctx, 5*time.Millisecond)
				continue
			}
			c.mu.Lock()
			c.acked = append(c.acked, n)
			c.count++
			c.gap, c.newest = max(c.gap, time.Since(c.newest)), time.Now()
			c.mu.Unlock()
			engines.Sleep(w.ctx, 5*time.Millisecond)
		}
	})
	return c
}

func insertIn(ctx context.Context, db *sql.DB, n int) error {
	_, err := db.ExecContext(ctx, "INSERT INTO numbers VALUES (?)", n)
	return err
}

// more waits until writes are acknowledged again.
func (c *steady) more(w *realWorld) {
	w.t.Helper()
	was := c.total()
	for deadline := time.Now().Add(30 * time.Second); c.total() < was+3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.violate("nothing is acknowledged any more")
			return
		}
	}
}

func (c *steady) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// longest gap since it was asked for last.
func (c *steady) longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	gap := c.gap
	c.gap = 0
	return gap
}

// check looks on all servers for all that was acknowledged since the last time.
func (c *steady) check(w *realWorld, primary int) {
	w.t.Helper()
	c.mu.Lock()
	acked := c.acked
	c.acked = nil
	c.mu.Unlock()
	for i, s := range w.servers {
		if i != primary {
			s.AwaitExecuted(w.servers[primary])
		}
		there := map[string]bool{}
		for _, row := range s.Rows(fmt.Sprintf("SELECT n FROM app.numbers WHERE n > %d", c.checked)) {
			there[row["n"]] = true
		}
		for _, n := range acked {
			if !there[fmt.Sprint(n)] {
				w.violate("the acknowledged write %d is not on %s", n, s.Name)
				return
			}
		}
	}
	require.NotEmpty(w.t, acked)
	c.checked = acked[len(acked)-1]
}

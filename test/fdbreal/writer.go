package fdbreal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Writer writes keys through fdbcli all the time, each until it is acknowledged, and keeps a ledger of those that were.
type Writer struct {
	c      *client
	stop   context.CancelFunc
	ended  sync.WaitGroup
	mu     sync.Mutex
	ledger map[string]string
	stats  Stats
}

// Stats of a writer.
type Stats struct {
	Acknowledged, Again, Failed int
	Slowest                     time.Duration
}

func (s Stats) String() string {
	return fmt.Sprintf("%d writes acknowledged, %d tries again, %d failed, slowest %s", s.Acknowledged, s.Again, s.Failed, s.Slowest.Round(time.Millisecond))
}

const (
	writesAtOnce = 5
	// patience is for how long a client tries again before a write counts as failed.
	patience = 45 * time.Second
)

// StartWriter begins to write.
func (c *Cluster) StartWriter(t testing.TB) *Writer {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &Writer{c: c.anotherClient(t), stop: stop, ledger: map[string]string{}}
	t.Cleanup(func() { w.stop(); w.ended.Wait() })
	w.ended.Go(func() {
		for n := 0; ctx.Err() == nil; n += writesAtOnce {
			w.write(ctx, n)
			time.Sleep(300 * time.Millisecond)
		}
	})
	return w
}

// anotherClient has a cluster file that says what the admin's says now.
func (c *Cluster) anotherClient(t testing.TB) *client {
	return newClient(t, c.CLI(), c.connection())
}

func (w *Writer) write(ctx context.Context, n int) {
	begun := time.Now()
	for left, first := writesAtOnce, true; left > 0; first = false {
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > patience {
			w.mu.Lock()
			w.stats.Failed += left
			w.mu.Unlock()
			return
		}
		commands := []string{"writemode on"}
		for i := writesAtOnce - left; i < writesAtOnce; i++ {
			commands = append(commands, fmt.Sprintf("set %s %d", keyOf(n+i), n+i))
		}
		a := w.c.run(ctx, 10*time.Second, commands...)
		done := strings.Count(a.stdout, "Committed (")
		w.mu.Lock()
		for i := writesAtOnce - left; i < writesAtOnce-left+done; i++ {
			w.ledger[keyOf(n+i)] = fmt.Sprint(n + i)
		}
		if !first {
			w.stats.Again++
		}
		if left -= done; left == 0 {
			w.stats.Acknowledged += writesAtOnce
			w.stats.Slowest = max(w.stats.Slowest, time.Since(begun))
		}
		w.mu.Unlock()
	}
}

func keyOf(n int) string { return fmt.Sprintf("w%08d", n) }

// Stop ends it and reads everything back. Lost are keys that were acknowledged and are not what they were.
func (w *Writer) Stop(ctx context.Context) (stats Stats, lost []string, err error) {
	w.stop()
	w.ended.Wait()
	var have map[string][]byte
	for range 10 {
		a := w.c.run(ctx, 30*time.Second, fmt.Sprintf("getrange w x %d", 10*len(w.ledger)+1000))
		if have, err = pairs(a.stdout); err == nil && a.code == 0 && !strings.Contains(a.stderr, "ERROR") {
			err = nil
			break
		}
		err = fmt.Errorf("read everything back: %s", a)
		time.Sleep(time.Second)
	}
	for key, value := range w.ledger {
		if string(have[key]) != value {
			lost = append(lost, key)
		}
	}
	return w.stats, lost, err
}

package fdbreal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Watch looks at the true world all the time: how many copies the worst shard has on processes that run, and what the
// database says of itself.
type Watch struct {
	c     *Cluster
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu   sync.Mutex
	seen Seen
}

// Seen is what there was.
type Seen struct {
	Looks, Blind int
	// Least is the number of copies of the shard with the fewest, over the whole time.
	Least int
	// Bare is how long a shard had one copy or none, and Wrong how long the database called its data healthy meanwhile.
	Bare, Wrong time.Duration
	// Now is the last look, and At when it ended.
	Now Copies
	At  time.Time
}

func (s Seen) String() string {
	return fmt.Sprintf("%d looks at the map of shards (%d without an answer), %d copies of the worst shard at least, one or none for %s, of which the database called itself healthy for %s",
		s.Looks, s.Blind, s.Least, s.Bare.Round(time.Second), s.Wrong.Round(time.Second))
}

// StartWatch begins to look.
func (c *Cluster) StartWatch(t testing.TB) *Watch {
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &Watch{c: c, stop: stop, seen: Seen{Least: len(zones)}}
	t.Cleanup(func() { w.stop(); w.ended.Wait() })
	w.ended.Go(func() {
		said, last := "", time.Now()
		for ctx.Err() == nil {
			copies, err := c.Copies(ctx)
			s, sErr := c.Admin.status(ctx, 10*time.Second)
			now := time.Now()
			w.mu.Lock()
			w.seen.Looks++
			if err != nil {
				w.seen.Blind++
			} else {
				w.seen.Least, w.seen.Now, w.seen.At = min(w.seen.Least, copies.Least), copies, now
				if copies.Least < 2 {
					w.seen.Bare += now.Sub(last)
					if sErr == nil && s.Cluster.Data.State.Healthy {
						w.seen.Wrong += now.Sub(last)
					}
				}
			}
			w.mu.Unlock()
			last = now
			text := fmt.Sprintf("%d copies of the worst of %d shards, in %s; %s", copies.Least, copies.Shards, strings.Join(copies.Zones, " "), s.say())
			if err != nil || sErr != nil {
				text = firstLine(fmt.Sprint(err, sErr))
			}
			if text != said && ctx.Err() == nil {
				t.Log(clock(), "truth:", text)
			}
			said = text
			time.Sleep(2 * time.Second)
		}
	})
	return w
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Seen so far.
func (w *Watch) Seen() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// Stop ends it.
func (w *Watch) Stop() Seen {
	w.stop()
	w.ended.Wait()
	return w.Seen()
}

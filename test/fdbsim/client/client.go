// Package client writes to a simulated cluster and reads it back, and keeps what was acknowledged.
package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/cli"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Options are the options of a client.
type Options struct {
	ClusterFile string
	Keys        int           // written by turns
	Prefix      string        // of keys, so that clients keep out of each other's way
	Pause       time.Duration // between two operations
	Patience    time.Duration // for how long one is tried, as clients do through a recovery
}

// Stats are the stats of a client.
type Stats struct {
	Writes   int           // acknowledged
	Reads    int           // answered
	Failed   int           // given up after Patience
	Slowest  time.Duration // of those that succeeded
	Lost     int           // keys whose acknowledged value is not there
	LastLost string
}

func (s Stats) String() string {
	return fmt.Sprintf("writes=%d reads=%d failed=%d slowest=%s lost=%d %s", s.Writes, s.Reads, s.Failed, s.Slowest.Round(time.Millisecond), s.Lost, s.LastLost)
}

// Client is one writer and reader.
type Client struct {
	opts  Options
	db    cli.Database
	stats Stats
	// acked is the last value of a key that was acknowledged; unsure are values that were sent later, and may be there.
	acked  map[string]string
	unsure map[string][]string
	lost   map[string]bool
	count  int
}

// ErrNoAnswer means that an operation was given up.
var ErrNoAnswer = errors.New("no answer")

// New reads the cluster file.
func New(opts Options) (*Client, error) {
	db, err := cli.Dial(opts.ClusterFile)
	if err != nil {
		return nil, err
	}
	return &Client{opts: opts, db: db, acked: map[string]string{}, unsure: map[string][]string{}, lost: map[string]bool{}}, nil
}

// Run writes and reads by turns until the context ends, then reads every key once more.
func (c *Client) Run(ctx context.Context, report time.Duration, tell func(Stats)) Stats {
	last := time.Now()
	for ctx.Err() == nil {
		c.Step(ctx)
		if report > 0 && time.Since(last) >= report {
			last = time.Now()
			tell(c.stats)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.opts.Pause):
		}
	}
	c.Verify(context.WithoutCancel(ctx))
	return c.stats
}

// Step writes one key and reads another.
func (c *Client) Step(ctx context.Context) {
	c.count++
	c.write(ctx, c.key(c.count%c.opts.Keys), strconv.Itoa(c.count))
	c.check(ctx, c.key((c.count*7+3)%c.opts.Keys))
}

func (c *Client) key(n int) string { return c.opts.Prefix + "key-" + strconv.Itoa(n) }

// Verify reads every key that was ever acknowledged.
func (c *Client) Verify(ctx context.Context) Stats {
	for n := range c.opts.Keys {
		c.check(ctx, c.key(n))
	}
	return c.stats
}

// Stats so far.
func (c *Client) Stats() Stats { return c.stats }

func (c *Client) write(ctx context.Context, key, value string) {
	c.unsure[key] = append(c.unsure[key], value)
	if _, err := c.do(ctx, wire.Request{Op: wire.Commit, Key: key, Value: value}); err != nil {
		return
	}
	c.acked[key] = value
	delete(c.unsure, key)
	delete(c.lost, key)
	c.stats.Writes++
}

func (c *Client) check(ctx context.Context, key string) {
	want, written := c.acked[key]
	reply, err := c.do(ctx, wire.Request{Op: wire.Read, Key: key})
	if err != nil {
		return
	}
	c.stats.Reads++
	if !written || reply.Value == want {
		return
	}
	if slices.Contains(c.unsure[key], reply.Value) {
		return
	}
	if !c.lost[key] {
		c.lost[key] = true
		c.stats.Lost++
		c.stats.LastLost = fmt.Sprintf("%s: %q instead of %q", key, reply.Value, want)
	}
}

// do asks until there is an answer, or patience ends.
func (c *Client) do(ctx context.Context, r wire.Request) (wire.Reply, error) {
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, c.opts.Patience)
	defer cancel()
	for {
		reply, err := c.db.Ask(limited, r)
		if err == nil && reply.Problem == wire.NoProblem {
			c.stats.Slowest = max(c.stats.Slowest, time.Since(begun))
			return reply, nil
		}
		select {
		case <-limited.Done():
			if ctx.Err() == nil {
				c.stats.Failed++
			}
			return reply, ErrNoAnswer
		case <-time.After(50 * time.Millisecond):
		}
	}
}

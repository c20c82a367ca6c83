// Package load is a client of a database that writes and reads every shard of
// every collection all the time, and counts what failed.
//
// It is the judge of a rollout, so it knows nothing of Rollcall: it asks for
// Ready pods, picks one at random, and retries as a careful client would.
package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Options are the options of a run. Zero fields take the defaults named here.
type Options struct {
	// Database says how requests look, default Solr.
	Database Database
	// Targets returns the base URLs (http://host:port) of pods that are Ready now.
	Targets func() []string
	// Collections to write and read.
	Collections []string
	// Threads, default 4.
	Threads int
	// Timeout is the timeout of one try, default 15 s.
	Timeout time.Duration
	// Tries is how often one request is tried, default 3; Pause is the time between two tries,
	// default 200 ms.
	Tries int
	Pause time.Duration
	// Think is the rest between two requests of a thread, default 20 ms.
	Think time.Duration
	// Prefix is the prefix of document ids, so that runs do not overwrite each other.
	Prefix string
}

func (o *Options) validate() error {
	if o.Targets == nil || len(o.Collections) == 0 {
		return errors.New("load: targets and collections are needed")
	}
	if o.Database == nil {
		o.Database = Solr{}
	}
	setDefault(&o.Threads, 4)
	setDefault(&o.Timeout, 15*time.Second)
	setDefault(&o.Tries, 3)
	setDefault(&o.Pause, 200*time.Millisecond)
	setDefault(&o.Think, 20*time.Millisecond)
	if o.Prefix == "" {
		o.Prefix = fmt.Sprintf("r%x", rand.Uint32())
	}
	return nil
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Client runs the threads until its context ends.
type Client struct {
	opts  Options
	http  *http.Client
	stats stats
}

// New checks the options.
func New(opts Options) (*Client, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConnsPerHost = opts.Threads
	transport.IdleConnTimeout = 5 * time.Second
	c := &Client{opts: opts, http: &http.Client{Transport: transport, Timeout: opts.Timeout}}
	c.stats.acked = map[string][]Doc{}
	return c, nil
}

// Run blocks until ctx ends and every thread has finished its request: a
// request in flight at the end is completed, not cut off, so that nothing is
// counted as failed because the run ended.
func (c *Client) Run(ctx context.Context) Stats {
	var wg sync.WaitGroup
	for t := range c.opts.Threads {
		wg.Go(func() { c.thread(ctx, t) })
	}
	wg.Wait()
	c.http.CloseIdleConnections()
	return c.Stats()
}

// Stats so far; safe while running.
func (c *Client) Stats() Stats { return c.stats.snapshot() }

func (c *Client) thread(ctx context.Context, t int) {
	for n := 0; ctx.Err() == nil; n++ {
		collection := c.opts.Collections[n%len(c.opts.Collections)]
		if n/len(c.opts.Collections)%2 == t%2 {
			c.write(collection, t, n)
		} else {
			c.read(collection)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.opts.Think):
		}
	}
}

func (c *Client) write(collection string, t, n int) {
	c.Put(collection, fmt.Sprintf("%d-%d", t, n))
}

// Put writes one document; the key tells it from others of this client.
func (c *Client) Put(collection, key string) (ok bool) {
	id := c.opts.Prefix + "-" + key
	base, ok := c.request("write", collection, c.opts.Database.Write(collection, id), nil)
	if ok {
		c.stats.wrote(collection, Doc{ID: id, Acked: time.Now(), Through: base})
	}
	return ok
}

func (c *Client) read(collection string) {
	c.request("read", collection, c.opts.Database.Read(collection), nil)
}

// request tries until one try succeeds, through another random pod each time.
func (c *Client) request(kind, collection string, r Request, into any) (through string, ok bool) {
	start := time.Now()
	var last error
	var tried []string
	for try := 1; try <= c.opts.Tries; try++ {
		if try > 1 {
			time.Sleep(c.opts.Pause)
		}
		base, ok := another(c.opts.Targets(), tried)
		if !ok {
			last = errors.New("no Ready pod")
			continue
		}
		tried = append(tried, base)
		retry, err := c.try(base, r, into)
		if err == nil {
			c.stats.done(time.Since(start), try)
			return base, true
		}
		last = err
		if !retry {
			break
		}
	}
	c.stats.failed(Failure{At: start, Kind: kind, Collection: collection, Error: last.Error(), Took: time.Since(start)})
	return "", false
}

// another is a random target that was not tried yet, if there is one.
func another(targets, tried []string) (string, bool) {
	fresh := slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return slices.Contains(tried, t) })
	if len(fresh) > 0 {
		targets = fresh
	}
	if len(targets) == 0 {
		return "", false
	}
	return targets[rand.IntN(len(targets))], true
}

func (c *Client) try(base string, r Request, into any) (retry bool, err error) {
	req, err := http.NewRequest(r.Method, base+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return false, err
	}
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var timeout interface{ Timeout() bool }
		return !(errors.As(err, &timeout) && timeout.Timeout()), err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return true, fmt.Errorf("%s: %w", base, err)
	}
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated:
		if into != nil {
			return false, json.Unmarshal(answer, into)
		}
		return false, nil
	}
	return c.opts.Database.Again(r, resp.StatusCode, answer), fmt.Errorf("%s: status %d: %.300s", base, resp.StatusCode, answer)
}

package local

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/test/cluster/archive"
	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

// Load imports docker-archives into every node.
func (c *Cluster) Load(ctx context.Context, files []string) error {
	if err := c.programs(ctx); err != nil {
		return err
	}
	for _, f := range files {
		f, err := filepath.Abs(f)
		if err != nil {
			return err
		}
		begin := time.Now()
		errs := make([]error, len(c.Plan.Nodes))
		loaded := make([]bool, len(c.Plan.Nodes))
		var all sync.WaitGroup
		for i, n := range c.Plan.Nodes {
			all.Go(func() { loaded[i], errs[i] = c.runner.Load(ctx, n, f) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		count := 0
		for _, l := range loaded {
			if l {
				count++
			}
		}
		tags, err := archive.Tags(f)
		if err != nil {
			return err
		}
		c.Say("loaded %v into %d of %d nodes (the others had it) in %s", tags, count, len(loaded), time.Since(begin).Round(100*time.Millisecond))
	}
	return nil
}

// StopNode kills the node: every process at once, and its wire.
func (c *Cluster) StopNode(ctx context.Context, name string) error {
	n, err := c.Plan.Node(name)
	if err != nil {
		return err
	}
	return c.runner.Kill(ctx, n)
}

// StartNode brings a stopped node back, and waits until it is ready.
func (c *Cluster) StartNode(ctx context.Context, name string) error {
	n, err := c.Plan.Node(name)
	if err != nil {
		return err
	}
	if err := c.programs(ctx); err != nil {
		return err
	}
	if c.runner.Authority, err = pki.Open(c.Plan.Path("pki"), time.Now); err != nil {
		return err
	}
	begin := time.Now()
	started, err := c.runner.Up(ctx, n)
	if err != nil {
		return err
	}
	client, err := Client(c.Plan.Kubeconfig())
	if err != nil {
		return err
	}
	if started {
		if err := waitForSignOfLife(ctx, client, n.Name, begin); err != nil {
			return err
		}
	}
	return waitForNodes(ctx, client, plan.Plan{Nodes: []plan.Node{n}})
}

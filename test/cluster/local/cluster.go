// Package local puts a cluster together and takes it apart.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rollcall-dev/rollcall/test/cluster/cgroup"
	"github.com/rollcall-dev/rollcall/test/cluster/controlplane"
	"github.com/rollcall-dev/rollcall/test/cluster/host"
	"github.com/rollcall-dev/rollcall/test/cluster/network"
	"github.com/rollcall-dev/rollcall/test/cluster/node"
	"github.com/rollcall-dev/rollcall/test/cluster/pki"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
	"github.com/rollcall-dev/rollcall/test/cluster/process"
	"github.com/rollcall-dev/rollcall/test/cluster/volume"
)

const (
	// DefaultName is the default name of a cluster.
	DefaultName = "rollcall"
	// DefaultNodes is how many nodes a new cluster has.
	DefaultNodes = 3
)

// ErrNone is returned for a cluster that was never brought up here.
var ErrNone = errors.New("no cluster")

// Options say which cluster.
type Options struct {
	Dir   string // everything of the cluster; made when it is not there
	Cache string // built programs, shared by all clusters
	Name  string // empty means as it is called, or "rollcall"
	Nodes int    // zero means as many as it has, or DefaultNodes
	// Bare means that a new cluster is a control plane without nodes, which somebody else
	// simulates. Its controllers are let go faster than usual.
	Bare bool
	Say  func(format string, args ...any)
}

func (o Options) validate() error {
	switch {
	case runtime.GOOS != "linux":
		return errors.New("a local cluster needs Linux; use an existing cluster with CLUSTER=existing")
	case os.Geteuid() != 0:
		return errors.New("a local cluster needs root; use an existing cluster with CLUSTER=existing")
	case o.Bare && o.Nodes > 0:
		return fmt.Errorf("nodes: a bare cluster has none, and %d are asked for", o.Nodes)
	case o.Dir == "" || o.Cache == "" || o.Say == nil:
		return errors.New("dir, cache and say are required")
	}
	return nil
}

// Cluster is one cluster, locked against every other program that would change it.
type Cluster struct {
	Options
	Plan   plan.Plan
	unlock func()
	runner node.Runner
	auth   *pki.Authority
	bin    map[string]string
}

// Open finds the cluster in its folder; ErrNone when there is none. Close it.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	return open(ctx, o, false)
}

// Create finds the cluster, or lays out a new one. Close it.
func Create(ctx context.Context, o Options) (*Cluster, error) {
	return open(ctx, o, true)
}

func open(ctx context.Context, o Options, create bool) (_ *Cluster, err error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if create {
		if err := os.MkdirAll(o.Dir, 0o755); err != nil {
			return nil, err
		}
	}
	// Mount points are known by their real path.
	resolved, err := filepath.EvalSymlinks(o.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, o.Dir)
	} else if err != nil {
		return nil, err
	}
	o.Dir = resolved
	unlock, err := host.Lock(ctx, filepath.Join(o.Dir, "lock"))
	if err != nil {
		return nil, err
	}
	c := &Cluster{Options: o, unlock: unlock}
	if err := c.layOut(ctx, create); err != nil {
		unlock()
		return nil, err
	}
	return c, nil
}

// Close lets others at the cluster again; it goes on running.
func (c *Cluster) Close() { c.unlock() }

func (c *Cluster) layOut(ctx context.Context, create bool) error {
	rec, found, err := readRecord(c.Dir)
	if err != nil {
		return err
	}
	if !found && !create {
		return fmt.Errorf("%w in %s", ErrNone, c.Dir)
	}
	if found {
		if (c.Bare || c.Nodes > 0) && c.Bare != rec.bare() {
			return fmt.Errorf("nodes: this cluster has %d; take it down with --purge first, to have it with nodes or without", rec.Nodes)
		}
		if c.Nodes != 0 && c.Nodes < rec.Nodes {
			return fmt.Errorf("nodes: this cluster has %d and cannot shrink to %d; take it down with --purge first", rec.Nodes, c.Nodes)
		}
		rec.Nodes = max(rec.Nodes, c.Nodes)
		if c.Name != "" && c.Name != rec.Name {
			return fmt.Errorf("name: the cluster in %s is called %q", c.Dir, rec.Name)
		}
	} else {
		rec = record{Name: cmp.Or(c.Name, DefaultName), Nodes: c.Nodes}
		if rec.Nodes == 0 && !c.Bare {
			rec.Nodes = DefaultNodes
		}
	}
	if _, err := plan.New(0, rec.Name, c.Dir, rec.Nodes); err != nil {
		return err // before anything is claimed
	}
	if create {
		had := &rec
		if !found {
			had = nil
		}
		if rec.Instance, err = machineRegistry.claim(ctx, c.Dir, had, rec.Name); err != nil {
			return err
		}
		if err := rec.write(c.Dir); err != nil {
			return err
		}
	}
	c.Name, c.Nodes, c.Bare = rec.Name, rec.Nodes, rec.bare()
	if c.Plan, err = plan.New(rec.Instance, rec.Name, c.Dir, rec.Nodes); err != nil {
		return err
	}
	table, err := process.Open(c.Plan.Path("processes.json"))
	if err != nil {
		return err
	}
	groups, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	c.runner = node.Runner{Plan: c.Plan, Table: table, Groups: groups}
	return nil
}

// Up brings up what does not run, repairs what is broken, and leaves the rest alone.
func (c *Cluster) Up(ctx context.Context) error {
	begin := time.Now()
	if err := host.Require(ctx, host.ClusterTools, c.Say); err != nil {
		return err
	}
	if hint := host.WatchHint(len(c.Plan.Nodes)); hint != "" {
		c.Say("%s", hint)
	}
	if err := c.programs(ctx); err != nil {
		return err
	}
	if err := c.controlPlane(ctx); err != nil {
		return err
	}
	client, err := Client(c.Plan.Kubeconfig())
	if err != nil {
		return err
	}
	nodesBegin := time.Now()
	var started []string
	for _, n := range c.Plan.Nodes {
		did, err := c.runner.Up(ctx, n)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		if did {
			started = append(started, n.Name)
		}
	}
	if len(started) > 0 {
		c.Say("started %d of %d nodes; waiting until all are ready", len(started), len(c.Plan.Nodes))
	}
	if err := allowDNS(ctx, client); err != nil {
		return err
	}
	for _, name := range started {
		if err := waitForSignOfLife(ctx, client, name, nodesBegin); err != nil {
			return err
		}
	}
	if err := waitForNodes(ctx, client, c.Plan); err != nil {
		return err
	}
	if err := waitForDNS(ctx, c.Plan); err != nil {
		return err
	}
	recycled, err := volume.Ensure(ctx, client, c.Plan)
	if err != nil {
		return err
	}
	if recycled > 0 {
		c.Say("recycled %d released volumes", recycled)
	}
	c.Say("ready in %s", time.Since(begin).Round(100*time.Millisecond))
	return nil
}

func (c *Cluster) controlPlane(ctx context.Context) error {
	p := c.Plan
	if err := network.Bridge(ctx, p); err != nil {
		return err
	}
	if err := network.AcceptForwarding(ctx, p); err != nil {
		return err
	}
	var err error
	if c.auth, err = pki.Open(p.Path("pki"), time.Now); err != nil {
		return err
	}
	c.runner.Authority = c.auth
	if err := controlplane.Prepare(p, c.auth); err != nil {
		return err
	}
	// What the host's resolver searches is no business of the pods.
	if err := host.WriteFile(p.Path("config", "resolv.conf"), []byte("# the cluster's own DNS only\n"), 0o644); err != nil {
		return err
	}
	etcd, err := c.runner.Table.Ensure(ctx, controlplane.Etcd(p, c.bin))
	if err != nil {
		return err
	}
	api, err := c.runner.Table.Ensure(ctx, controlplane.APIServer(p, c.bin, c.auth))
	if err != nil {
		return err
	}
	if etcd || api {
		c.Say("started etcd and the API server at %s", p.Server())
	}
	if err := c.waitForAPI(ctx); err != nil {
		return err
	}
	for _, s := range controlplane.Controllers(p, c.bin, c.auth) {
		if _, err := c.runner.Table.Ensure(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Down ends what Up has started, and nothing else. The cluster's data stays for the next Up, unless purged.
func (c *Cluster) Down(ctx context.Context, purge bool) error {
	for _, n := range c.Plan.Nodes {
		if err := c.runner.Down(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
	}
	// The API server before etcd, without which it never ends by itself.
	table := c.runner.Table
	for _, name := range []string{"coredns", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"} {
		if err := table.Stop(ctx, name, 5*time.Second); err != nil {
			return err
		}
	}
	for _, name := range table.Names() {
		if err := table.Stop(ctx, name, 5*time.Second); err != nil {
			return err
		}
	}
	if err := table.KillMarked(ctx, func(_, _ string) bool { return true }); err != nil {
		return err
	}
	if err := network.RemoveBridge(ctx, c.Plan); err != nil {
		return err
	}
	if !purge {
		c.Say("down; its data stays in %s", c.Dir)
		return nil
	}
	// Whatever is still mounted below may not be ours to remove.
	if left, err := node.MountsBelow(c.Dir); err != nil || len(left) > 0 {
		return errors.Join(err, fmt.Errorf("not removed: still mounted are %v", left))
	}
	if err := machineRegistry.release(c.Plan.Instance); err != nil {
		return err
	}
	if err := os.RemoveAll(c.Dir); err != nil {
		return err
	}
	c.Say("down, and %s removed", c.Dir)
	return nil
}

// Package fdbsimtest runs a simulated FoundationDB for tests of others: a cluster within the test's own process, and a real
// program fdbcli with a real cluster file that leads to it. See DESIGN.md one folder up.
package fdbsimtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/node"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
	"github.com/rollcall-dev/rollcall/test/fdbsim/world"
)

// Options are the options of a cluster. Everything has a default.
type Options struct {
	Version    string
	Redundancy model.Redundancy
	Zones      int
	PerZone    int
	// Scale is how many virtual seconds pass in a real one: 0 means 1, negative means time stands
	// still.
	Scale float64
	// Spec may say more of the cluster. Addresses, version and the fields above are set in it.
	Spec model.Spec
}

// Cluster is a running one. It ends with the test.
type Cluster struct {
	CLI         string // path of fdbcli
	ClusterFile string
	Description string

	t      testing.TB
	world  *world.World
	mu     sync.Mutex
	fronts map[string]*http.Server
	homes  map[string]string // address of each process
	losses int
}

// networks gives each cluster of this test binary loopback addresses of its own.
var networks atomic.Int32

// Start starts a cluster that has been running for an hour.
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Scale == 0 {
		o.Scale = 1
	}
	spec := o.Spec
	spec.Version, spec.Redundancy, spec.Zones, spec.PerZone = o.Version, o.Redundancy, o.Zones, o.PerZone
	if spec.Version == "" {
		spec.Version = "7.3.63"
	}
	listeners := listen(t, max(spec.Zones, 3)*max(spec.PerZone, 3)+8)
	spec.Address = func(n int) string { return listeners[n].Addr().String() }
	m := model.New(spec)
	c := &Cluster{
		CLI: Program(t, "fdbcli", spec.Version), ClusterFile: filepath.Join(t.TempDir(), "fdb.cluster"), Description: m.Description,
		t: t, fronts: map[string]*http.Server{}, homes: map[string]string{},
	}
	connection := m.Connection()
	for n, p := range m.Processes {
		c.homes[p.Instance] = p.Address
		defer c.serve(p.Instance, listeners[n])
	}
	for _, l := range listeners[len(m.Processes):] {
		require.NoError(t, l.Close())
	}
	c.world = world.New(m, world.Options{Scale: max(o.Scale, 0)})
	require.NoError(t, wire.WriteClusterFile(c.ClusterFile, connection))
	t.Cleanup(func() {
		for instance := range c.homes {
			c.hideFront(instance)
		}
	})
	return c
}

// listen opens listeners, each on an IP of its own and all on one port, as fdbservers are.
func listen(t testing.TB, count int) []net.Listener {
	t.Helper()
	for range 50 {
		network := networks.Add(1)
		var all []net.Listener
		port := "0"
		for n := range count {
			ip := net.IPv4(127, byte(1+network%200), byte(network/200), byte(10+n))
			l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), port))
			if err != nil {
				break
			}
			all = append(all, l)
			_, port, _ = net.SplitHostPort(l.Addr().String())
		}
		if len(all) == count {
			return all
		}
		for _, l := range all {
			_ = l.Close()
		}
	}
	require.FailNow(t, "no loopback addresses are to be had")
	return nil
}

// serve lets a process answer at a listener.
func (c *Cluster) serve(instance string, l net.Listener) {
	address := l.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: node.Front(func() bool { return true },
		func(ctx context.Context, r wire.Request) (wire.Reply, error) {
			r.Via = address
			reply, err := c.world.Ask(ctx, r)
			if err == nil && r.Op == wire.SetCoordinators && reply.Connection != "" {
				err = wire.WriteClusterFile(c.ClusterFile, reply.Connection)
			}
			return reply, err
		})}
	c.mu.Lock()
	c.fronts[instance] = server
	c.mu.Unlock()
	go func() { _ = server.Serve(l) }()
}

func (c *Cluster) hideFront(instance string) {
	c.mu.Lock()
	server := c.fronts[instance]
	delete(c.fronts, instance)
	c.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
}

// Change does anything else to the cluster.
func (c *Cluster) Change(f func(*model.Cluster)) { c.world.Do(f) }

// Model is a copy of the cluster of now.
func (c *Cluster) Model() *model.Cluster {
	var m *model.Cluster
	c.world.Do(func(now *model.Cluster) { m = now.Clone() })
	return m
}

// Truth returns the truth of now.
func (c *Cluster) Truth() model.Truth { return c.Model().Truth() }

// Kill ends a process. Its volume stays.
func (c *Cluster) Kill(instance string) {
	c.must(instance)
	c.hideFront(instance)
	c.world.Do(func(m *model.Cluster) { m.Kill(instance) })
}

// Start brings a process back with what its volume holds.
func (c *Cluster) Start(instance string) {
	c.t.Helper()
	c.must(instance)
	c.mu.Lock()
	_, up := c.fronts[instance]
	c.mu.Unlock()
	if up {
		return
	}
	l, err := net.Listen("tcp", c.homes[instance])
	require.NoError(c.t, err)
	c.world.Do(func(m *model.Cluster) { m.Start(instance) })
	c.serve(instance, l)
}

// Restart is both.
func (c *Cluster) Restart(instance string) {
	c.Kill(instance)
	c.Start(instance)
}

// LoseVolume takes all that the volume of a killed process holds. It will start on an empty one.
func (c *Cluster) LoseVolume(instance string) {
	c.t.Helper()
	c.must(instance)
	c.losses++
	c.world.Do(func(m *model.Cluster) {
		require.False(c.t, m.Process(instance).Up, "%s is to be killed before its volume is lost", instance)
		m.LoseVolume(instance, fmt.Sprintf("%s/lost-%d", instance, c.losses))
	})
}

// Move gives a killed process another zone.
func (c *Cluster) Move(instance, zone string) {
	c.t.Helper()
	c.must(instance)
	c.world.Do(func(m *model.Cluster) {
		require.False(c.t, m.Process(instance).Up, "%s is to be killed before it moves", instance)
		m.Process(instance).Zone = zone
	})
}

// Upgrade lets a killed process start with another version.
func (c *Cluster) Upgrade(instance, version string) {
	c.t.Helper()
	c.must(instance)
	v, err := model.ParseVersion(version)
	require.NoError(c.t, err)
	c.world.Do(func(m *model.Cluster) {
		require.False(c.t, m.Process(instance).Up, "%s is to be killed before it is upgraded", instance)
		m.Process(instance).Version = v
	})
}

func (c *Cluster) must(instance string) {
	c.t.Helper()
	require.Contains(c.t, c.homes, instance, "there is no such process")
}

// InZone are the processes of a zone.
func (c *Cluster) InZone(zone string) []string { return c.Model().InZone(zone) }

// KillZone ends all processes of a zone.
func (c *Cluster) KillZone(zone string) {
	for _, instance := range c.InZone(zone) {
		c.Kill(instance)
	}
}

// StartZone brings them back.
func (c *Cluster) StartZone(zone string) {
	c.t.Helper()
	for _, instance := range c.InZone(zone) {
		c.Start(instance)
	}
}

// Advance lets virtual time go by.
func (c *Cluster) Advance(d time.Duration) {
	c.world.Do(func(m *model.Cluster) { m.Advance(d) })
}

// Settle advances until nothing moves and the newest generation is fully recovered, at most a virtual day. It reports whether
// it came to that.
func (c *Cluster) Settle() bool {
	var settled bool
	c.world.Do(func(m *model.Cluster) { settled = m.Settle(24 * time.Hour) })
	return settled
}

// Scale changes how fast time goes by itself.
func (c *Cluster) Scale(scale float64) { c.world.Scale(max(scale, 0)) }

// Fault is what fdbcli calls meet from now on.
func (c *Cluster) Fault(f wire.Fault) { c.world.Fault("", f) }

// FaultOn is what those meet that ask this coordinator.
func (c *Cluster) FaultOn(instance string, f wire.Fault) {
	c.must(instance)
	c.world.Fault(instance, f)
}

// Calls are the commands of all calls, oldest first.
func (c *Cluster) Calls() []string { return c.world.Calls() }

// Processes are the instances, first fdb-0.
func (c *Cluster) Processes() []string {
	var out []string
	for _, p := range c.Model().Processes {
		out = append(out, p.Instance)
	}
	return out
}

// The faults; see DESIGN.md.
const (
	None          = wire.None
	Hang          = wire.Hang
	HangForEver   = wire.HangForEver
	Garbage       = wire.Garbage
	Endless       = wire.Endless
	Truncated     = wire.Truncated
	WrongDatabase = wire.WrongDatabase
	Fail          = wire.Fail
	LongDelay     = wire.LongDelay
	NoDocument    = wire.NoDocument
	Down          = wire.Down
	LostAnswer    = wire.LostAnswer
)

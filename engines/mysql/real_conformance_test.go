package mysql

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestRealConformance runs the suite against real servers, with a proxy before each
// that misbehaves when told to.
func TestRealConformance(t *testing.T) {
	broadly(t, func(t *testing.T, flavor mysqltest.Flavor) {
		r := behindFronts(t, mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, SemiSync: true}))
		mysqltest.Table(t, r.servers[0])
		for _, s := range r.servers[1:] {
			s.AwaitExecuted(r.servers[0])
		}
		enginetest.Run(t, enginetest.Harness{
			Role: true, Patience: 10 * time.Second, Eventually: 45 * time.Second, Start: r.database,
		})
	})
}

// realServers with a proxy before each.
type realServers struct {
	servers []*mysqltest.Server
	fronts  []*mysqltest.Front
	names   []string
	changes atomic.Int64 // that are allowed; negative means all
}

// behindFronts puts a proxy before each server.
func behindFronts(t *testing.T, servers []*mysqltest.Server) *realServers {
	r := &realServers{servers: servers}
	for _, s := range servers {
		f := mysqltest.NewFront(t, s)
		f.Secret, f.Allowed = mysqltest.AgentPassword, r.allowed
		r.fronts, r.names = append(r.fronts, f), append(r.names, s.Address())
	}
	return r
}

func (r *realServers) allowed() bool {
	left := r.changes.Load()
	if left > 0 {
		r.changes.Store(left - 1)
	}
	return left != 0
}

// agented is a member as its agent has it: one thing at a time is written there.
type agented struct {
	*Engine
	wire *enginetest.Wire
	node string
}

func (a agented) PlanDrain(ctx context.Context, order engines.Order) (undo []byte, err error) {
	a.wire.Alone(a.node, func() { undo, err = a.Engine.PlanDrain(ctx, order) })
	return undo, err
}

func (a agented) Drain(ctx context.Context, order engines.Order, undo []byte) (p engines.Progress, err error) {
	a.wire.Alone(a.node, func() { p, err = a.Engine.Drain(ctx, order, undo) })
	return p, err
}

func (a agented) Restore(ctx context.Context, undo []byte) (p engines.Progress, err error) {
	a.wire.Alone(a.node, func() { p, err = a.Engine.Restore(ctx, undo) })
	return p, err
}

func (a agented) Sweep(ctx context.Context, keep []string) (err error) {
	a.wire.Alone(a.node, func() { err = a.Engine.Sweep(ctx, keep) })
	return err
}

func (a agented) Repair(ctx context.Context) (p engines.Progress, err error) {
	a.wire.Alone(a.node, func() { p, err = a.Engine.Repair(ctx) })
	return p, err
}

// agent returns a new agent of a member.
func agent(w *enginetest.Wired[*Engine], i int) agented {
	return agented{w.Engine(i), w.Wire, w.Names[i]}
}

// noted are the tries that members have in mind.
func noted(c *enginetest.Wired[*Engine]) []string {
	var out []string
	for i, from := range c.Names {
		data, err := c.Wire.From("").Look(context.Background(), from, true)
		var s replication.State
		if err != nil || json.Unmarshal(data, &s) != nil || s.Switch == nil {
			continue
		}
		out = append(out, fmt.Sprintf("%s has noted a try of %s", c.Names[i], s.Switch.From))
	}
	return out
}

// database makes member 0 the primary, past the adapter.
func (r *realServers) database(t *testing.T) enginetest.Database {
	r.heal()
	for _, s := range r.servers {
		s.RefuseWrites()
	}
	r.servers[0].Exec("STOP REPLICA", "RESET REPLICA ALL")
	r.servers[0].SemiSync(true)
	r.servers[0].AllowWrites()
	for _, s := range r.servers[1:] {
		s.SemiSync(false)
		s.Follow(r.servers[0])
	}
	for _, s := range r.servers[1:] {
		s.AwaitFollowing()
	}
	return r.members(t, r.unrest, nil)
}

// heal ends what the suite does to the servers.
func (r *realServers) heal() {
	r.changes.Store(-1)
	for _, f := range r.fronts {
		f.Set(enginetest.Healthy)
	}
}

// members are the servers with an agent each. unrest is what is not as it should be, and change what
// the agent of a member is told besides.
func (r *realServers) members(t *testing.T, unrest func() []string, change func(i int, o *Options)) enginetest.Database {
	c := enginetest.NewWired(r.names, func(i int, peers engines.Peers) *Engine {
		o := realOptions(r.servers[i])
		o.Port, o.Peers, o.Timeout, o.MaxBytes = r.fronts[i].Port, peers, 2*time.Second, 256<<10
		o.Limits.Quiet, o.Limits.RetryAfter, o.Limits.Patience = time.Second, 500*time.Millisecond, 6*time.Second
		if change != nil {
			change(i, &o)
		}
		e, err := New(o)
		require.NoError(t, err)
		return e
	})
	return enginetest.Database{
		Members:     r.names,
		Engine:      func(i int) engines.Engine { return agent(c, i) },
		Fault:       func(i int, f enginetest.Fault) { r.fronts[i].Set(f) },
		FailChanges: func(after int) { r.changes.Store(int64(after)) },
		Leaves:      c.Leaves,
		Leads:       r.leads,
		Hosts:       func(int) int { return 2 },
		Leftovers:   func() []string { return append(unrest(), noted(c)...) },
		Secrets:     []string{mysqltest.AgentPassword, mysqltest.ReplicaPassword},
		Connections: func() (open int) {
			for _, f := range r.fronts {
				open += f.Open()
			}
			return open
		},
		Close: c.Close,
	}
}

// leads: the primary leads the group of that name and that of the data.
func (r *realServers) leads(i int) int {
	if r.servers[i].Value("SELECT @@read_only") == "0" {
		return 2
	}
	return 0
}

// unrest is what is not as it is when one allows writes and all others follow it.
func (r *realServers) unrest() []string {
	var out []string
	var primary *mysqltest.Server
	for i, s := range r.servers {
		if r.leads(i) == 0 {
			continue
		}
		if primary != nil {
			out = append(out, s.Address()+" allows writes too")
		}
		primary = s
	}
	if primary == nil {
		return []string{"nobody allows writes"}
	}
	for _, s := range r.servers {
		rows := s.Rows("SHOW REPLICA STATUS")
		if s == primary {
			if len(rows) > 0 {
				out = append(out, s.Address()+" is a replica and allows writes")
			}
			continue
		}
		if len(rows) != 1 || rows[0]["Source_Port"]+rows[0]["Master_Port"] != fmt.Sprint(primary.Port) {
			out = append(out, s.Address()+" does not follow the primary")
		}
	}
	return out
}

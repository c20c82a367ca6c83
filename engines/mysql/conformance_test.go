package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/switchover"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// TestConformance runs the suite on the model of servers, in virtual time.
func TestConformance(t *testing.T) {
	for _, flavor := range []replication.Flavor{replication.MySQL, replication.MariaDB} {
		t.Run(string(flavor), func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{
				Role: true, Virtual: true, Patience: 20 * time.Second, Eventually: time.Minute,
				Start: func(t *testing.T) enginetest.Database { return modelled(t, flavor) },
			})
		})
	}
}

// model is the model of servers that several may use at once, with faults.
type model struct {
	world   *simWorld
	turn    chan struct{} // a mutex would stop virtual time
	faults  []enginetest.Fault
	changes int // that are allowed; negative means all
}

// alone calls f while nobody else uses the model.
func (m *model) alone(f func()) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	f()
}

func modelled(t *testing.T, flavor replication.Flavor) enginetest.Database {
	m := &model{turn: make(chan struct{}, 1), faults: make([]enginetest.Fault, 3), changes: -1}
	m.world = newWorld(simSetup{flavor: flavor, members: 3, acks: 1}, false)
	var names []string
	for _, s := range m.world.list {
		names = append(names, s.name)
	}
	c := enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
		limits := switchover.Limits{Quiet: time.Second, RetryAfter: 500 * time.Millisecond, Patience: 6 * time.Second}
		return newEngine(&modelServer{model: m, member: i}, Options{Access: web.Access{Timeout: time.Second}, Peers: peers, Limits: limits})
	})
	leads := func(i int) (groups int) {
		m.alone(func() {
			if s := m.world.list[i]; s.up && s.writes == replication.Allowed {
				groups = 2
			}
		})
		return groups
	}
	return enginetest.Database{
		Members:     names,
		Engine:      func(i int) engines.Engine { return agent(c, i) },
		Fault:       func(i int, f enginetest.Fault) { m.alone(func() { m.faults[i] = f }) },
		FailChanges: func(after int) { m.alone(func() { m.changes = after }) },
		Leaves:      c.Leaves,
		Leads:       leads,
		Hosts:       func(int) int { return 2 },
		Leftovers: func() []string {
			var out []string
			m.alone(func() { out = m.unrest() })
			return append(out, noted(c)...)
		},
		Close: c.Close,
	}
}

// unrest is what is not as it is when one allows writes and all others follow it, and
// what should never be.
func (m *model) unrest() []string {
	out := m.world.violations
	primary := ""
	for _, s := range m.world.list {
		if s.writes == replication.Allowed {
			primary = s.name
		}
	}
	for _, s := range m.world.list {
		if s.name != primary && s.source != primary || s.name == primary && s.source != "" {
			out = append(out, fmt.Sprintf("%s follows %q, and %q allows writes", s.name, s.source, primary))
		}
	}
	return out
}

// modelServer is an agent's way to the model.
type modelServer struct {
	*model
	member int
	closed bool
}

var errClosed = errors.New("the connection is closed")

func (s *modelServer) Close() error {
	s.closed = true
	return nil
}

// do calls f unless the server misbehaves.
func (s *modelServer) do(ctx context.Context, change bool, f func(simConn) error) (err error) {
	fault := enginetest.Healthy
	s.alone(func() {
		a := s.world.agents[s.member]
		switch fault = s.faults[s.member]; {
		case s.closed:
			err = errClosed
		case fault != enginetest.Healthy:
			err = errors.New("the server does not work")
		case change && s.changes == 0:
			err = errors.New("the change failed")
		default:
			if change && s.changes > 0 {
				s.changes--
			}
			err = f(simConn{a, a.life})
		}
	})
	if fault == enginetest.Hung {
		return fault.Answer(ctx)
	}
	return err
}

func (s *modelServer) Look(ctx context.Context) (state replication.State, err error) {
	err = s.do(ctx, false, func(c simConn) (err error) { state, err = c.Look(ctx); return err })
	return state, err
}

func (s *modelServer) StopWrites(ctx context.Context, within time.Duration) error {
	return s.do(ctx, true, func(c simConn) error { return c.StopWrites(ctx, within) })
}

func (s *modelServer) AllowWrites(ctx context.Context) error {
	return s.do(ctx, true, func(c simConn) error { return c.AllowWrites(ctx) })
}

func (s *modelServer) DropClients(ctx context.Context) (n int, err error) {
	err = s.do(ctx, true, func(c simConn) (err error) { n, err = c.DropClients(ctx); return err })
	return n, err
}

func (s *modelServer) Awaits(ctx context.Context, position string, within time.Duration) (ok bool, err error) {
	err = s.do(ctx, false, func(c simConn) (err error) { ok, err = c.Awaits(ctx, position, within); return err })
	return ok, err
}

func (s *modelServer) Detach(ctx context.Context) error {
	return s.do(ctx, true, func(c simConn) error { return c.Detach(ctx) })
}

func (s *modelServer) Follow(ctx context.Context, host string, port int, demoted bool) error {
	return s.do(ctx, true, func(c simConn) error { return c.Follow(ctx, host, port, demoted) })
}

func (s *modelServer) StartFollowing(ctx context.Context) error {
	return s.do(ctx, true, func(c simConn) error { return c.StartFollowing(ctx) })
}

func (s *modelServer) AcknowledgeAs(ctx context.Context, primary bool) error {
	return s.do(ctx, true, func(c simConn) error { return c.AcknowledgeAs(ctx, primary) })
}

func (s *modelServer) ElectPrimary(ctx context.Context, id string) error {
	return s.do(ctx, true, func(c simConn) error { return c.ElectPrimary(ctx, id) })
}

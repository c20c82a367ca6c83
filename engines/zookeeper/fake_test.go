package zookeeper

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// cluster is a model of servers in one ensemble.
type cluster struct {
	mu      sync.Mutex
	members []State
	faults  []enginetest.Fault
}

// lines are a configuration of server.1 and so on, the last of which are observers.
func lines(voters, observers int) Config {
	var c Config
	for i := range voters + observers {
		c.Servers = append(c.Servers, Server{Node: nodeOf(int64(i + 1)), Host: fmt.Sprintf("zk-%d.zk.prod.svc", i), Client: 2181, Voter: i < voters})
	}
	return c
}

// healthy are the States of an ensemble that server.1 leads.
func healthy(voters, observers int) []State {
	c := lines(voters, observers)
	var out []State
	for i, s := range c.Servers {
		one := State{Node: s.Node, Version: "3.9.4", Serving: true, Mode: Following, Leader: "server.1", Learners: -1, Observing: -1, Synced: -1, Config: c}
		switch {
		case i == 0:
			one.Mode, one.Learners, one.Observing, one.Synced = Leading, voters+observers-1, observers, voters-1
		case !s.Voter:
			one.Mode = Observing
		}
		out = append(out, one)
	}
	return out
}

// fakeServer is an agent's way to a server.
type fakeServer struct {
	*cluster
	member int
	closed bool
}

func (f *fakeServer) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

func (f *fakeServer) Ask(ctx context.Context, host string, _ int) Answer {
	f.mu.Lock()
	i := slices.IndexFunc(f.members[f.member].Config.Servers, func(s Server) bool { return s.Host == host })
	f.mu.Unlock()
	s, err := (&fakeServer{cluster: f.cluster, member: i}).Look(ctx)
	if err != nil {
		return Answer{Why: err.Error()}
	}
	return Answer{Mode: s.Mode, Looking: s.Looking}
}

func (f *fakeServer) Look(ctx context.Context) (State, error) {
	f.mu.Lock()
	s, fault := f.members[f.member], f.faults[f.member]
	if f.closed {
		fault = enginetest.Failing
	}
	f.mu.Unlock()
	if err := fault.Answer(ctx); err != nil {
		return State{}, err
	}
	s.Looked = time.Now()
	return s, nil
}

// databaseOn is what the suite sees of an ensemble, led by the first.
func databaseOn(w *enginetest.Wired[*Engine], fault func(i int, f enginetest.Fault)) enginetest.Database {
	return enginetest.Database{
		Members:     w.Names,
		Engine:      func(i int) engines.Engine { return w.Engine(i) },
		Fault:       fault,
		FailChanges: func(int) {}, // there are none
		Hosts:       func(int) int { return 1 },
		Leftovers:   func() []string { return nil },
		Leaves:      w.Leaves,
		Close:       w.Close,
	}
}

// TestConformance runs the suite on the model, in virtual time.
func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Role: true, InPlace: true, Elects: true, Virtual: true, Patience: 10 * time.Second, Eventually: time.Minute,
		Start: func(*testing.T) enginetest.Database {
			c := &cluster{members: healthy(5, 0), faults: make([]enginetest.Fault, 5)} // the suite drains two at once
			w := enginetest.NewWired([]string{"server.1", "server.2", "server.3", "server.4", "server.5"}, func(i int, peers engines.Peers) *Engine {
				return newEngine(&fakeServer{cluster: c, member: i}, Options{Access: web.Access{Timeout: time.Second}, Peers: peers})
			})
			db := databaseOn(w, func(i int, f enginetest.Fault) {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.faults[i] = f
			})
			db.Leads = func(i int) int {
				if i == 0 {
					return 1
				}
				return 0
			}
			return db
		},
	})
}

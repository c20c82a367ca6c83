package galera

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
)

// component is a model of members in one primary component.
type component struct {
	mu      sync.Mutex
	members []State
	faults  []enginetest.Fault
}

// newComponent has synced members db-0, db-1 and so on.
func newComponent(n int) *component {
	return &component{members: synced(n), faults: make([]enginetest.Fault, n)}
}

// synced are the States of healthy members.
func synced(n int) []State {
	var seen []Seen
	for i := range n {
		seen = append(seen, Seen{UUID: fmt.Sprintf("uuid-%d", i), Name: fmt.Sprintf("db-%d", i), Address: fmt.Sprintf("10.0.0.%d:3306", i)})
	}
	var out []State
	for i := range n {
		out = append(out, State{
			Node: seen[i].Name, Version: "10.11.19", Serving: true, UUID: seen[i].UUID, Cluster: "cluster", View: 7, Primary: true, Connected: true, Operational: true,
			Phase: Synced, Words: "Synced", Ready: true, Weight: 1, Total: n, Size: n, Seen: seen, Committed: 1000, Cached: 100,
		})
	}
	return out
}

// fakeServer is an agent's way to a member.
type fakeServer struct {
	*component
	member int
	closed bool
}

func (f *fakeServer) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
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

// TestConformance runs the suite on the model, in virtual time.
func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{
		Role: true, Leaderless: true, Virtual: true, Patience: 10 * time.Second, Eventually: time.Minute,
		Start: func(*testing.T) enginetest.Database {
			c := newComponent(3)
			names := []string{"db-0", "db-1", "db-2"}
			w := enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
				return newEngine(&fakeServer{component: c, member: i}, Options{Access: web.Access{Timeout: time.Second}, Peers: peers})
			})
			return enginetest.Database{
				Members: names,
				Engine:  func(i int) engines.Engine { return w.Engine(i) },
				Fault: func(i int, f enginetest.Fault) {
					c.mu.Lock()
					defer c.mu.Unlock()
					c.faults[i] = f
				},
				FailChanges: func(int) {}, // there are none
				Leads:       func(int) int { return 0 },
				Hosts:       func(int) int { return 2 },
				Leftovers:   func() []string { return nil },
				Leaves:      w.Leaves,
				Close:       w.Close,
			}
		},
	})
}

package agent

import (
	"context"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/memory"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// twin is a member of the memory database that does things together with others:
// it notes what it is asked.
type twin struct {
	engines.Engine
	peers engines.Peers

	mu      sync.Mutex
	steps   []engines.Step
	repairs int
	hang    bool
}

func (w *twin) Look(ctx context.Context, fresh bool) ([]byte, error) {
	if w.hangs() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if fresh {
		return []byte(`"fresh"`), nil
	}
	return []byte(`"known"`), nil
}

func (w *twin) Step(ctx context.Context, step engines.Step) ([]byte, error) {
	if w.hangs() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, step)
	return step.Body, nil
}

func (w *twin) Repair(context.Context) (engines.Progress, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.repairs++
	return engines.Progress{State: engines.ProgressRunning, Detail: "follows soon"}, nil
}

func (w *twin) hangs() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.hang }

func (w *twin) hung(hang bool) { w.mu.Lock(); defer w.mu.Unlock(); w.hang = hang }

func (w *twin) taken() []engines.Step {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]engines.Step(nil), w.steps...)
}

func (w *twin) repaired() int { w.mu.Lock(); defer w.mu.Unlock(); return w.repairs }

// twins are agents whose engines are twins, all in touch.
func twins(t *testing.T, n int, change ...func(*Options)) (*ring, []*twin) {
	var nodes []string
	for i := range n {
		nodes = append(nodes, node(i))
	}
	database := memory.New(memory.Options{}, nodes...)
	database.AddGroup("books/s1", nodes...)
	r := newRing(t, database)
	all := make([]*twin, n)
	for i := range n {
		all[i] = &twin{Engine: database.Engine(node(i))}
		r.start(i, append([]func(*Options){func(o *Options) {
			o.NewEngine = func(_ config.File, p engines.Peers) (engines.Engine, error) {
				all[i].peers = p
				return all[i], nil
			}
		}}, change...)...)
	}
	r.run(r.members...)
	for i := range n {
		eventually(t, "all are alive and named", func() bool {
			found := 0
			if roster, _ := r.members[i].agent.mesh.Roster(); roster.Synced {
				for _, e := range roster.Entries {
					if e.Headline.GetNode() != "" && e.Liveness == rollcallv1.Liveness_LIVENESS_ALIVE {
						found++
					}
				}
			}
			return found == n
		})
	}
	return r, all
}

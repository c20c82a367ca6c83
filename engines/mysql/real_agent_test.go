package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/server"
)

// realAgent is one life of an agent: past its end it changes and learns nothing.
type realAgent struct {
	i      int
	w      *realWorld
	engine *Engine
	ended  atomic.Bool

	mu     sync.Mutex
	cancel context.CancelFunc // of what is being done
	job    realJob
	last   string
	idle   bool
}

// realJob is what an agent has been ordered, as it would read it from its disk.
type realJob struct {
	phase realPhase
	order engines.Order
	undo  []byte
	after realPhase // when it is done
}

type realPhase uint8

const (
	repairs realPhase = iota
	applies
	restores
)

// order gives an agent a job that is done soon.
func (a *realAgent) order(job realJob) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.job, a.idle = job, false
}

// interrupt ends a round of repairs, as an agent does for a step.
func (a *realAgent) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.job.phase == repairs {
		a.cancel()
	}
}

// carriedOut waits until the agent's order is.
func (w *realWorld) carriedOut(i int) {
	w.t.Helper()
	mysqltest.Eventually(w.t, func() bool {
		a := w.agent(i)
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.job.phase == repairs
	})
}

// live is the loop of the agents of one member, one after the other.
func (w *realWorld) live(i int) {
	for engines.Sleep(w.ctx, 40*time.Millisecond) {
		if a := w.agent(i); !a.ended.Load() {
			w.wire.Alone(w.servers[i].Address(), a.turn)
		}
	}
}

func (a *realAgent) turn() {
	ctx, cancel := context.WithTimeout(a.w.ctx, time.Minute)
	defer cancel()
	a.mu.Lock()
	a.cancel = cancel
	job := a.job
	a.mu.Unlock()
	if a.ended.Load() {
		return
	}
	var p engines.Progress
	var err error
	switch job.phase {
	case applies:
		p, err = a.engine.Drain(ctx, job.order, job.undo)
	case restores:
		p, err = a.engine.Restore(ctx, job.undo)
	default:
		p, err = a.engine.Repair(ctx)
	}
	if a.ended.Load() {
		return
	}
	text := fmt.Sprintf("%s: turn %d: %s %s %v", a.w.servers[a.i].Name, job.phase, p.State, p.Detail, err)
	a.mu.Lock()
	told := text == a.last
	a.last = text
	finished := err == nil && p.State != engines.ProgressRunning && a.job.phase == job.phase
	a.idle = finished && job.phase == repairs
	if finished && job.phase != repairs {
		a.job.phase, a.job.after = a.job.after, repairs
	}
	a.mu.Unlock()
	if !told {
		a.w.note("%s", text)
	}
}

var errEnded = errors.New("the agent has ended")

// around is where an agent may end: before it does something, or when it is done
// and before it hears of it.
func (a *realAgent) around(what string, do func() error) error {
	for _, moment := range []string{" before", " after"} {
		if a.ended.Load() {
			return errEnded
		}
		a.w.mu.Lock()
		at := a.w.at
		a.w.mu.Unlock()
		lost := at != nil && at(a.i, what+moment)
		if a.ended.Load() {
			return errEnded
		}
		if lost {
			return errLost
		}
		if moment == " after" {
			break
		}
		if err := do(); err != nil {
			a.w.note("%s %s: %v", a.w.servers[a.i].Name, what, err)
			return err
		}
		a.w.note("%s %s", a.w.servers[a.i].Name, what)
	}
	return nil
}

// realServer is a real one, as an agent that may end reaches it.
type realServer struct {
	*server.Server
	a *realAgent
}

func (s realServer) Look(ctx context.Context) (replication.State, error) {
	if s.a.ended.Load() {
		return replication.State{}, errEnded
	}
	return s.Server.Look(ctx)
}

func (s realServer) StopWrites(ctx context.Context, within time.Duration) error {
	return s.a.around("stopWrites", func() error { return s.Server.StopWrites(ctx, within) })
}

func (s realServer) AllowWrites(ctx context.Context) error {
	return s.a.around("allowWrites", func() error {
		err := s.Server.AllowWrites(ctx)
		s.a.w.alone(s.a.i)
		return err
	})
}

func (s realServer) DropClients(ctx context.Context) (ended int, err error) {
	err = s.a.around("dropClients", func() (err error) { ended, err = s.Server.DropClients(ctx); return err })
	return ended, err
}

func (s realServer) Awaits(ctx context.Context, position string, within time.Duration) (there bool, err error) {
	err = s.a.around("awaits", func() (err error) { there, err = s.Server.Awaits(ctx, position, within); return err })
	return there, err
}

func (s realServer) Detach(ctx context.Context) error {
	return s.a.around("detach", func() error { return s.Server.Detach(ctx) })
}

func (s realServer) Follow(ctx context.Context, host string, port int, demoted bool) error {
	return s.a.around("follow", func() error { return s.Server.Follow(ctx, host, port, demoted) })
}

func (s realServer) StartFollowing(ctx context.Context) error {
	return s.a.around("startFollowing", func() error { return s.Server.StartFollowing(ctx) })
}

func (s realServer) ElectPrimary(ctx context.Context, id string) error {
	return s.a.around("electPrimary", func() error { return s.Server.ElectPrimary(ctx, id) })
}

func (s realServer) AcknowledgeAs(ctx context.Context, primary bool) error {
	return s.a.around("acknowledgeAs", func() error { return s.Server.AcknowledgeAs(ctx, primary) })
}

// realPeers are the others, as an agent that may end reaches them.
type realPeers struct {
	engines.Peers
	a *realAgent
}

func (p realPeers) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	if p.a.ended.Load() {
		return nil, errEnded
	}
	return p.Peers.Look(ctx, node, fresh)
}

func (p realPeers) Step(ctx context.Context, node string, step engines.Step) (body []byte, err error) {
	to := slices.IndexFunc(p.a.w.servers, func(s *mysqltest.Server) bool { return s.Address() == node })
	err = p.a.around(fmt.Sprintf("asks %d: %s", to, step.Name), func() (err error) {
		p.a.w.agent(to).interrupt()
		body, err = p.Peers.Step(ctx, node, step)
		return err
	})
	return body, err
}

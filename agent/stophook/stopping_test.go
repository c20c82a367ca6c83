package stophook

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/drain"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/agent/state"
	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stopping is an agent's stop hook with everything that it works on.
type stopping struct {
	*Hook
	t       *testing.T
	engine  *agenttest.Engine
	dir     string
	machine string
	booted  time.Time
	file    config.Drain
	tasks   sync.WaitGroup
	cancel  context.CancelFunc

	mu     sync.Mutex
	member engines.Membership
	look   func(context.Context) (engines.Observation, error)
	log    []string // what changed the database
}

func newStopping(t *testing.T, dir string) *stopping {
	s := &stopping{t: t, dir: dir, machine: "first", booted: time.Now().Add(-time.Hour), member: engines.MembershipLive}
	s.engine = &agenttest.Engine{
		OnObserve: func(ctx context.Context) (engines.Observation, error) {
			s.mu.Lock()
			look, member := s.look, s.member
			s.mu.Unlock()
			if look != nil {
				return look(ctx)
			}
			return engines.Observation{Node: "n", Member: member}, nil
		},
		OnDrain: func(_ context.Context, o engines.Order, _ []byte) (engines.Progress, error) {
			s.note("apply " + o.Claim + " " + o.Kind.String())
			return engines.Progress{State: engines.ProgressDone}, nil
		},
		OnRestore: func(undo []byte) (engines.Progress, error) {
			s.note("restore " + string(undo))
			return engines.Progress{State: engines.ProgressDone}, nil
		},
		OnSweep: func([]string) error { s.note("sweep"); return nil },
	}
	return s
}

func (s *stopping) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *stopping) noted() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.log...)
}

func (s *stopping) becomes(m engines.Membership) {
	s.mu.Lock()
	s.member = m
	s.mu.Unlock()
}

// start begins an agent's process; the database and the directory stay.
func (s *stopping) start() {
	ctx, cancel := context.WithCancel(s.t.Context())
	s.cancel = cancel
	logger := slog.New(slog.DiscardHandler)
	b := probe.NewBoard(&rollcallv1.Identity{Pod: "p", PodUid: "uid"}, logger)
	slot := slotOf(s.engine)
	clock := func() (state.BootTime, error) {
		return state.BootTime{Boot: s.machine, Since: time.Since(s.booted)}, nil
	}
	d := drain.New(ctx, drain.Options{
		Engine: slot, OwnClaim: "stop-uid", Translate: func(p []string) []string { return p }, OnChange: b.SetDrain,
		Clock: clock, Fence: &fence.Fence{OnRaise: func(int64) {}}, PeersHeard: func() bool { return true }, Logger: logger,
	})
	s.Hook = New(ctx, Options{
		Drainer: d, Engine: slot, Board: b, Store: state.Store{Dir: s.dir, PodUID: "uid"}, Clock: clock, Grace: 60 * time.Second,
		Drain: func() config.Drain { return s.file }, Metrics: NewMetrics(prometheus.NewRegistry()), Logger: logger,
	})
	p := probe.NewProber(probe.Options{
		Engine: slot, Interval: time.Second, Timeout: 10 * time.Second, Metrics: probe.NewMetrics(prometheus.NewRegistry(), b),
		OnResult: func(look probe.Result) {
			b.SetResult(look)
			s.Hook.OnResult(look)
		},
	})
	s.tasks.Go(d.Run)
	s.tasks.Go(func() { p.Run(ctx) })
	s.tasks.Go(func() { s.Hook.Run(ctx) })
}

func (s *stopping) end() { s.cancel(); s.tasks.Wait() }

func (s *stopping) phase() rollcallv1.Phase {
	synctest.Wait()
	v, _ := s.Board.Latest()
	return v.Phase
}

func stopTest(t *testing.T, body func(t *testing.T, s *stopping)) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/pod", []byte("uid"), 0o600)) // swept before
	synctest.Test(t, func(t *testing.T) {
		s := newStopping(t, dir)
		s.start()
		time.Sleep(1500 * time.Millisecond)
		body(t, s)
		s.end()
	})
}

func handOff(claim string) drain.Order {
	return drain.Order{Claim: claim, Kind: engines.Handoff, Epoch: 1, Undo: []byte("undo")}
}

func (s *stopping) drainState() rollcallv1.Drain {
	synctest.Wait()
	j, _ := s.Drainer.Status()
	return j.State
}

func slotOf(e engines.Engine) *probe.Slot {
	s := &probe.Slot{}
	_ = s.Set(e) // there is none to be closed
	return s
}

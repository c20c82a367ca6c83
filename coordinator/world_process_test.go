package coordinator

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// process is one coordinator, without an election.
type process struct {
	board  *status.Board
	guard  *guard.Guard
	client *kubetest.Client
	stop   context.CancelFunc
	done   chan struct{}

	// decided counts decisions.
	decided atomic.Int64

	mu     sync.Mutex
	writes map[string]int
	lists  int
	// sequence of the writes, each with " while claimed" when it was sent after a claim.
	sequence []string
}

func (p *process) Decided(*status.Decision, status.Decision) { p.decided.Add(1) }

func (p *process) Gone(Key) {}

type noTerm struct{}

func (noTerm) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

func (w *world) start() *process {
	p := &process{done: make(chan struct{}), writes: map[string]int{}}
	p.board = status.NewBoard(p)
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
		if w.hangs != nil && w.hangs(c) {
			<-w.released
			return nil, errors.New("the connection was lost")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.Verb == "list" {
			p.lists++
		}
		if c.Write() {
			p.writes[c.Verb+" "+c.Resource]++
			p.sequence = append(p.sequence, c.Verb+" "+c.Resource+w.whileClaimed())
			if w.written != nil {
				return func() error { w.written(c); return nil }, nil
			}
		}
		return nil, nil
	})
	if w.onClient != nil {
		w.onClient(p.client)
	}
	log := slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	if testing.Short() {
		log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	cache, err := kube.New(kube.Options{Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Logger: log})
	require.NoError(w.t, err)
	streams, err := agents.New(agents.Options{Plaintext: true, Logger: log, Dial: func(ctx context.Context, address string) (net.Conn, error) {
		ip, _, _ := net.SplitHostPort(address)
		w.mu.Lock()
		m := w.byIP[ip]
		if m == nil || w.deaf[m.revision] {
			w.mu.Unlock()
			return nil, errors.New("connection refused")
		}
		listener := m.listener
		w.mu.Unlock()
		return listener.DialContext(ctx)
	}})
	require.NoError(w.t, err)
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(w.t.Context())
	p.stop = stop
	if w.guarded {
		p.guard, err = guard.New(guard.Options{Kubernetes: p.client.Kubernetes, Cache: cache, Logger: log})
		require.NoError(w.t, err)
		running.Go(func() { _ = p.guard.Watch(ctx) })
	}
	o := Options{Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Cache: cache, Agents: streams, Board: p.board, Logger: log, FirstLooks: w.firstLooks}
	if p.guard != nil {
		o.Guard = p.guard
	}
	if w.provision != nil {
		o.Provision = func(_ context.Context, objects kube.ClusterObjects) (time.Time, error) {
			return time.Time{}, w.provision(Key{Namespace: objects.Cluster.Namespace, Name: objects.Cluster.Name})
		}
	}
	c, err := New(o)
	require.NoError(w.t, err)
	running.Go(func() { _ = cache.Run(ctx) })
	running.Go(func() { _ = streams.Run(ctx) })
	running.Go(func() {
		for w.guarded && !p.guard.Synced() && ctx.Err() == nil { // as the election waits
			time.Sleep(100 * time.Millisecond)
		}
		_ = c.Lead(ctx, noTerm{})
	})
	go func() {
		running.Wait()
		close(p.done)
	}()
	return p
}

func (p *process) end() {
	p.stop()
	<-p.done
}

// total of writes so far, other than Events.
func (p *process) total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, count := range p.writes {
		n += count
	}
	return n
}

// listed counts the lists so far.
func (p *process) listed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lists
}

// stop ends all agents, so that nothing outlives the test.
func (w *world) end() {
	time.Sleep(10 * time.Second) // kubelets finish
	w.stopAgents()
}

func (w *world) stopAgents() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, db := range w.dbs {
		for _, m := range db.members {
			m.server.Stop()
		}
	}
}

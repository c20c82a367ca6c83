package fdbreal

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/agent/probe"
	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/foundationdb"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// agent is what runs beside a pod's process: the adapter, and the board that makes reports of what it sees.
type agent struct {
	pod    *Pod
	uid    types.UID
	born   time.Time
	engine *foundationdb.Engine
	board  *probe.Board
	silent bool

	mu     sync.Mutex
	result probe.Result
	took   time.Duration
}

// bear makes the directory that lives as long as a pod, and the pod's first engine. It is called before the process starts, as a
// pod is older than what runs in it.
func bear(t testing.TB, c *Cluster, p *Pod) {
	p.state = t.TempDir()
	require.NoError(t, newEngine(t, c, p).Close())
}

func newEngine(t testing.TB, c *Cluster, p *Pod) *foundationdb.Engine {
	file := newClient(t, c.CLI(), c.connection()).file
	e, err := foundationdb.New(foundationdb.Options{Instance: p.Name, Client: c.CLI(), ClusterFile: file, StateDir: p.state})
	require.NoError(t, err)
	return e
}

func newAgent(t testing.TB, c *Cluster, p *Pod, uid types.UID) *agent {
	e := newEngine(t, c, p)
	identity := &rollcallv1.Identity{Namespace: namespace, Cluster: clusterName, Pod: p.Name, PodUid: string(uid), Zone: p.Zone, Incarnation: 1}
	return &agent{pod: p, uid: uid, born: time.Now(), engine: e, board: probe.NewBoard(identity, slog.New(slog.NewTextHandler(os.Stderr, nil)))}
}

// probeTimeout is that of an agent.
const probeTimeout = 10 * time.Second

func (a *agent) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	started := time.Now()
	o, err := a.engine.Observe(ctx)
	a.mu.Lock()
	a.result, a.took = a.result.Follow(started, o, err), time.Since(started)
	result := a.result
	a.mu.Unlock()
	a.board.SetResult(result)
}

// report is its newest, and when that was observed.
func (a *agent) report() (*rollcallv1.Report, time.Time) {
	a.mu.Lock()
	at := a.result.Started
	a.mu.Unlock()
	if at.IsZero() {
		return nil, at
	}
	v, _ := a.board.Latest()
	return a.board.Report(v, true), at
}

// last is what the adapter saw last.
func (a *agent) last() (engines.Observation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result.Observation, a.result.Err
}

func (a *agent) close() { _ = a.engine.Close() }

package peers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/agent/gossip"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

const (
	firstMeshPause = time.Second
	lastMeshPause  = 30 * time.Second
)

// Mesh is one membership of the gossip: a gossip.Mesh.
type Mesh interface {
	Run(ctx context.Context) error
	Publish(h *rollcallv1.Headline) error
	Roster() (gossip.Roster, <-chan struct{})
	Rekey(keys [][]byte) error
}

// Keeper keeps a mesh running for the current configuration: another cluster needs
// another mesh, and a mesh that cannot start is tried again.
type Keeper struct {
	logger      *slog.Logger
	syncTimeout time.Duration

	mu       sync.Mutex
	mesh     Mesh
	keys     [][]byte // for this mesh and the next one
	headline *rollcallv1.Headline
	since    time.Time     // when this cluster's first mesh was started
	changed  chan struct{} // closed when the mesh is replaced
	problem  string

	cancel context.CancelFunc
	ended  chan struct{}
}

func NewKeeper(syncTimeout time.Duration, logger *slog.Logger) *Keeper {
	return &Keeper{logger: logger, syncTimeout: syncTimeout, changed: make(chan struct{})}
}

// Start replaces the running mesh. It calls create for each attempt, with the keys
// as of then. Only one goroutine may call Start, Rekey and Stop.
func (k *Keeper) Start(ctx context.Context, keys [][]byte, create func([][]byte) (Mesh, error)) {
	k.Stop()
	ctx, k.cancel = context.WithCancel(ctx)
	k.ended = make(chan struct{})
	k.mu.Lock()
	k.since, k.keys = time.Now(), keys
	k.mu.Unlock()
	go func() {
		defer close(k.ended)
		k.keep(ctx, create)
	}()
}

func (k *Keeper) Stop() {
	if k.cancel != nil {
		k.cancel()
		<-k.ended
		k.cancel = nil
	}
}

func (k *Keeper) keep(ctx context.Context, create func([][]byte) (Mesh, error)) {
	pause := firstMeshPause
	for ctx.Err() == nil {
		mesh, err := k.create(create)
		if err == nil {
			err = mesh.Run(ctx)
		}
		if ctx.Err() != nil {
			break
		}
		k.without("gossip does not run")
		k.logger.Warn("gossip does not run and will be tried again", "error", err, "pause", pause.String())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
			pause = min(2*pause, lastMeshPause)
		}
	}
	k.without("gossip is stopped")
}

// create makes a mesh and uses it at once, so that no new keys come in between.
func (k *Keeper) create(create func([][]byte) (Mesh, error)) (Mesh, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	mesh, err := create(k.keys)
	if err == nil {
		k.set(mesh, "")
	}
	return mesh, err
}

func (k *Keeper) without(problem string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.set(nil, problem)
}

// set is called with mu held.
func (k *Keeper) set(mesh Mesh, problem string) {
	k.mesh, k.problem = mesh, problem
	close(k.changed)
	k.changed = make(chan struct{})
	if mesh != nil && k.headline != nil {
		if err := mesh.Publish(k.headline); err != nil {
			k.logger.Warn("headline not published", "error", err)
		}
	}
}

// Rekey gives new keys to the running mesh and to later ones.
func (k *Keeper) Rekey(keys [][]byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys = keys
	if k.mesh == nil {
		return nil
	}
	return k.mesh.Rekey(keys)
}

func (k *Keeper) publish(h *rollcallv1.Headline) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.headline = h
	if k.mesh == nil {
		return
	}
	if err := k.mesh.Publish(h); err != nil {
		k.logger.Warn("headline not published", "error", err)
	}
}

// Roster returns what the mesh knows, or nothing, and a channel that is closed at
// the next change.
func (k *Keeper) Roster() (gossip.Roster, <-chan struct{}) {
	k.mu.Lock()
	mesh, changed := k.mesh, k.changed
	k.mu.Unlock()
	if mesh == nil {
		return gossip.Roster{}, changed
	}
	// When the mesh is replaced its roster changes too: its members leave.
	return mesh.Roster()
}

// Heard reports whether the epochs of the peers are known, or were waited for long
// enough.
func (k *Keeper) Heard() bool {
	roster, _ := k.Roster()
	k.mu.Lock()
	defer k.mu.Unlock()
	return roster.Synced || !k.since.IsZero() && time.Since(k.since) >= k.syncTimeout
}

func (k *Keeper) Problem() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

package agent

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"
	"github.com/rollcall-dev/rollcall/agent/peers"
	"github.com/rollcall-dev/rollcall/engines/memory"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// An agent that has just started does not know the highest epoch: it hears its
// peers first. How long it waits is TestPeersAreNotWaitedForForEver.
func TestNoOrderBeforePeersWereHeard(t *testing.T) {
	database := memory.New(memory.Options{}, node(0))
	r := newRing(t, database)
	var deaf atomic.Bool
	deaf.Store(true)
	m := r.start(0, func(o *Options) {
		o.SyncTimeout, o.NewMesh = time.Hour, hardOfHearing(&deaf)
		o.Peers = func(context.Context, string) ([]netip.AddrPort, error) { return nil, errors.New("no such host") }
	})
	r.run(m)
	m.report(true)
	coordinator := m.as(config.RoleCoordinator)
	_, err := coordinator.PlanDrain(t.Context(), m.plan(1, "claim"))
	agenttest.RequireRefused(t, err, codes.Unavailable, fence.ReasonNotSynced)
	_, err = coordinator.Restore(t.Context(), &rollcallv1.RestoreRequest{Claim: "claim", Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: 1}})
	agenttest.RequireRefused(t, err, codes.Unavailable, fence.ReasonNotSynced)
	deaf.Store(false)
	_, err = coordinator.PlanDrain(t.Context(), m.plan(1, "claim"))
	require.NoError(t, err, "it has heard them")
}

// mutedMesh has not heard its peers while deaf says so, and has otherwise.
type mutedMesh struct {
	peers.Mesh
	deaf *atomic.Bool
}

func (m mutedMesh) Roster() (gossip.Roster, <-chan struct{}) {
	roster, changed := m.Mesh.Roster()
	roster.Synced = !m.deaf.Load()
	return roster, changed
}

func hardOfHearing(deaf *atomic.Bool) func(gossip.Options) (peers.Mesh, error) {
	return func(o gossip.Options) (peers.Mesh, error) {
		mesh, err := gossip.New(o)
		return mutedMesh{mesh, deaf}, err
	}
}

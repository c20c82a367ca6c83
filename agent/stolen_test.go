package agent

import (
	"bytes"
	"context"
	"math"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/rollcall-dev/rollcall/agent/agenttest"
	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/agent/fence"
	"github.com/rollcall-dev/rollcall/agent/gossip"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// thief joins the ring as a member that has its key; change sets what it says.
func (r *ring) thief(pod, uid string, change func(*rollcallv1.Headline)) {
	r.t.Helper()
	ip := netip.AddrFrom4([4]byte{127, 77, 9, 9})
	mesh, err := gossip.New(gossip.Options{
		Namespace: testNamespace, Cluster: testCluster, ClusterUID: testUID, Pod: pod, PodUID: uid,
		Address: netip.AddrPortFrom(ip, r.gossip), Keys: [][]byte{bytes.Repeat([]byte{3}, 32)},
		Peers: func(context.Context) ([]netip.AddrPort, error) { return r.peers, nil }, Logger: testLogger("thief"),
	})
	require.NoError(r.t, err)
	headline := &rollcallv1.Headline{
		Pod: pod, PodUid: uid, Incarnation: math.MaxInt32, Sequence: 1,
		Member: rollcallv1.Membership_MEMBERSHIP_LIVE,
	}
	change(headline)
	require.NoError(r.t, mesh.Publish(headline))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mesh.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		require.NoError(r.t, <-ended)
	})
}

// TestStolenGossipKeyUsesUpNoEpochs announces, with the key, an epoch that nobody can exceed. It is
// not believed. If the highest believable epoch is announced, the coordinator goes above it once,
// and orders pass.
func TestStolenGossipKeyUsesUpNoEpochs(t *testing.T) {
	for name, c := range map[string]struct {
		said, refused, passes int64
	}{
		"beyond belief": {said: math.MaxInt64, passes: 5},
		"one beyond":    {said: config.MaxHeardEpoch + 1, passes: 5},
		"negative":      {said: -1, passes: 5},
		"believed":      {said: config.MaxHeardEpoch, refused: 5, passes: config.MaxHeardEpoch + 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := three(t)
			r.thief("search-7", "uid-7", func(h *rollcallv1.Headline) { h.Epoch = c.said })
			m := r.members[0]
			eventually(t, "the thief to be heard", func() bool {
				for _, e := range m.roster().Entries {
					if e.Headline.Pod == "search-7" && e.Headline.Epoch == c.said {
						return true
					}
				}
				return false
			})
			coordinator := m.as(config.RoleCoordinator)
			if c.refused > 0 {
				_, err := coordinator.PlanDrain(t.Context(), m.plan(c.refused, "claim"))
				agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonStaleEpoch)
				require.Equal(t, c.said, fence.HighestOf(err), "the coordinator learns what it has to go above")
			}
			_, err := coordinator.PlanDrain(t.Context(), m.plan(c.passes, "claim"))
			require.NoError(t, err)
			_, err = coordinator.PlanDrain(t.Context(), m.plan(c.passes-1, "claim"))
			agenttest.RequireRefused(t, err, codes.FailedPrecondition, fence.ReasonStaleEpoch)
			eventually(t, "the fence to be told", func() bool { return m.report(true).Epoch == c.passes })
		})
	}
}

// TestStolenGossipKeyDoesNotSpeakForAPod checks that a member with a pod's name and another address
// neither silences the pod's own agent nor changes its report.
func TestStolenGossipKeyDoesNotSpeakForAPod(t *testing.T) {
	r := three(t)
	before := r.members[1].report(true)
	r.thief("search-1", "uid-1", func(h *rollcallv1.Headline) { h.Member = rollcallv1.Membership_MEMBERSHIP_NOT_LIVE })
	after := r.members[1].report(true)
	require.Equal(t, before.Member, after.Member)
	require.Equal(t, before.Identity.PodUid, after.Identity.PodUid)
	_, err := r.members[1].as(config.RoleCoordinator).PlanDrain(t.Context(), r.members[1].plan(1, "claim"))
	require.NoError(t, err, "orders go to the pod's own address, over TLS")
}

// TestStepOfANeighbourUsesUpNoEpochs asks, with the agents' Secret, for a step with an epoch that
// nobody can exceed. An agent's word is hearsay too: at worst orders are refused, which is counted,
// until the coordinator goes above it once.
func TestStepOfANeighbourUsesUpNoEpochs(t *testing.T) {
	r, _ := twins(t, 2)
	m := r.members[1]
	step := func(epoch int64) error {
		_, err := rollcallv1.NewPeerServiceClient(m.connection(config.RoleAgent)).Step(t.Context(), &rollcallv1.StepRequest{
			Node: node(1), Step: "promote", Claim: "c", AskedBy: "search-0",
			Fence: &rollcallv1.Fence{ClusterUid: testUID, Epoch: epoch}, Term: &rollcallv1.Term{},
		})
		return err
	}
	order := func(epoch int64) error {
		_, err := m.as(config.RoleCoordinator).PlanDrain(t.Context(), m.plan(epoch, "claim"))
		return err
	}
	require.NoError(t, order(5))
	for _, absurd := range []int64{config.MaxHeardEpoch + 1, math.MaxInt64} {
		require.NoError(t, step(absurd))
		require.NoError(t, order(5), "%d was believed", absurd)
	}
	require.NoError(t, step(config.MaxHeardEpoch))
	agenttest.RequireRefused(t, order(5), codes.FailedPrecondition, fence.ReasonStaleEpoch)
	_, metrics := m.get("/metrics", nil)
	require.Contains(t, metrics, `rollcall_agent_orders_total{order="plan_drain",result="refused"} 1`)
	require.NoError(t, order(config.MaxHeardEpoch+1))
	agenttest.RequireRefused(t, step(config.MaxHeardEpoch), codes.FailedPrecondition, fence.ReasonStaleEpoch)
	require.NoError(t, step(config.MaxHeardEpoch+1), "a step of that coordinator's still passes")
}

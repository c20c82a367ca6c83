package stophook

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// TestHookOfAPodDrainedLongAgo checks the hook after a claim that ended without the pod's agent,
// because another agent has undone it or the DatabaseCluster was deleted. The pod leads again for a
// day, and then its node is drained.
func TestHookOfAPodDrainedLongAgo(t *testing.T) {
	stopTest(t, func(t *testing.T, s *stopping) {
		o := handOff("claim-1")
		o.NotAfter = time.Now().Add(30 * time.Second)
		_, err := s.Drainer.Drain(o)
		require.NoError(t, err)
		synctest.Wait()

		time.Sleep(29 * time.Second)
		require.Equal(t, "drained under claim claim-1", s.Stop(t.Context()))
		require.Equal(t, []string{"apply claim-1 Handoff"}, s.noted())

		time.Sleep(24 * time.Hour)
		require.Equal(t, rollcallv1.Drain_DRAIN_DRAINED, s.drainState())
		require.Contains(t, s.Stop(t.Context()), "Handoff done")
		// Not under the claim, which nobody would undo any more.
		require.Equal(t, []string{"apply stop-uid Handoff"}, s.noted()[1:])

		s.becomes(engines.MembershipNotLive)
		time.Sleep(5 * time.Second)
		s.becomes(engines.MembershipLive)
		time.Sleep(10 * time.Minute)
		require.Equal(t, []string{"restore undo stop-uid Handoff"}, s.noted()[2:])
	})
}

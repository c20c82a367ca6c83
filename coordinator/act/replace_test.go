package act

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// What cannot be carried out is held in words, is not done in another way, and
// holds up nobody else.
func TestReplacementsAreRefusedInWords(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		cluster, _ := w.server.Cluster(namespace, name)
		s := w.snapshot(cluster)
		must := podNamed(s, "s-2")
		must.MustReplace = []string{"volume"}
		require.Contains(t, policy.Decide(s).Text(), "s-2 Replace after Evacuate (Replacement)")

		p.actor.Annotate(&s)
		plan := policy.Decide(s)
		require.Contains(t, plan.Text(), "hold   s-2 veto: it is to be replaced (volume changed), and the coordinator cannot do that yet")
		require.Len(t, plan.Steps, 1)
		require.NotEqual(t, "s-2", plan.Steps[0].Pod)

		// Whoever asks for it by name cannot have it either.
		s.Cluster.Spec.Overrides = []policy.Override{{Rule: policy.Vetoed, Pods: []string{"*"}, Reason: "now", Expires: policy.At(s.Now.Add(time.Hour))}}
		require.Contains(t, policy.Decide(s).Text(), "hold   s-2 veto")
	})
}

// A pod that is claimed for a restart, and then is to be replaced, does not go.
func TestARestartDoesNotStandInForAReplacement(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := newProcess(w, 0, false)
		require.NoError(t, p.start())
		cluster, _ := w.server.Cluster(namespace, name)
		s := w.snapshot(cluster)
		podNamed(s, "s-2").MustReplace = []string{"volume"}
		p.actor.Annotate(&s)
		s.Cluster.Status.Claims = []policy.Claim{{ID: "c", Pod: "s-2", UID: podNamed(s, "s-2").UID, Action: policy.Restart, Phase: policy.PhasePrepared}}
		going := judgeGoing(s, s.Cluster.Status.Claims[0])
		require.True(t, going.wanted)
		require.Equal(t, policy.Vetoed, going.hold.Rule)
	})
}

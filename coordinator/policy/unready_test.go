package policy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/cluster"
)

// neverReady is a database in which no pod becomes Ready, although all have been live for a while.
func neverReady(t *testing.T, since time.Duration) model.Snapshot {
	s := goldenSnapshots(t)["started_never_ready"]
	for i := range s.Pods {
		s.Pods[i].Since = model.At(s.Now.Add(-since))
	}
	all := model.Count(3)
	s.Cluster.Spec.Policy.MaxUnavailable = &all
	return s
}

// A clock says when the first of them may go.
func TestLiveUnreadyAfterAWhile(t *testing.T) {
	p := Decide(neverReady(t, 590*time.Second))
	require.Empty(t, p.Steps)
	require.Equal(t, int64(10), p.RetryAfterSeconds)
	require.Len(t, Decide(neverReady(t, 600*time.Second)).Steps, 1)
}

// A pod that was chosen this way may go at the barrier, too, but only while the others are
// unchanged.
func TestRecheckOfAPodThatIsLiveUnready(t *testing.T) {
	s := neverReady(t, time.Hour)
	chosen := Decide(s).Steps[0]
	s.Cluster.Status.Claims = []model.Claim{{ID: "k", Pod: chosen.Pod, UID: chosen.UID, Action: chosen.Action, Reason: chosen.Reason, Phase: model.PhaseDrained, To: "v3", BeforeTurn: chosen.BeforeTurn}}
	step, hold := Recheck(s, chosen.Pod)
	require.Nil(t, hold)
	require.NotNil(t, step)
	s.Groups[0].Members[1].State = model.MemberRecovering
	_, hold = Recheck(s, chosen.Pod)
	require.Equal(t, model.RuleShardBudget, hold.Rule)
}

// The text says what to do about a pod that is live and not Ready in time.
func TestLiveUnreadyHasAdvice(t *testing.T) {
	holds := Decide(neverReady(t, time.Hour)).Holds
	require.Len(t, holds, 2)
	for _, h := range holds {
		require.Contains(t, h.Unblocks, cluster.UnreadyAdvice)
	}
}

// The text says the same about a recreated pod that is awaited.
func TestSuccessorThatIsLiveUnreadyHasAdvice(t *testing.T) {
	s := neverReady(t, time.Hour)
	r := Returned(s, model.Claim{Pod: "solr-2", UID: "before"})
	require.True(t, r.Joined)
	require.False(t, r.Done)
	require.Contains(t, r.Why.Unblocks, cluster.UnreadyAdvice)
}

// Without guards a pod that is live and unready waits for those that the partition frees with it,
// and they wait for it: a person is told about the annotation.
func TestLiveUnreadyBelowThePartitionCanBeForced(t *testing.T) {
	s := neverReady(t, time.Hour)
	s.Cluster.Spec.Update.RollingUpdate, s.Cluster.Spec.Guard = model.RollingUpdateByPartition, model.GuardOff
	s.Cluster.Status.Initialized = true
	s.Pools[0].Strategy, s.Pools[0].Management, s.Pools[0].Partition = model.StrategyRollingUpdate, model.ManagementOrderedReady, model.FirstOrdinalNone
	p := Decide(s)
	require.Empty(t, p.Steps)
	require.Len(t, p.Holds, 3)
	for _, h := range p.Holds {
		require.Equal(t, model.RuleOrderedReady, h.Rule)
		require.Contains(t, h.Unblocks, allowForce+", and then "+h.Pod+" deleted")
		require.Contains(t, h.Unblocks, cluster.UnreadyAdvice)
	}
}

package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A pod that waits for a person, a window, a limit or a clock, or only for such pods, is not
// stalled. Everything else is, even if another pod waits for a person.
func TestHeldForGood(t *testing.T) {
	for _, c := range []struct {
		name, script string
		change       func(*model.Snapshot)
		want         model.ClusterPhase
	}{
		{"a canary waits for a person", "canary_approve", func(*model.Snapshot) {}, model.ClusterWaiting},
		{"a canary soaks", "canary_soaks_by_the_policy", func(*model.Snapshot) {}, model.ClusterWaiting},
		{"a canary's node is gone", "canary_lost_node_gone", func(*model.Snapshot) {}, model.ClusterStalled},
		{"a canary's agent is silent", "canary_lost_silent", func(*model.Snapshot) {}, model.ClusterStalled},
		{"a canary is never Ready", "canary_lost_unready", func(*model.Snapshot) {}, model.ClusterStalled},
		{"a canary recovers in vain", "canary_lost_recovers", func(*model.Snapshot) {}, model.ClusterStalled},
		{"a lower rank waits for a person", "canary_approve_of_ranks", func(*model.Snapshot) {}, model.ClusterWaiting},
		{"and somebody is unavailable", "canary_approve_of_ranks", func(s *model.Snapshot) { s.Pods[2].Report.Settled = false; s.Cluster.Spec.Update.Canary.Pods = 0 }, model.ClusterStalled},
		{"and another that is through is unavailable", "canary_approve_of_ranks", func(s *model.Snapshot) {
			s.Pools[0].Replicas++
			away := s.Pods[2]
			away.Name, away.UID, away.Ordinal, away.Report = "data-3", "u9", 3, nil
			s.Pods = append(s.Pods, away)
		}, model.ClusterStalled},
		{"and another of the rank is busy", "canary_approve_of_ranks", func(s *model.Snapshot) { s.Pods[3].Report.Rank, s.Pods[3].Report.Busy = 0, "backup" }, model.ClusterStalled},
		{"a lower rank is busy", "rule_rank_order_holds", func(*model.Snapshot) {}, model.ClusterStalled},
		{"the last waits for a person", "canary_approve", func(s *model.Snapshot) { s.Pods[0].Report.Last = true }, model.ClusterWaiting},
		{"a pod that waits for a person must carry the version first", "canary_approve_of_ranks", func(s *model.Snapshot) { s.Pods[3].Report.After = []string{"data-0"} }, model.ClusterWaiting},
		{"a pod that nobody knows must carry it first", "canary_approve_of_ranks", func(s *model.Snapshot) { s.Pods[3].Report.After = []string{"data-0", "data-9"} }, model.ClusterStalled},
		{"one that must go along in an outage waits for a person", "version_all_or_none_asked", func(*model.Snapshot) {}, model.ClusterWaiting},
		{"one that must go along is held", "version_all_or_none", func(*model.Snapshot) {}, model.ClusterStalled},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := readGolden(t, "testdata/"+c.script+".txt")
			s := decodeYAML(t, text)
			progress(&s, 3600)
			c.change(&s)
			require.Equal(t, c.want, Decide(s).Phase, Decide(s).Text())
		})
	}
}

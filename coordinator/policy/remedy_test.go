package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// A hold names what ends it, even if no pod has to come back for that.
func TestHoldsNameTheRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(s *model.Snapshot)
		unblocks string
	}{
		"rule_version_order_holds": {func(s *model.Snapshot) { s.Pods[1].Remove = true }, "solr-1 gone"},
		"rule_quorum_holds": {func(s *model.Snapshot) { s.Groups[0].Members[2].Pod = "" },
			"member r3 of quorum/all back and caught up, or taken out of it where it is gone for good"},
		"guard_two_left_open": {func(s *model.Snapshot) {
			s.Pools[0].Replicas, s.Pods = 3, s.Pods[:3]
			s.Groups = []model.Group{{ID: "acks", Kind: model.GroupShard, Members: []model.Member{{ID: "r1", Pod: "mysql-1", State: model.MemberActive}, {ID: "r2", Pod: "mysql-2", State: model.MemberActive}}}}
		}, "the guard of mysql-1 closed, or the pod restarted and caught up"},
	} {
		t.Run(name, func(t *testing.T) {
			s := goldenSnapshots(t)[name]
			c.change(&s)
			holds := Decide(s).Holds
			require.True(t, slices.ContainsFunc(holds, func(h model.Hold) bool { return h.Unblocks == c.unblocks }), "%v", holds)
		})
	}
}

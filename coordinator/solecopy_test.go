package coordinator

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
	"github.com/rollcall-dev/rollcall/test/race"
)

// The only copy of a shard is on search-2, whose data does not survive a restart. Its container
// crashes again and again, and a template is applied that would correct that. Nobody takes the copy
// away, whatever verdict suffices: its own agent cannot tell of it any more, and others do when
// they are asked, or the coordinator has not forgotten.
func TestTheOnlyCopyIsNotForgotten(t *testing.T) {
	race.Heavy(t)
	for name, c := range map[string]struct {
		// before and after the crash, for so long nothing happens.
		before, after time.Duration
		others        bool // the others can tell of it
		another       bool // another coordinator leads by then
	}{
		"at once":                            {before: 20 * time.Second, after: time.Second},
		"at rest":                            {before: 20 * time.Second, after: 10 * time.Minute},
		"of a database that was at rest":     {before: 10 * time.Minute, after: 10 * time.Minute, others: true},
		"another coordinator":                {before: 20 * time.Second, after: 2 * time.Second, others: true, another: true},
		"another coordinator, later on":      {before: 20 * time.Second, after: 10 * time.Minute, others: true, another: true},
		"of a database at rest, all of that": {before: 10 * time.Minute, after: 10 * time.Minute, others: true, another: true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				db := w.add("search", 3)
				crashed := false
				db.between(func(pod string, r *rollcallv1.Report) *rollcallv1.Report {
					r = proto.CloneOf(r)
					only := &rollcallv1.Group{Id: "logs/1", Kind: rollcallv1.GroupKind_GROUP_KIND_SHARD, NeedsLeader: true,
						Members: []*rollcallv1.Member{{Id: "only", Node: db.node("search-2"), State: rollcallv1.MemberState_MEMBER_STATE_ACTIVE, Eligible: true, Leader: true}}}
					switch {
					case pod == "search-2" && crashed:
						r.Error, r.Groups, r.Nodes, r.Settled = "connection refused", nil, nil, false
						r.Member = rollcallv1.Membership_MEMBERSHIP_UNSPECIFIED
					case pod == "search-2":
						r.Groups = append(r.Groups, only)
					case crashed && c.others && r.AllGroups:
						only.Members[0].State, only.Members[0].Leader = rollcallv1.MemberState_MEMBER_STATE_DOWN, false
						r.Groups = append(r.Groups, only)
					}
					return r
				})
				db.edit(func(c *v1alpha1.DatabaseCluster) {
					c.Spec.Drain.Data.Restart, c.Spec.Policy.Health = model.DataLose, model.LeastAny
				})
				p := w.start()
				defer func() { p.end() }()
				time.Sleep(c.before)
				w.mu.Lock()
				m := db.members["search-2"]
				m.live, crashed = false, true
				pod, _ := w.server.Pod(namespace, "search-2")
				setState(pod, true, false)
				_, err := w.admin.Kubernetes.CoreV1().Pods(namespace).UpdateStatus(context.Background(), pod, metav1.UpdateOptions{})
				require.NoError(t, err)
				db.told()
				w.mu.Unlock()
				time.Sleep(c.after)
				if c.another {
					p.end()
					p = w.start()
				}
				db.roll("v2")
				time.Sleep(2 * time.Minute)
				require.NotContains(t, w.gone(), "search-2 v1", "with it the only copy of logs/1 is lost")
				held := func() bool {
					return slices.ContainsFunc(db.status().Holds, func(h model.Hold) bool { return h.Pod == "search-2" && h.Rule == model.RuleSoleCopy })
				}
				for range 60 { // what holds for a moment is told first
					if held() {
						break
					}
					time.Sleep(time.Second)
				}
				require.True(t, held(), db.status().Holds)
				require.NotContains(t, w.gone(), "search-2 v1")
			})
		})
	}
}

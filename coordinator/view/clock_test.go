package view

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/agents"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// stepped is t as a process reads it whose wall clock was set ahead by d; its monotonic clock is as it was.
func stepped(t time.Time, d time.Duration) time.Time {
	if t.String() == t.Round(0).String() {
		panic("no monotonic reading")
	}
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(d/time.Second) << 30
	return t
}

// Pods without an agent have lost their sessions for three seconds, and are unready for it. The
// coordinator's clock is set ahead by ten minutes meanwhile. That is no failure.
func TestABlipIsNoFailureThoughTheClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{0, 10 * time.Minute} {
		down := func(r *rollcallv1.Report) {
			for _, i := range []int{1, 2} {
				r.Nodes[i].Member = notLive
				r.Groups[0].Members[i].State = rollcallv1.MemberState_MEMBER_STATE_DOWN
			}
		}
		began := time.Now()
		in := made(noAgent(1), noAgent(2), allSay([]int{0}, down))
		for i := range in.Kube.Pods {
			p := &in.Kube.Pods[i]
			p.Since, p.Created = began.Add(-time.Hour), began.Add(-time.Hour)
			if p.Ordinal > 0 {
				p.Phase, p.Since = kube.Started, began
			}
		}
		in.Kube.Pools[0].Revision = "v2" // a new template
		in.Kube.Cluster.Spec.Policy.Health = model.LeastRecoverable
		in.Kube.Cluster.Status.Approvals = []model.Approval{{What: model.ApprovedAdopt}}
		in.NotLive = nil
		var s model.Snapshot
		for second := range 4 {
			in.Now = began.Add(time.Duration(second) * time.Second)
			for uid, r := range in.Agents.Reports {
				in.Agents.Reports[uid] = agents.Received{Report: r.Report, At: in.Now}
			}
			if second == 3 {
				in.Now = stepped(in.Now, step)
			}
			s = Join(in)
			in.NotLive = NotLive(s, in)
		}
		r := reportOfPod(t, s, "search-2")
		plan := policy.Decide(s)
		var going []string
		for _, p := range plan.Steps {
			going = append(going, p.Pod+" "+string(p.Reason))
		}
		t.Logf("step %s: not live for %v s; go: %v", step, r.NotLiveSeconds, going)
		t.Log(plan.Text())
		require.InDelta(t, 3, r.NotLiveSeconds, 0.1, "it has been for 3 s")
		require.Empty(t, going)
	}
}

package status

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

func TestCountPods(t *testing.T) {
	d := search(t)
	require.Equal(t, PodCounts{Desired: 3, Current: 2, Updated: 1, Ready: 3}, d.Pods)

	d = search(t, func(s *policy.Snapshot) {
		podOf(s, "search-0").Phase, podOf(s, "search-0").UID = policy.Missing, ""
		p := podOf(s, "search-2")
		p.Phase, p.Problem = policy.NotStarted, policy.ImagePull
	})
	require.Equal(t, PodCounts{Desired: 3, Current: 1, Updated: 1, Ready: 1, Away: 2, Failed: 1}, d.Pods)

	d = search(t, func(s *policy.Snapshot) { s.Pools[0].Revision = "" })
	require.EqualValues(t, 3, d.Pods.Current, "while the wanted revision is unknown nobody has it")
	require.Zero(t, d.Pods.Updated)
}

func TestFailedNeedsEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		pod  policy.Pod
		want bool
	}{
		"failed":             {policy.Pod{Phase: policy.Failed}, true},
		"crash loop":         {policy.Pod{Phase: policy.Started, Problem: policy.CrashLoop}, true},
		"image pull":         {policy.Pod{Phase: policy.NotStarted, Problem: policy.ImagePull}, true},
		"unschedulable":      {policy.Pod{Phase: policy.Pending, Problem: policy.Unschedulable}, true},
		"agent's image":      {policy.Pod{Phase: policy.NotStarted, Problem: policy.SidecarFailed}, true},
		"volume":             {policy.Pod{Phase: policy.NotStarted, Problem: policy.VolumeStuck}, true},
		"node gone":          {policy.Pod{Phase: policy.Ready, Problem: policy.NodeGone}, true},
		"does not end":       {policy.Pod{Phase: policy.Terminating, Problem: policy.StuckEnding}, true},
		"ends":               {policy.Pod{Phase: policy.Terminating, Problem: policy.ImagePull}, false},
		"nobody knows that":  {policy.Pod{Phase: policy.Pending, Problem: "Strange"}, false},
		"starting":           {policy.Pod{Phase: policy.Started}, false},
		"ready with history": {policy.Pod{Phase: policy.Ready, Problem: policy.CrashLoop}, false},
	} {
		require.Equal(t, c.want, progress.Failed(c.pod), name)
	}
}

package status

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

func TestCountPods(t *testing.T) {
	d := search(t)
	require.Equal(t, PodCounts{Desired: 3, Current: 2, Updated: 1, Ready: 3}, d.Pods)

	d = search(t, func(s *model.Snapshot) {
		podOf(s, "search-0").Phase, podOf(s, "search-0").UID = model.Missing, ""
		p := podOf(s, "search-2")
		p.Phase, p.Problem = model.NotStarted, model.ImagePull
	})
	require.Equal(t, PodCounts{Desired: 3, Current: 1, Updated: 1, Ready: 1, Away: 2, Failed: 1}, d.Pods)

	d = search(t, func(s *model.Snapshot) { s.Pools[0].Revision = "" })
	require.EqualValues(t, 3, d.Pods.Current, "while the wanted revision is unknown nobody has it")
	require.Zero(t, d.Pods.Updated)
}

func TestFailedNeedsEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		pod  model.Pod
		want bool
	}{
		"failed":             {model.Pod{Phase: model.Failed}, true},
		"crash loop":         {model.Pod{Phase: model.Started, Problem: model.CrashLoop}, true},
		"image pull":         {model.Pod{Phase: model.NotStarted, Problem: model.ImagePull}, true},
		"unschedulable":      {model.Pod{Phase: model.Pending, Problem: model.Unschedulable}, true},
		"agent's image":      {model.Pod{Phase: model.NotStarted, Problem: model.SidecarFailed}, true},
		"volume":             {model.Pod{Phase: model.NotStarted, Problem: model.VolumeStuck}, true},
		"node gone":          {model.Pod{Phase: model.Ready, Problem: model.NodeGone}, true},
		"does not end":       {model.Pod{Phase: model.Terminating, Problem: model.StuckEnding}, true},
		"ends":               {model.Pod{Phase: model.Terminating, Problem: model.ImagePull}, false},
		"nobody knows that":  {model.Pod{Phase: model.Pending, Problem: "Strange"}, false},
		"starting":           {model.Pod{Phase: model.Started}, false},
		"ready with history": {model.Pod{Phase: model.Ready, Problem: model.CrashLoop}, false},
	} {
		require.Equal(t, c.want, progress.Failed(c.pod), name)
	}
}

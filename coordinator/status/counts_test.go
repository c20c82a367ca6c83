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
		podOf(s, "search-0").Phase, podOf(s, "search-0").UID = model.PodPhaseMissing, ""
		p := podOf(s, "search-2")
		p.Phase, p.Problem = model.PodPhaseNotStarted, model.ProblemImagePull
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
		"failed":             {model.Pod{Phase: model.PodPhaseFailed}, true},
		"crash loop":         {model.Pod{Phase: model.PodPhaseStarted, Problem: model.ProblemCrashLoop}, true},
		"image pull":         {model.Pod{Phase: model.PodPhaseNotStarted, Problem: model.ProblemImagePull}, true},
		"unschedulable":      {model.Pod{Phase: model.PodPhasePending, Problem: model.ProblemUnschedulable}, true},
		"agent's image":      {model.Pod{Phase: model.PodPhaseNotStarted, Problem: model.ProblemSidecar}, true},
		"volume":             {model.Pod{Phase: model.PodPhaseNotStarted, Problem: model.ProblemVolume}, true},
		"node gone":          {model.Pod{Phase: model.PodPhaseReady, Problem: model.ProblemNodeGone}, true},
		"does not end":       {model.Pod{Phase: model.PodPhaseTerminating, Problem: model.ProblemStuckTerminating}, true},
		"ends":               {model.Pod{Phase: model.PodPhaseTerminating, Problem: model.ProblemImagePull}, false},
		"nobody knows that":  {model.Pod{Phase: model.PodPhasePending, Problem: "Strange"}, false},
		"starting":           {model.Pod{Phase: model.PodPhaseStarted}, false},
		"ready with history": {model.Pod{Phase: model.PodPhaseReady, Problem: model.ProblemCrashLoop}, false},
	} {
		require.Equal(t, c.want, progress.Failed(c.pod), name)
	}
}

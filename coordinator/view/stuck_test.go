package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// What every pod goes through for a moment is a problem only when it lasts.
func TestProblemsThatOnlyTimeTells(t *testing.T) {
	volume := func(ago time.Duration) edit {
		return func(in *Input) {
			p := &in.Kube.Pods[1]
			p.Phase, p.Problem, p.Since = kube.NotStarted, kube.Volume, in.Now.Add(-ago)
		}
	}
	ends := func(ago time.Duration) edit {
		return func(in *Input) {
			p := &in.Kube.Pods[1]
			p.Phase, p.Problem, p.Deleted = kube.Terminating, "", in.Now.Add(-ago)
		}
	}
	lost := func(in *Input) { delete(in.Kube.Nodes, in.Kube.Pods[1].Node) }
	for name, c := range map[string]struct {
		edits []edit
		want  model.Problem
	}{
		"a volume is on its way":             {[]edit{volume(2 * time.Minute)}, model.ProblemNone},
		"a volume is stuck":                  {[]edit{volume(2*time.Minute + time.Second)}, model.ProblemVolume},
		"within its grace period":            {[]edit{ends(-time.Minute)}, model.ProblemNone},
		"a little longer":                    {[]edit{ends(2 * time.Minute)}, model.ProblemNone},
		"does not end":                       {[]edit{ends(2*time.Minute + time.Second)}, model.ProblemStuckTerminating},
		"does not end, for its node is gone": {[]edit{ends(time.Hour), lost}, model.ProblemNodeGone},
		"a volume on a node that is gone":    {[]edit{volume(time.Hour), lost}, model.ProblemNodeGone},
	} {
		t.Run(name, func(t *testing.T) {
			s := Join(made(c.edits...))
			require.Equal(t, c.want, s.Pods[1].Problem)
		})
	}
}

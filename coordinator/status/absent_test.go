package status

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
)

// constantsOf are the values of a type of the model, as its source has them.
func constantsOf(t testing.TB, kind string) []string {
	t.Helper()
	names, err := filepath.Glob("../model/*.go")
	require.NoError(t, err)
	var decls []ast.Decl
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		decls = append(decls, file.Decls...)
	}
	var values []string
	for _, d := range decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			if id, ok := spec.Type.(*ast.Ident); ok && id.Name == kind {
				value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				values = append(values, value)
			}
		}
	}
	require.Greater(t, len(values), 5, kind)
	return values
}

// atRest has every pod on the revision that is wanted.
func atRest(s *model.Snapshot) {
	s.Pools[0].Revision = "v1"
	podOf(s, "search-2").Revision = "v1"
}

// hasBeen puts search-1 into a phase for two hours, with a problem.
func hasBeen(phase model.PodPhase, problem model.Problem) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		p := podOf(s, "search-1")
		p.Phase, p.Problem, p.Since = phase, problem, model.At(s.Now.Add(-2*time.Hour))
		if phase == model.PodPhaseMissing {
			p.UID = ""
		}
		if phase != model.PodPhaseReady {
			p.Report = nil
		}
	}
}

// Whatever is wrong with a pod, in whatever phase, in mid-rollout and at rest: one of
// the two alerts about pods tells of it when it lasts.
func TestEveryProblemIsReported(t *testing.T) {
	named := map[model.Problem]bool{}
	for _, rest := range []bool{false, true} {
		for _, p := range constantsOf(t, "Problem") {
			for _, q := range constantsOf(t, "PodPhase") {
				problem, phase := model.Problem(p), model.PodPhase(q)
				changes := []func(*model.Snapshot){hasBeen(phase, problem)}
				if rest {
					changes = append(changes, atRest)
				}
				d := search(t, changes...)
				d.UnavailableSince = map[string]time.Time{"search-1": d.DecidedAt.Add(-2 * time.Hour)} // as the coordinator has seen
				if absent := progress.UnavailablePods(&d.Moment); phase == model.PodPhaseReady && problem != model.ProblemNodeGone {
					require.Empty(t, absent, "%s %s", phase, problem)
					require.Zero(t, d.Pods.Failed, "%s %s", phase, problem)
					continue
				}
				require.Equal(t, 1, int(d.Pods.Failed)+progress.CountOverdue(&d.Moment), "%s %s", phase, problem)
				require.Equal(t, "search-1", progress.OverduePods(&d.Moment)[0].Pod)
				named[problem] = named[problem] || d.Pods.Failed == 1 && phase != model.PodPhaseFailed
			}
		}
	}
	for _, p := range constantsOf(t, "Problem") {
		require.True(t, p == "" || named[model.Problem(p)], "%s is no failure in any phase", p)
	}
}

// A pod that takes its time is not told of before it has had that.
func TestOverdueIsLongerThanAStart(t *testing.T) {
	overdue := func(d Decision) []progress.Unavailable { return progress.OverduePods(&d.Moment) }
	start := func(d time.Duration, phase model.PodPhase) Decision {
		return search(t, atRest, hasBeen(phase, model.ProblemNone), func(s *model.Snapshot) {
			podOf(s, "search-1").Since = model.At(s.Now.Add(-d))
		})
	}
	for _, phase := range []model.PodPhase{model.PodPhasePending, model.PodPhaseNotStarted, model.PodPhaseStarted, model.PodPhaseTerminating} {
		require.Empty(t, overdue(start(10*time.Minute, phase)), phase)
		require.Len(t, overdue(start(10*time.Minute+time.Second, phase)), 1, phase)
	}
	notLive := search(t, atRest, func(s *model.Snapshot) { podOf(s, "search-1").Report.Member = model.MembershipNotLive })
	require.Empty(t, overdue(notLive), "that it has been Ready for long says nothing of since when it is not live")
	notLive.UnavailableSince = map[string]time.Time{"search-1": notLive.DecidedAt.Add(-11 * time.Minute)}
	require.Len(t, overdue(notLive), 1)

	claimed := search(t, claimed(model.PhaseDraining))
	claimed.UnavailableSince = map[string]time.Time{"search-1": claimed.DecidedAt.Add(-time.Hour)}
	require.EqualValues(t, 1, claimed.Pods.Away)
	require.Empty(t, progress.UnavailablePods(&claimed.Moment), "a claimed pod serves until it goes")
}

// A database at rest says which pod does not serve, why, and what to do, in words that
// do not change as time passes.
func TestUnavailablePodIsNamedWithoutARollout(t *testing.T) {
	d := search(t, atRest, hasBeen(model.PodPhasePending, model.ProblemUnschedulable))
	require.Equal(t, model.ClusterIdle, d.Phase)
	ready := conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionReady)
	require.Equal(t, metav1.ConditionFalse, ready.Status)
	require.Equal(t, "PodsUnavailable", ready.Reason)
	require.Equal(t, "1 of 3 pods are unavailable: search-1 is pending (Unschedulable), no node takes it, since 2026-11-20T10:00:00Z; to do for search-1: "+
		model.ProblemUnschedulable.Advice(), ready.Message)
	available := conditionOf(t, Conditions(d, nil, 1), v1alpha1.ConditionAvailable)
	require.Equal(t, metav1.ConditionTrue, available.Status)
	require.Equal(t, "PodsUnavailable", available.Reason)
	require.True(t, strings.HasPrefix(available.Message, "the database works; unavailable for longer than policy.startSeconds: search-1 is pending"), available.Message)
	again := search(t, atRest, hasBeen(model.PodPhasePending, model.ProblemUnschedulable), func(s *model.Snapshot) {
		s.Now = model.At(s.Now.Add(time.Minute))
	})
	require.Equal(t, available.Message, conditionOf(t, Conditions(again, nil, 1), v1alpha1.ConditionAvailable).Message)

	short := search(t, atRest, func(s *model.Snapshot) {
		p := podOf(s, "search-1")
		p.Phase, p.Since = model.PodPhaseMissing, model.Time{}
	})
	available = conditionOf(t, Conditions(short, nil, 1), v1alpha1.ConditionAvailable)
	require.Equal(t, "Healthy", available.Reason)
	require.Equal(t, "1 of 3 pods are unavailable: search-1 is missing", conditionOf(t, Conditions(short, nil, 1), v1alpha1.ConditionReady).Message)
	short.UnavailableSince = map[string]time.Time{"search-1": short.DecidedAt.Add(-11 * time.Minute)}
	available = conditionOf(t, Conditions(short, nil, 1), v1alpha1.ConditionAvailable)
	require.Equal(t, "the database works; unavailable for longer than policy.startSeconds: search-1 is missing, since 2026-11-20T11:49:00Z", available.Message)
}

func TestOverdueIsAMetric(t *testing.T) {
	m := newMetrics(prometheus.NewRegistry())
	overdue := m.pods.WithLabelValues("prod/search", stateOverdue)
	first := search(t, atRest, hasBeen(model.PodPhaseStarted, model.ProblemNone))
	m.Decided(nil, first)
	require.Equal(t, 1.0, testutil.ToFloat64(overdue))
	second := search(t, atRest, hasBeen(model.PodPhaseNotStarted, model.ProblemImagePull))
	m.Decided(&first, second)
	require.Zero(t, testutil.ToFloat64(overdue), "it is counted as failed")
	require.Equal(t, 1.0, testutil.ToFloat64(m.pods.WithLabelValues("prod/search", "failed")))
}

package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
)

// sqlFigure is what one way cost those who write.
type sqlFigure struct {
	way string
	out sqlcluster.Outcome
}

// table returns the table of what each way has cost, in the same run.
func (s *sqlTest) table(t *testing.T) {
	if len(s.figures) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "%s\tNO WRITE FOR ms\tIN ALL ms\tWRITES\tFAILED\tLOST\tSWITCHOVERS\tTWO PRIMARIES\tTOOK\n", s.flavor.Engine)
	for _, f := range s.figures {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", f.way, f.out.Load.Writes.Longest.Milliseconds(), f.out.Load.Writes.Sum.Milliseconds(),
			f.out.Load.Acked[load.Table], f.out.Load.Failed, f.out.LostDocs(), f.out.Primaries.Switchovers(), len(f.out.Primaries.Two), f.out.Took.Round(time.Second))
	}
	require.NoError(t, w.Flush())
	t.Logf("\n%s", text.String())
}

// measure runs a change under load. Whatever is done to the database: nothing
// acknowledged is lost, there are never two primaries, and in the end all have the same.
func (s *sqlTest) measure(t *testing.T, way string, switchovers int, r rehearsal.Rehearsal) sqlcluster.Outcome {
	t.Helper()
	session, err := s.cluster.Session()
	require.NoError(t, err)
	return s.measureSession(t, session, way, switchovers, r)
}

func (s *sqlTest) measureSession(t *testing.T, session *sqlcluster.Session, way string, switchovers int, r rehearsal.Rehearsal) sqlcluster.Outcome {
	t.Helper()
	if r.Limit == 0 {
		r.Limit = rolloutLimit
	}
	out, err := session.Run(t.Context(), r)
	t.Logf("%s: %s", way, out)
	out.Explain(testWriter{t})
	if err != nil {
		s.describe(t)
	}
	require.NoError(t, err)
	s.figures = append(s.figures, sqlFigure{way, out})
	require.Empty(t, out.Gone, "acknowledged rows that are gone")
	require.NoError(t, out.Judge(switchovers))
	require.Greater(t, out.Load.Requests, 100, "the load did not run")
	require.Less(t, out.Witness.Misses*10, out.Witness.Looks, "the witness was blind")
	return out
}

// roll is measure for what no client may notice but by waiting.
func (s *sqlTest) roll(t *testing.T, way string, switchovers int, r rehearsal.Rehearsal) sqlcluster.Outcome {
	t.Helper()
	out := s.measure(t, way, switchovers, r)
	if out.Load.Failed > 0 {
		s.describe(t)
	}
	require.Zero(t, out.Load.Failed, "failed requests")
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
	return out
}

// wellBehaved is what an undisturbed rollout keeps to, in which the primary is
// handed over once, to a pod that was restarted already.
func (s *sqlTest) wellBehaved(t *testing.T, out sqlcluster.Outcome) {
	t.Helper()
	require.Equal(t, 1, out.Primaries.Switchovers(), "one switchover")
	require.Equal(t, 1, out.Load.Writes.Changes(), "as those who write saw it")
	require.NoError(t, out.Witness.ElectedLast())
	s.eachOnce(t, out)
}

func (s *sqlTest) eachOnce(t *testing.T, out sqlcluster.Outcome) {
	t.Helper()
	require.Len(t, out.Witness.RestartCounts(), sqlcluster.Servers, "every pod restarts")
	require.Empty(t, out.Witness.Again(), "once")
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// describe prints what everybody says, for whoever reads a failed run.
func (s *sqlTest) describe(t *testing.T) {
	t.Helper()
	describe(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if s.cluster == nil {
		return
	}
	t.Logf("%+v", s.cluster.State(ctx))
	for _, pod := range s.cluster.Pods.All() {
		if text, err := s.bed.Rollcall(ctx, "explain", pod.Name, "-n", sqlcluster.Namespace); err == nil {
			t.Log(text)
		}
		out, err := s.bed.Kubectl(ctx, "", "logs", pod.Name, "-n", sqlcluster.Namespace, "-c", "rollcall-agent", "--tail=60")
		t.Logf("agent of %s: %v\n%s", pod.Name, err, out)
		out, err = s.bed.Kubectl(ctx, "", "logs", pod.Name, "-n", sqlcluster.Namespace, "-c", s.flavor.Name, "--tail=25")
		t.Logf("server of %s: %v\n%s", pod.Name, err, out)
	}
}

// theHang is a way in which nobody can write as long as a server stands still, whoever
// rolls.
const theHang = "Rollcall, the primary hangs for 30 s"

// compare requires that a planned switchover costs less than what happens without one.
func (s *sqlTest) compare(t *testing.T) {
	t.Helper()
	by := map[string]time.Duration{}
	for _, f := range s.figures {
		by[f.way] = f.out.Load.Writes.Longest
	}
	for _, way := range slices.Sorted(maps.Keys(by)) {
		if strings.HasPrefix(way, "Rollcall, ") && way != theHang {
			require.Less(t, by[way], by["plain Kubernetes"], way)
		}
	}
}

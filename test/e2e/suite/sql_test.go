package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/rollcall-dev/rollcall/coordinator/policy"
	"github.com/rollcall-dev/rollcall/test/e2e/load"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// TestMySQL walks one MySQL through everything: the order matters, a later step
// starts from what an earlier one left.
func TestMySQL(t *testing.T) { sqlWalk(t, sqlcluster.MySQL) }

// TestMariaDB is the same for MariaDB.
func TestMariaDB(t *testing.T) { sqlWalk(t, sqlcluster.MariaDB) }

func sqlWalk(t *testing.T, flavor sqlcluster.Flavor) {
	b := bed(t, flavor.Name)
	leaveNothing(t, b)
	s := &sqlTest{bed: b, flavor: flavor, life: t.Context()}
	// Each server's whole rollout, of MariaDB as most charts are, of MySQL as one that was made for an operator.
	steps := []step{{"OnDelete", s.onDelete}}
	if flavor == sqlcluster.MariaDB {
		steps = []step{{"Guard", s.byGuard}}
	}
	measure := []step{
		{"OnDelete", s.onDelete},
		{"Guard", s.byGuard},
		{"PrimaryMovedByPerson", s.movedByPerson},
		{"PartitionFromPrimaryZero", s.partitionFromZero},
		{"PartitionFromAnother", s.partitionFromAnother},
		{"PrimaryKilled", s.primaryKilled},
		{"KilledInSwitchover", s.killedInSwitchover},
		{"CandidatesKilledAfterWriteStop", s.candidatesKilled},
		{"LongTransaction", s.longTransaction},
		{"ReplicaStopped", s.replicaStopped},
		{"ReplicaLags", s.replicaLags},
		{"ErrantTransaction", s.errant},
		{"PrimaryHangs", s.primaryHangs},
		{"PrimaryDeleted", s.primaryDeleted},
		{"PrimaryEvicted", s.primaryEvicted},
		{"FirstPodBroken", s.firstPodBroken},
		{"BrokenFromTheStart", s.brokenFromTheStart},
		{"PlainKubernetes", s.plain},
	}
	measure = slices.DeleteFunc(measure, func(x step) bool { return x.name == steps[0].name })
	defer s.table(t)
	walk(t, steps, measure)
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
	}
}

type sqlTest struct {
	bed *testbed.Bed
	// life of the whole test: what is begun in one step is used by the next.
	life    context.Context
	flavor  sqlcluster.Flavor
	cluster *sqlcluster.Cluster
	figures []sqlFigure
}

// sqlFigure is what one way cost those who write.
type sqlFigure struct {
	way string
	out sqlcluster.Outcome
}

// table of what each way has cost, in the same run.
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

// deploy brings up the database under a DatabaseCluster with changes, unless it is there.
func (s *sqlTest) deploy(t *testing.T) {
	t.Helper()
	if s.cluster != nil {
		return
	}
	s.apply(t)
	cluster, err := sqlcluster.Deploy(s.life, s.bed, s.flavor, sqlcluster.Labelled)
	if err != nil {
		describe(t)
	}
	require.NoError(t, err)
	s.cluster = cluster
	s.approve(t)
}

// apply makes the namespace and the DatabaseCluster.
func (s *sqlTest) apply(t *testing.T, replace ...string) {
	t.Helper()
	require.NoError(t, s.bed.Apply(t.Context(), "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	require.NoError(t, s.bed.Apply(t.Context(), manifest(t, s.bed, s.flavor.Name+"-databasecluster.yaml", replace...)))
}

// approve: a pod that comes while no webhook answers has no agent; the next change adopts it.
func (s *sqlTest) approve(t *testing.T) {
	t.Helper()
	_, err := s.bed.Rollcall(t.Context(), "approve", s.flavor.Name, "-n", sqlcluster.Namespace, "--what", "adopt", "--any-revision")
	require.NoError(t, err)
}

// spec merges into the DatabaseCluster's spec.
func (s *sqlTest) spec(ctx context.Context, patch string) error {
	_, err := s.bed.Kubectl(ctx, "", "patch", "dbc", s.flavor.Name, "-n", sqlcluster.Namespace, "--type=merge", "-p", `{"spec":`+patch+`}`)
	return err
}

// strategy changes how the StatefulSet is updated, which restarts nothing.
func (s *sqlTest) strategy(t *testing.T, rolling string, edits ...func(*appsv1.StatefulSet)) {
	t.Helper()
	s.deploy(t)
	ctx := t.Context()
	require.NoError(t, s.cluster.RolledOut(ctx, rolloutLimit))
	require.NoError(t, s.spec(ctx, `{"guard":"Enforce","update":{"rollingUpdate":`+rolling+`}}`))
	require.NoError(t, s.cluster.Edit(ctx, edits...))
	if rolling == `"Partition"` {
		require.NoError(t, s.atRest(ctx))
		return
	}
	require.NoError(t, s.guarded(ctx))
}

// guarded waits until every pod's guard is closed.
func (s *sqlTest) guarded(ctx context.Context) error {
	return s.bed.Eventually(ctx, "guards to close", 3*time.Minute, func(ctx context.Context) error {
		out, err := s.bed.Kubectl(ctx, "", "get", "pods", "-n", sqlcluster.Namespace, "-l", "rollcall.dev/guard=closed", "-o", "name")
		if got := len(strings.Fields(out)); err == nil && got != sqlcluster.Servers {
			return fmt.Errorf("%d of %d are closed", got, sqlcluster.Servers)
		}
		return err
	})
}

// atRest waits until the line is where Rollcall lets it rest.
func (s *sqlTest) atRest(ctx context.Context) error {
	return s.bed.Eventually(ctx, "the line to rest", 3*time.Minute, func(ctx context.Context) error {
		set, err := s.cluster.StatefulSet(ctx)
		if err != nil {
			return err
		}
		if u := set.Spec.UpdateStrategy.RollingUpdate; u == nil || u.Partition == nil || *u.Partition != policy.RestLine {
			return fmt.Errorf("rollingUpdate: %v", u)
		}
		return nil
	})
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
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods away at once")
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

// touch is a rehearsal of a change that only restarts.
func (s *sqlTest) touch(value string) rehearsal.Rehearsal {
	return rehearsal.Rehearsal{Change: func(ctx context.Context) error { return s.cluster.Touch(ctx, value) }}
}

// onDelete: another image, pods in Rollcall's order.
func (s *sqlTest) onDelete(t *testing.T) {
	s.strategy(t, "null", sqlcluster.OnDelete)
	out := s.roll(t, "Rollcall, OnDelete", 1, rehearsal.Rehearsal{Change: func(ctx context.Context) error { return s.cluster.SetImage(ctx, sqlcluster.NewTag) }})
	s.wellBehaved(t, out)
	_, err := s.bed.Rollcall(t.Context(), "status", s.flavor.Name, "-n", sqlcluster.Namespace, "--wait", "--timeout", "2m")
	require.NoError(t, err)
}

// byGuard: the same order, though Kubernetes' own controller would take others.
func (s *sqlTest) byGuard(t *testing.T) {
	s.strategy(t, "null", sqlcluster.RollingUpdate(0))
	s.wellBehaved(t, s.roll(t, "Rollcall, RollingUpdate with the guard", 1, s.touch("guard")))
}

// movedByPerson: somebody moves the primary by SQL. Agents have the others
// follow, and do not move it back.
func (s *sqlTest) movedByPerson(t *testing.T) {
	s.deploy(t)
	first := s.flavor.Name + "-0"
	primary, err := s.cluster.Primary(t.Context())
	require.NoError(t, err)
	to := first
	if primary == first {
		to = s.flavor.Name + "-1"
	}
	out := s.measure(t, "a person's switchover by SQL", 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return s.cluster.MovePrimary(ctx, to) },
		Done:   func(ctx context.Context) error { return s.cluster.Whole(ctx, 2*time.Minute) },
		After:  20 * time.Second,
	})
	require.Equal(t, []string{primary, to}, out.Primaries.Turns)
	require.Empty(t, out.Witness.Restarts)
}

// primaryIs has the primary be on the pod, or on another one.
func (s *sqlTest) primaryIs(t *testing.T, pod string, is bool) {
	t.Helper()
	s.deploy(t)
	ctx := t.Context()
	primary, err := s.cluster.Primary(ctx)
	require.NoError(t, err)
	if (primary == pod) == is {
		return
	}
	to := pod
	if !is {
		to = s.flavor.Name + "-2"
	}
	require.NoError(t, s.cluster.MovePrimary(ctx, to))
	require.NoError(t, s.cluster.Whole(ctx, 2*time.Minute))
}

// partitionFromZero: by ordinals, with the primary where it goes last.
func (s *sqlTest) partitionFromZero(t *testing.T) {
	s.strategy(t, `"Partition"`, sqlcluster.AtRest)
	s.primaryIs(t, s.flavor.Name+"-0", true)
	s.wellBehaved(t, s.roll(t, "Rollcall, partition, primary 0", 1, s.touch("partition-zero")))
	require.NoError(t, s.atRest(t.Context()))
}

// partitionFromAnother: by ordinals, with a primary that does not go last.
func (s *sqlTest) partitionFromAnother(t *testing.T) {
	s.strategy(t, `"Partition"`, sqlcluster.AtRest)
	s.primaryIs(t, s.flavor.Name+"-0", false)
	out := s.roll(t, "Rollcall, partition, another primary", 2, s.touch("partition-another"))
	s.eachOnce(t, out)
	require.GreaterOrEqual(t, out.Primaries.Switchovers(), 1)
	require.NoError(t, s.atRest(t.Context()))
}

// primaryKilled is what a failover costs: the primary's process is killed.
func (s *sqlTest) primaryKilled(t *testing.T) {
	s.deploy(t)
	s.measure(t, "the primary's process killed", 1, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error {
			primary, err := s.cluster.Primary(ctx)
			if err != nil {
				return err
			}
			return s.cluster.Kill(primary)
		},
		Done: func(ctx context.Context) error {
			if err := testbed.Pause(ctx, 5*time.Second); err != nil {
				return err
			}
			return s.cluster.RolledOut(ctx, rolloutLimit)
		},
	})
}

// plain is the same change by Kubernetes alone, with the server of pod 0 as the
// primary for ever: it is away until its pod is back.
func (s *sqlTest) plain(t *testing.T) {
	ctx := t.Context()
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(ctx))
		s.cluster = nil
	}
	require.NoError(t, s.bed.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}\n"))
	cluster, err := sqlcluster.Start(s.life, s.bed, s.flavor, sqlcluster.RollingUpdate(0))
	require.NoError(t, err)
	designating, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cluster.Designated(designating)
	}()
	defer func() {
		stop()
		<-ended
	}()
	require.NoError(t, cluster.Ready(ctx))
	s.cluster = cluster
	s.measure(t, "plain Kubernetes", 0, s.touch("plain"))
	s.measure(t, "plain Kubernetes, the primary's process killed", 0, rehearsal.Rehearsal{
		Change: func(ctx context.Context) error { return cluster.Kill(s.flavor.Name + "-0") },
		Done: func(ctx context.Context) error {
			if err := testbed.Pause(ctx, 5*time.Second); err != nil {
				return err
			}
			return cluster.RolledOut(ctx, rolloutLimit)
		},
	})
	s.compare(t)
}

// compare requires that a planned switchover costs less than what happens without one.
func (s *sqlTest) compare(t *testing.T) {
	t.Helper()
	by := map[string]time.Duration{}
	for _, f := range s.figures {
		by[f.way] = f.out.Load.Writes.Longest
	}
	for _, way := range slices.Sorted(maps.Keys(by)) {
		if strings.HasPrefix(way, "Rollcall, ") {
			require.Less(t, by[way], by["plain Kubernetes"], way)
		}
	}
}

// plan as text.
func (s *sqlTest) plan(ctx context.Context) (string, error) {
	return s.bed.Rollcall(ctx, "plan", s.flavor.Name, "-n", sqlcluster.Namespace, "-o", "text")
}

// writesStop waits until nobody can be written to though all servers answer: a
// switchover is between its write stop and its end.
func writesStop(ctx context.Context, p *witness.Primary, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		open, answer := 0, 0
		for _, k := range p.Known() {
			if k.Answers {
				answer++
			}
			if k.Answers && k.Writable {
				open++
			}
		}
		if answer == sqlcluster.Servers && open == 0 {
			return nil
		}
		if err := testbed.Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("writes were not stopped")
}

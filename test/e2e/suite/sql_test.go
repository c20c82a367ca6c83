package suite

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// TestMySQL walks one MySQL through everything: the order matters, a later step
// starts from what an earlier one left.
func TestMySQL(t *testing.T) {
	measured(t)
	sqlWalk(t, sqlcluster.MySQL)
}

// TestMariaDB is the same for MariaDB.
func TestMariaDB(t *testing.T) { sqlWalk(t, sqlcluster.MariaDB) }

func sqlWalk(t *testing.T, flavor sqlcluster.Flavor) {
	b := bed(t, flavor.Name)
	leaveNothing(t, b)
	s := &sqlTest{bed: b, flavor: flavor, life: t.Context()}
	var steps []step
	if flavor == sqlcluster.MariaDB {
		steps = []step{{"Guard", s.byGuard}, {"Canary", s.canary}}
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
		{"ConnectionsRefused", s.connectionsRefused},
		{"PrimaryDeleted", s.primaryDeleted},
		{"PrimaryEvicted", s.primaryEvicted},
		{"FirstPodBroken", s.firstPodBroken},
		{"BrokenFromTheStart", s.brokenFromTheStart},
		{"Rotation", s.rotation},
		{"Adopted", s.adopted},
		{"PlainKubernetes", s.plain},
	}
	measure = slices.DeleteFunc(measure, func(x step) bool { return slices.ContainsFunc(steps, func(s step) bool { return s.name == x.name }) })
	defer s.table(t)
	walk(t, steps, measure)
	if s.cluster != nil {
		require.NoError(t, s.cluster.Delete(t.Context()), "a namespace with Rollcall in it can be deleted")
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

// plain is the same change by Kubernetes alone, with the server of pod 0 as the primary for ever:
// it is unavailable until its pod is back.
func (s *sqlTest) plain(t *testing.T) {
	defer s.unaided(t)()
	cluster := s.cluster
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

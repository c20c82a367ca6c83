package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// A pod that the database has not had for as long as a start may take has failed, and with it go no
// copies that serve, whoever else is unavailable, if their data stays.
func TestCopiesThatHaveNotServedForLong(t *testing.T) {
	two := Limits{Pods: 2, Shard: 1}
	ephemeral, replaced := two, two
	ephemeral.Ephemeral, replaced.Replaced = true, true
	for name, c := range map[string]struct {
		limits  Limits
		without time.Duration
		scaled  bool
		again   bool
		broken  []string
	}{
		"for as long as a start may take":        {limits: two, without: 60 * time.Second},
		"for less":                               {limits: two, without: 59 * time.Second, broken: []string{"I1", "I3"}},
		"and has been a member again":            {limits: two, without: 60 * time.Second, again: true, broken: []string{"I1", "I3"}},
		"and is removed":                         {limits: two, without: 60 * time.Second, scaled: true, broken: []string{"I1", "I3"}},
		"and its data is gone with it":           {limits: ephemeral, without: 60 * time.Second, broken: []string{"V3", "V3", "I1", "I3"}},
		"and it is replaced, and so its volumes": {limits: replaced, without: 60 * time.Second, broken: []string{"I1", "I3"}},
	} {
		require.Equal(t, c.broken, play(t, c.limits, nil, func(s *scene) {
			s.starts(60)
			s.goes("db-0")
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.wait(c.without)
			if c.scaled {
				s.scale(1)
			}
			if c.again {
				s.db.AddLive("db-1", "9.9.0")
				s.look("db-1")
				s.wait(glance + 1)
			}
			s.look("db-1", "db-2")
			s.goes("db-1")
		}), name)
	}
}

// Who removes a pod has looked at it a moment before. That it has become a member since, though
// its copies do not serve yet, nobody can know.
func TestWhoIsAMemberAgainSinceTheLastLook(t *testing.T) {
	two := Limits{Pods: 2, Shard: 1}
	for name, c := range map[string]struct {
		without, since time.Duration
		broken         []string
	}{
		"since then":                {60 * time.Second, glance, nil},
		"since before":              {60 * time.Second, glance + 1, []string{"I1", "I3"}},
		"since then, and soon":      {57 * time.Second, glance, []string{"I1", "I3"}},
		"for the second time since": {60 * time.Second, 0, []string{"I1", "I3"}},
	} {
		require.Equal(t, c.broken, play(t, two, nil, func(s *scene) {
			s.starts(60)
			s.goes("db-0")
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.wait(c.without)
			s.rejoins("db-1")
			s.look("db-1", "db-2")
			if c.since == 0 {
				s.db.LoseSession("db-1")
				s.look("db-1")
				s.rejoins("db-1")
			}
			s.wait(c.since)
			s.goes("db-1")
		}), name)
	}
}

// A pod that has failed is outside the budget, and waits for no lower rank.
func TestWhoHasFailedWaitsForNoRank(t *testing.T) {
	ephemeral := Limits{Pods: 2, Shard: 1, Ephemeral: true}
	for name, c := range map[string]struct {
		limits  Limits
		without time.Duration
		broken  []string
	}{
		"for as long as a start may take": {Limits{Pods: 2, Shard: 1}, 60 * time.Second, nil},
		"for less":                        {Limits{Pods: 2, Shard: 1}, 59 * time.Second, []string{"I8"}},
		"and its data is gone with it":    {ephemeral, 60 * time.Second, []string{"V3", "I8"}},
	} {
		require.Equal(t, c.broken, play(t, c.limits, func(s *scene) { s.db.Rank("db-1", 1) }, func(s *scene) {
			s.starts(60)
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.wait(c.without)
			s.look("db-0", "db-1", "db-2")
			s.goes("db-1")
		}), name)
	}
}

// A pod whose database waits to be started once more has nothing to say of itself; others look all the same.
func TestWhoWaitsForAStartIsNotAsked(t *testing.T) {
	backOff := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, c := range map[string]struct {
		container string
		state     corev1.ContainerState
		stops     bool
		looks     []string
		broken    []string
	}{
		"waits for a start":                     {workload.Database, backOff, true, []string{"db-1"}, nil},
		"waits, and nobody else looks":          {workload.Database, backOff, true, nil, []string{"I10"}},
		"waits, and serves as far as is known":  {workload.Database, backOff, false, []string{"db-1"}, []string{"I10"}},
		"runs":                                  {workload.Database, runs, true, []string{"db-1"}, []string{"I10"}},
		"another container of it waits":         {v1alpha1.AgentContainer, backOff, true, []string{"db-1"}, []string{"I10"}},
		"runs, and is looked at, as all others": {workload.Database, runs, true, []string{"db-0", "db-1"}, nil},
	} {
		require.Equal(t, c.broken, play(t, Limits{Pods: 2, Shard: 1}, nil, func(s *scene) {
			s.wait(30 * time.Second)
			if c.stops {
				s.db.Stop("db-0", false)
			}
			pod := s.server.Pod("db-0").DeepCopy()
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: c.container, State: c.state}}
			s.server.Put(api.Pods, pod)
			for uid := range s.o.Seen["c1"] {
				delete(s.o.Seen["c1"], uid)
			}
			s.look(c.looks...)
			s.goes("db-0")
		}), name)
	}
}

// Every exception is one that a document allows in these words.
func TestDocumentsAllowTheExceptions(t *testing.T) {
	known := []string{pods, members, primaries, ofRanks, overseers, others, itself, doomed, byPartition, copies, votes}
	for _, i := range Invariants {
		known = append(known, i.Name)
	}
	allowed := func(name, document, says string) {
		text, err := os.ReadFile(filepath.Join("../../..", document))
		require.NoError(t, err, name)
		require.NotEmpty(t, says, name)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), says, name)
	}
	for _, w := range append(slices.Clone(Waits), Unconfirmed) {
		allowed(w.Name, w.Document, w.Says)
	}
	for _, f := range followers {
		allowed(f.Name, f.Document, f.Says)
	}
	for _, e := range Exceptions {
		allowed(e.Name, e.Document, e.Says)
		require.NotEmpty(t, e.Skips, e.Name)
		for _, skipped := range e.Skips {
			require.True(t, slices.Contains(known, skipped), "%s: %s", e.Name, skipped)
		}
	}
}

package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
)

// A pod that the database has not had for as long as a start may take has failed, and with it
// go no copies that serve, whoever else is away, if their data stays.
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
		"and is a member again":                  {limits: two, without: 60 * time.Second, again: true, broken: []string{"I1", "I3"}},
		"and is removed":                         {limits: two, without: 60 * time.Second, scaled: true, broken: []string{"I1", "I3"}},
		"and its data is gone with it":           {limits: ephemeral, without: 60 * time.Second, broken: []string{"V3", "V3", "I1", "I3"}},
		"and it is replaced, and so its volumes": {limits: replaced, without: 60 * time.Second, broken: []string{"I1", "I3"}},
	} {
		require.Equal(t, c.broken, play(t, c.limits, nil, func(s *scene) {
			cluster := s.server.Cluster("db").DeepCopy()
			cluster.Spec.Policy.StartSeconds = 60
			s.server.Put(api.Clusters, cluster)
			s.goes("db-0")
			s.db.LoseSession("db-1")
			s.look("db-1")
			s.wait(c.without)
			if c.scaled {
				s.scale(1)
			}
			if c.again {
				s.db.AddLive("db-1", "9.9.0")
			}
			s.look("db-1", "db-2")
			s.goes("db-1")
		}), name)
	}
}

// Every exception is one that a document allows in these words.
func TestDocumentsAllowTheExceptions(t *testing.T) {
	known := []string{pods, members, primaries, ofRanks, overseers, others, doomed, byLine}
	for _, i := range Invariants {
		known = append(known, i.Name)
	}
	allowed := func(name, document, says string) {
		text, err := os.ReadFile(filepath.Join("../../..", document))
		require.NoError(t, err, name)
		require.NotEmpty(t, says, name)
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), says, name)
	}
	for _, w := range Waits {
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

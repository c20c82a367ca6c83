package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// A pod whose last copy was moved away waits for a person only if nobody is left who could
// have told that in time.
func TestWhoHadTheLastCopy(t *testing.T) {
	// moves has db-1's copy of another shard move to db-0; that much later no database runs.
	moves := func(later time.Duration) func(s *scene) {
		return func(s *scene) {
			s.db.AddShard("books/s2", "db-1")
			s.db.AddShard("books/s3", "db-2")
			s.o.Look()
			s.db.Relocate("books/s2", "db-1", "db-0")
			s.db.Relocate("books/s1", "db-1", "db-2")
			s.o.Look()
			s.wait(later)
			s.fails("db-0", "db-1", "db-2")
			s.o.Look()
		}
	}
	and := func(stories ...func(s *scene)) func(s *scene) {
		return func(s *scene) {
			for _, story := range stories {
				story(s)
			}
		}
	}
	disks, stuck := Limits{Ephemeral: true}, []string{"L1"}
	for name, c := range map[string]struct {
		limits Limits
		story  func(s *scene)
		broken []string
	}{
		"all ended a moment later":       {disks, moves(time.Second), nil},
		"it could be known by then":      {disks, moves(noticed + 1), stuck},
		"the data stay":                  {Limits{}, moves(time.Second), stuck},
		"it has been so for long":        {disks, and(moves(time.Second), func(s *scene) { s.wait(10 * noticed) }), nil},
		"they may come back":             {disks, and(moves(time.Second), func(s *scene) { s.o.Broken = func(*corev1.Pod) bool { return false } }), stuck},
		"somebody is back, who can tell": {disks, and(moves(time.Second), func(s *scene) { s.db.AddLive("db-2", "9.9.0"); s.o.Look() }), stuck},
		"somebody is back, and has no agent": {disks, and(moves(time.Second), func(s *scene) {
			s.agentless("db-2")
			s.db.AddLive("db-2", "9.9.0")
			s.o.Look()
		}), nil},
		"somebody who can tell has never ended": {disks, func(s *scene) {
			s.db.AddShard("books/s2", "db-1")
			s.o.Look()
			s.db.Relocate("books/s2", "db-1", "db-0")
			s.db.Relocate("books/s1", "db-1", "db-2")
			s.o.Look()
			s.fails("db-0", "db-1")
		}, stuck},
		"it never had one": {disks, func(s *scene) {
			s.fails("db-0", "db-1", "db-2") // of which the last has none
			s.o.Look()
		}, stuck},
	} {
		assert.Equal(t, c.broken, ends(t, c.limits, false, c.story), name)
	}
}

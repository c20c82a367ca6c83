package foundationdb

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// What a person has done to the database on purpose is said, and left alone: a lock, and an exclusion
// that is not ours. (TestLocked, TestExcludedByAPerson; maintenance: TestMaintenanceTakesNoOtherPlace)

// lockedWords returns why nothing is changed in a database that somebody has locked; empty means
// that nobody has. Nothing here unlocks it.
func (s *status) lockedWords() string {
	if !s.locked {
		return ""
	}
	return fmt.Sprintf("somebody has locked the database (lock UID %s): nothing is changed in it until they unlock it", engines.OneLine(s.lockedBy))
}

// excludedByPerson is the entry of the exclusion list by which somebody else has excluded the pod.
// Empty means nobody has: what marks there stand for is ours.
func (s *status) excludedByPerson(node string) string {
	own := s.of(node)
	var ours []string
	for _, t := range s.excluded {
		if its, _ := marks(t, node, nil); its {
			ours = append(ours, marked(t, node, own)...)
		}
	}
	entries := []string{instanceTarget(node)}
	excluded := false
	for _, p := range own {
		excluded = excluded || is(p.excluded)
		entries = append(entries, endpoint(p.address), ipOf(p.address), localityPrefix+"zoneid:"+p.zone, localityPrefix+"dcid:"+p.dc, localityPrefix+"data_hall:"+p.hall)
	}
	for _, t := range entries {
		if s.lists(t) && !slices.Contains(ours, t) {
			return t
		}
	}
	if excluded && len(ours) == 0 {
		return "an entry that does not name it"
	}
	return ""
}

// besides adds to what is said of an evacuation that somebody else has excluded the pod, too.
func (s *status) besides(node, detail string) string {
	entry := s.excludedByPerson(node)
	if entry == "" {
		return detail
	}
	words := fmt.Sprintf("somebody else has excluded it, too (%s), and that stays", engines.OneLine(entry))
	if detail == "" {
		return words
	}
	return detail + "; " + words
}

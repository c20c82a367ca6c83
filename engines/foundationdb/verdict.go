package foundationdb

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict returns the verdict on the whole database. The first that holds counts.
//
//   - Unknown: the document does not say what has to be known.
//   - Red: the database or a majority of its coordinators does not answer, a shard
//     has no copy, or mutations may be lost.
//   - Yellow: a recovery is under way, data are being rebuilt, logs are missing, or
//     the database itself raises an alarm, or recovered a moment ago (health).
//   - Recoverable: all that is missing are pods of the zone under maintenance, on
//     whose return the database waits, and seats of coordinators.
//   - Green: nothing is missing.
func (s *status) verdict(away []remembered) engines.Health {
	say := func(v engines.Verdict, format string, args ...any) engines.Health {
		return engines.Health{Verdict: v, Reason: fmt.Sprintf(format, args...)}
	}
	copies, known := s.copies()
	switch {
	case s.available == nil:
		return say(engines.VerdictUnknown, "the status does not say whether the database is available")
	case !*s.available:
		return say(engines.VerdictRed, "the database is unavailable%s", s.phaseInWords())
	case s.quorumReachable == nil:
		return say(engines.VerdictUnknown, "the status does not say whether a quorum of coordinators is reachable")
	case !*s.quorumReachable:
		return say(engines.VerdictRed, "no quorum of coordinators is reachable")
	case len(s.coordinators) == 0:
		return say(engines.VerdictUnknown, "the status lists no coordinators")
	case s.recovery == "" || s.generations == nil:
		return say(engines.VerdictUnknown, "%s", s.recovering())
	case s.recovering() != "":
		return say(engines.VerdictYellow, "%s", s.recovering())
	case !known:
		return say(engines.VerdictUnknown, "redundancy mode %q is not known", engines.OneLine(s.redundancy))
	case s.dataState == "missing_data":
		return say(engines.VerdictRed, "no copy of some data is there")
	case len(s.trackers) == 0 || slices.ContainsFunc(s.trackers, func(t tracker) bool { return t.replicas == nil }):
		return say(engines.VerdictUnknown, "the status does not say how many copies of the data there are")
	case len(s.logs) == 0:
		return say(engines.VerdictUnknown, "the status lists no logs")
	case slices.ContainsFunc(s.logs, func(l logSet) bool { return l.losing }):
		return say(engines.VerdictRed, "mutations may be lost: too few logs are there")
	case s.alarm() != "":
		return say(engines.VerdictYellow, "the database says %s", s.alarm())
	}
	for _, t := range s.trackers {
		if *t.replicas <= 0 {
			return say(engines.VerdictRed, "no copy of some data is there")
		}
		if *t.replicas < copies {
			return say(engines.VerdictYellow, "some data have %d of %d copies", *t.replicas, copies)
		}
	}
	for _, set := range s.logs {
		if _, lost := toleranceOf([]logTolerance{set.local, set.remote, set.satellite}); lost > 0 {
			return say(engines.VerdictYellow, "logs are missing in %d zones", lost)
		}
	}
	if !s.calm() {
		return say(engines.VerdictYellow, "data are being moved: %s", engines.OneLine(s.dataState))
	}
	for _, c := range s.coordinators {
		switch {
		case c.reachable == nil:
			return say(engines.VerdictUnknown, "whether coordinator %s is reachable is not known", engines.OneLine(c.address))
		case !*c.reachable:
			return say(engines.VerdictRecoverable, "coordinator %s is not reachable", engines.OneLine(c.address))
		case s.sitting(c.address) == nil:
			return say(engines.VerdictUnknown, "which process is coordinator %s is not known; processes that are named by host in the cluster file need --locality_dns_name", engines.OneLine(c.address))
		}
	}
	for _, r := range away {
		if r.zone == s.maintenance {
			return say(engines.VerdictRecoverable, "%s is unavailable, zone %s is under maintenance", engines.OneLine(r.instance), engines.OneLine(r.zone))
		}
	}
	if len(away) > 0 {
		return say(engines.VerdictYellow, "%s is unavailable, and the database may not have noticed", engines.OneLine(away[0].instance))
	}
	return engines.Health{Verdict: engines.VerdictGreen}
}

const fullyRecovered = "fully_recovered"

func (s *status) phaseInWords() string {
	if s.recovery == "" {
		return ""
	}
	return ": " + engines.OneLine(s.recovery)
}

// calm reports whether no data has to be moved to restore redundancy.
func (s *status) calm() bool {
	switch s.dataState {
	case "healthy_removing_server", "healthy_populating_region":
		return false
	case "optimizing_team_collections":
		return true
	}
	return strings.HasPrefix(s.dataState, "healthy")
}

// health is the verdict, and while the database has recovered only just now it is Yellow at
// best. All agents see that end, each at its next look; as a verdict it ends when the last of
// them has, so that who may go next is not who looked first.
func (s snapshot) health(wanted time.Duration) engines.Health {
	h := s.verdict(s.away)
	if (h.Verdict == engines.VerdictGreen || h.Verdict == engines.VerdictRecoverable) && s.recovered < wanted {
		return engines.Health{Verdict: engines.VerdictYellow, Reason: s.justRecovered(wanted)}
	}
	return h
}

func (s snapshot) justRecovered(wanted time.Duration) string {
	return fmt.Sprintf("the database recovered %d s ago, must be at least %d s", int(s.recovered.Seconds()), int(wanted.Seconds()))
}

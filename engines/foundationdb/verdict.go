package foundationdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// verdict returns the verdict on the whole database. The first that holds counts,
// but Recoverable only where nothing worse holds.
//
//   - Unknown: the document does not say what has to be known, or what would notice a loss is
//     disabled.
//   - Red: the database or a majority of its coordinators does not answer, a shard
//     has no copy, or mutations may be lost.
//   - Yellow: the database is not available again yet after a recovery, data are being rebuilt or
//     are about to be, somebody has locked it, it raises an alarm, or it recovered a moment ago
//     (health).
//   - Recoverable: all that is missing are pods of the zone under maintenance, on
//     whose return the database waits, logs, and seats of coordinators.
//   - Green: nothing is missing.
func (s *status) verdict(away []remembered) engines.Health {
	recoverable := green
	for _, part := range []func([]remembered) engines.Health{s.serves, s.people, s.data, s.seated, s.missing, s.logsOf} {
		switch h := part(away); {
		case h.Verdict == engines.VerdictRecoverable:
			recoverable.Verdict = h.Verdict
			recoverable.Reason = cmp.Or(recoverable.Reason, h.Reason)
		case h.Verdict != engines.VerdictGreen:
			return h
		}
	}
	if recoverable.Verdict == engines.VerdictGreen {
		recoverable.Reason = s.personal()
	}
	if words := s.unseen(away); words != "" {
		recoverable.Reason = strings.TrimPrefix(recoverable.Reason+", "+words, ", ")
	}
	return recoverable
}

func say(v engines.Verdict, format string, args ...any) engines.Health {
	return engines.Health{Verdict: v, Reason: fmt.Sprintf(format, args...)}
}

var green = engines.Health{Verdict: engines.VerdictGreen}

// serves is about the database as a whole.
func (s *status) serves([]remembered) engines.Health {
	switch _, known := s.copies(); {
	case !is(s.available):
		return s.downHealth()
	case s.quorumReachable == nil:
		return say(engines.VerdictUnknown, "the status does not say whether a quorum of coordinators is reachable")
	case !*s.quorumReachable:
		return say(engines.VerdictRed, "no quorum of coordinators is reachable")
	case len(s.coordinators) == 0:
		return say(engines.VerdictUnknown, "the status lists no coordinators")
	case s.recovery == "" || s.generations == nil:
		return say(engines.VerdictUnknown, "%s", s.recovering())
	case s.recoveringYet() != "":
		return say(engines.VerdictYellow, "%s", s.recoveringYet())
	case !known:
		return say(engines.VerdictUnknown, "redundancy mode %q is not known", engines.OneLine(s.redundancy))
	}
	return green
}

// people is about what somebody has done to the whole database.
func (s *status) people([]remembered) engines.Health {
	switch {
	case s.disabled.words() != "":
		return say(engines.VerdictUnknown, "%s", s.disabled.words())
	case s.locked:
		return say(engines.VerdictYellow, "the database is locked (UID %s) by somebody: nothing goes until they unlock it", engines.OneLine(s.lockedBy))
	}
	return green
}

// data is about the copies, by the database's own count.
func (s *status) data([]remembered) engines.Health {
	_, tolerates := s.tolerance.least()
	switch {
	case s.dataState == "missing_data":
		return say(engines.VerdictRed, "no copy of some data is there")
	case s.dataState == "initializing" && len(s.trackers) == 0:
		return say(engines.VerdictUnknown, "data distribution is starting, and does not say yet how many copies of the data there are")
	case len(s.trackers) == 0 || slices.ContainsFunc(s.trackers, func(t tracker) bool { return t.replicas == nil }):
		return say(engines.VerdictUnknown, "the status does not say how many copies of the data there are")
	case len(s.logs) == 0:
		return say(engines.VerdictUnknown, "the status lists no logs")
	case slices.ContainsFunc(s.logs, func(l logSet) bool { return l.losing }):
		return say(engines.VerdictRed, "mutations may be lost: too few logs are there")
	case s.alarm() != "":
		return say(engines.VerdictYellow, "the database says %s", s.alarm())
	case slices.Contains(nearlyFull, s.limitedBy.name):
		return say(engines.VerdictYellow, "a disk is nearly full, and the database slows down: %s", s.limitedBy.words())
	}
	copies, _ := s.copies()
	for _, t := range s.trackers {
		if *t.replicas <= 0 {
			return say(engines.VerdictRed, "no copy of some data is there")
		}
		if *t.replicas < copies {
			return say(engines.VerdictYellow, "some data have %d of %d copies", *t.replicas, copies)
		}
	}
	switch {
	case s.unlisted() != "":
		return say(engines.VerdictUnknown, "%s", s.unlisted())
	case !tolerates:
		return say(engines.VerdictUnknown, "the status does not say how many zones may fail (fault_tolerance)")
	case !s.calm():
		return say(engines.VerdictYellow, "data are being moved: %s", engines.OneLine(s.dataState))
	}
	return green
}

// logsOf is about the mutations that are in logs only. Of a recovery that is over but for old logs
// nothing has to be waited for by its name: what is safe is in the groups, by the logs.
func (s *status) logsOf(away []remembered) engines.Health {
	lost := 0
	for _, set := range s.logs {
		_, n := toleranceOf([]logTolerance{set.local, set.remote, set.satellite})
		lost = max(lost, n)
	}
	if i := slices.IndexFunc(away, func(r remembered) bool { return r.role == "log" && r.instance != "" }); i >= 0 {
		return say(engines.VerdictRecoverable, "%s", engines.OneLine(away[i].words()))
	}
	switch {
	case lost > 0:
		return say(engines.VerdictRecoverable, "logs are missing in %d zones", lost)
	case s.recovering() != "":
		return say(engines.VerdictRecoverable, "old logs are still needed: %s, %d generations of logs", engines.OneLine(s.recovery), *s.generations)
	}
	return green
}

// seated is about the coordinators.
func (s *status) seated([]remembered) engines.Health {
	worst := green
	for _, c := range s.coordinators {
		at := engines.OneLine(plainAddress(c.address))
		owner, known := s.owners[endpoint(c.address)]
		switch {
		case c.reachable == nil:
			return say(engines.VerdictUnknown, "whether coordinator %s is reachable is not known", at)
		case !*c.reachable && known && owner.zone != "":
			worst = say(engines.VerdictRecoverable, "%s (%s) is away, its seat %s does not answer", engines.OneLine(owner.instance), engines.OneLine(owner.zone), at)
		case !*c.reachable && known:
			worst = say(engines.VerdictRecoverable, "%s is away, its seat %s does not answer", engines.OneLine(owner.instance), at)
		case !*c.reachable:
			worst = say(engines.VerdictRecoverable, "coordinator %s is not reachable", at)
		case s.sitting(c.address) != nil:
		case s.coming[endpoint(c.address)]:
			return say(engines.VerdictUnknown, "coordinator %s has come back and its process is not listed yet", at)
		default:
			return say(engines.VerdictUnknown, "which process is coordinator %s is not known; processes that are named by host in the cluster file need --locality_dns_name", at)
		}
	}
	return worst
}

// missing is about storage servers that are not there, whatever the database counts.
func (s *status) missing(away []remembered) engines.Health {
	worst := green
	for _, r := range away {
		switch {
		case r.role != "storage":
		case s.maintenance != "" && r.zone == s.maintenance:
			worst = say(engines.VerdictRecoverable, "%s is unavailable, zone %s is under maintenance", engines.OneLine(r.instance), engines.OneLine(r.zone))
		default:
			return say(engines.VerdictYellow, "%s", engines.OneLine(r.words()))
		}
	}
	return worst
}

const fullyRecovered = "fully_recovered"

// downHealth returns the health of a database that is down. Nothing else is known of it.
func (s *status) downHealth() engines.Health {
	if s.available == nil {
		return engines.Health{Reason: "the status does not say whether the database is available"}
	}
	return say(engines.VerdictRed, "%s", strings.Join(append([]string{"the database is unavailable"}, s.downWords()...), ": "))
}

// down is the error of a change that the database cannot take.
func (s *status) down() error {
	if s.available == nil {
		return fmt.Errorf("%w: %s", ErrUnavailable, s.downHealth().Reason)
	}
	if words := s.downWords(); len(words) > 0 {
		return fmt.Errorf("%w: %s", ErrUnavailable, words[0])
	}
	return ErrUnavailable
}

// downWords say what is known of why the database is down, in the words of its client: at most one.
func (s *status) downWords() []string {
	var out []string
	if s.recovery != "" {
		out = append(out, engines.OneLine(s.recovery))
	}
	for _, m := range s.clientMessages {
		out = append(out, m.words())
	}
	var dead []string
	for _, c := range s.coordinators {
		if c.reachable != nil && !*c.reachable {
			dead = append(dead, plainAddress(c.address))
		}
	}
	if len(dead) > 0 {
		out = append(out, fmt.Sprintf("of %d coordinators %s do not answer", len(s.coordinators), engines.Some(dead)))
	}
	if len(out) == 0 {
		return nil
	}
	return []string{strings.Join(out, "; ")}
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

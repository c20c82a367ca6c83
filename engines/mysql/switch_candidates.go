package mysql

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// unfit says why the member cannot take over from the local one, or "". At the
// beginning it must follow closely; once writes are stopped it is enough that it
// can get what is missing.
func (v input) unfit(m member, beginning bool) string {
	s, own := m.state, v.self.state
	switch name := m.name(); {
	case len(v.eligible) > 0 && !slices.Contains(v.eligible, name):
		return name + " is not to take over"
	case m.peer.Leaving:
		return name + " is being stopped"
	case !m.peer.Alive:
		return name + "'s agent is away"
	case !m.serves():
		return m.silence()
	case s.Flavor != own.Flavor || s.Flavor == "":
		return fmt.Sprintf("%s is %s", name, s.Flavor)
	case older(s.Version, own.Version):
		return fmt.Sprintf("%s has version %s, older than %s", name, engines.OneLine(s.Version), engines.OneLine(own.Version))
	case !m.refuses():
		return name + " allows writes itself"
	case s.Source == nil:
		return name + " follows nobody"
	case !v.follows(m, v.self):
		return fmt.Sprintf("%s follows %s", name, engines.OneLine(s.Source.Host))
	case s.Source.ByPosition:
		return name + " follows without GTIDs"
	case s.Source.Filtered:
		return name + " replicates by filters, so that it has not all of the data"
	case s.Source.Delay > 0:
		return fmt.Sprintf("%s replicates with a delay of %s on purpose", name, engines.Duration(s.Source.Delay))
	case s.Source.Failure != "":
		return fmt.Sprintf("%s's replication is stopped: %s", name, engines.OneLine(s.Source.Failure))
	case !s.Source.Applying:
		return name + "'s applier is stopped"
	case !s.Source.Receiving:
		return name + " is not connected to " + v.self.name()
	case s.Busy != "":
		return fmt.Sprintf("%s is busy: %s", name, engines.OneLine(s.Busy))
	}
	if beginning {
		switch lag := s.Source.Lag; {
		case m.blank() && !v.self.blank():
			return m.name() + " has executed nothing yet"
		case lag == nil:
			return "how far " + m.name() + " lags is not known"
		case *lag > v.maxLag:
			return fmt.Sprintf("%s lags %s", m.name(), engines.Duration(*lag))
		}
		if why := v.stuck(m); why != "" {
			return m.name() + " " + why
		}
	}
	if why := v.errantWords(m); why != "" {
		return why
	}
	if _, _, err := v.addressOf(m); err != nil {
		return err.Error()
	}
	return ""
}

// receives: a replica that says so has what the local member had longer ago than a
// replica may lag.
func (v input) receives(m member) bool {
	there, known := m.got(v.past.executed)
	return there || !known
}

// lost: the other has something while the local member has nothing. This one was
// looked at last, so the other has not got that from it.
func (v input) lost(m member) string {
	if v.self.blank() && !m.blank() && m.state.Executed != "" {
		return fmt.Sprintf("%s has transactions and %s, which was made anew or has lost them, has none: somebody must say which is right", m.name(), v.self.name())
	}
	return ""
}

func (v input) errantWords(m member) string {
	if why := v.lost(m); why != "" {
		return why
	}
	switch extra, err := errant(m, v.self); {
	case err != nil:
		return fmt.Sprintf("%s cannot be compared: %v", m.name(), err)
	case extra != "":
		return fmt.Sprintf("%s has transactions that %s has not: %s", m.name(), v.self.name(), engines.OneLine(extra))
	}
	return ""
}

// candidates answers who can take over, and why each other one cannot.
func (v input) candidates(beginning bool) (fit []member, reasons []string) {
	for _, m := range v.others {
		why := v.unfit(m, beginning)
		if why == "" {
			why = v.noAcks(m)
		}
		if why != "" {
			reasons = append(reasons, why)
			continue
		}
		fit = append(fit, m)
	}
	return fit, reasons
}

// noAcks says when too few would acknowledge the commits of m once the local
// member is away. With fewer members than that at any time nobody else would be
// better.
func (v input) noAcks(m member) string {
	semi := v.self.state.SemiSync
	able := 0 // a delayed one that does not acknowledge never will
	for _, other := range v.others {
		if !other.delayed() || other.state.SemiSync.Replica {
			able++
		}
	}
	if !semi.Source || able-1 < semi.Acks {
		return ""
	}
	left := 0
	for _, other := range v.others {
		if other.name() != m.name() && other.serves() && !other.peer.Leaving && other.state.Source != nil &&
			v.follows(other, v.self) && other.state.Source.Receiving && other.state.SemiSync.Replica && v.receives(other) {
			left++
		}
	}
	if left >= semi.Acks {
		return ""
	}
	return fmt.Sprintf("%s would have %d of the %d replicas that acknowledge a commit", m.name(), left, semi.Acks)
}

// choose answers the most advanced: who has executed all that is frozen, then all of
// the most others, then the lowest ordinal.
func choose(fit []member, frozen string) member {
	type rated struct {
		member
		caughtUp bool
		passed   int
	}
	var all []rated
	for _, m := range fit {
		r := rated{member: m}
		r.caughtUp, _ = m.has(frozen)
		for _, other := range fit {
			if passed, _ := m.has(other.state.Executed); passed {
				r.passed++
			}
		}
		all = append(all, r)
	}
	return slices.MinFunc(all, func(a, b rated) int {
		switch {
		case a.caughtUp != b.caughtUp && a.caughtUp:
			return -1
		case a.caughtUp != b.caughtUp:
			return 1
		case a.passed != b.passed:
			return b.passed - a.passed
		}
		return byOrdinal(a.member, b.member)
	}).member
}

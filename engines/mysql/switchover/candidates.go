package switchover

import (
	"fmt"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// unfit explains why the member cannot take over from the local one; empty means that it can. At
// the beginning it must follow closely. Once writes are stopped it only has to be able to get what
// is missing.
func (v Input) unfit(m topology.Member, beginning bool) string {
	s, own := m.State, v.Self.State
	switch name := m.Name(); {
	case len(v.Eligible) > 0 && !slices.Contains(v.Eligible, name):
		return name + " is not to take over"
	case m.Peer.Leaving:
		return name + " is being stopped"
	case !m.Peer.Alive:
		return name + "'s agent is unavailable"
	case !m.Serves():
		return m.Silence()
	case m.Powerless() != "":
		return m.Powerless()
	case s.Flavor != own.Flavor || s.Flavor == "":
		return fmt.Sprintf("%s is %s", name, s.Flavor)
	case topology.Older(s.Version, own.Version):
		return fmt.Sprintf("%s has version %s, older than %s", name, engines.OneLine(s.Version), engines.OneLine(own.Version))
	case !m.Refuses():
		return name + " allows writes itself"
	case s.Source == nil:
		return name + " follows nobody"
	case !v.Follows(m, v.Self):
		return fmt.Sprintf("%s follows %s", name, engines.OneLine(s.Source.Host))
	case s.Source.ByPosition:
		return name + " follows without GTIDs"
	case s.Source.Filtered:
		return name + " replicates by filters, so that it has not all of the data"
	case s.Unlogged != "":
		return fmt.Sprintf("%s could not be followed: %s", name, engines.OneLine(s.Unlogged))
	case s.Source.Delay > 0:
		return fmt.Sprintf("%s replicates with a delay of %s on purpose", name, engines.Duration(s.Source.Delay))
	case s.Source.Failure != "":
		return fmt.Sprintf("%s's replication is stopped: %s", name, engines.OneLine(s.Source.Failure))
	case !s.Source.Applying:
		return name + "'s applier is stopped"
	case !s.Source.Receiving:
		return name + " is not connected to " + v.Self.Name()
	case s.Busy != "":
		return fmt.Sprintf("%s is busy: %s", name, engines.OneLine(s.Busy))
	}
	if beginning {
		switch lag := s.Source.Lag; {
		case m.Blank() && !v.Self.Blank():
			return m.Name() + " has executed nothing yet"
		case lag == nil:
			return "how far " + m.Name() + " lags is not known"
		case *lag > v.MaxLag:
			return fmt.Sprintf("%s lags %s", m.Name(), engines.Duration(*lag))
		}
		if why := v.Stuck(m); why != "" {
			return m.Name() + " " + why
		}
	}
	if why := v.errantWords(m); why != "" {
		return why
	}
	if _, _, err := v.AddressOf(m); err != nil {
		return err.Error()
	}
	return v.Twin(m)
}

// receives reports whether a connected replica really has what the local member had executed longer
// ago than a replica may lag.
func (v Input) receives(m topology.Member) bool {
	there, known := m.Got(v.Past.Executed)
	return there || !known
}

// lost explains that the other member has transactions and the local one has none. The local member
// was looked at last, so the other did not get them from it.
func (v Input) lost(m topology.Member) string {
	if v.Self.Blank() && !m.Blank() && m.State.Executed != "" {
		return fmt.Sprintf("%s has transactions and %s, which was made again or has lost them, has none: somebody must say which is right", m.Name(), v.Self.Name())
	}
	return ""
}

func (v Input) errantWords(m topology.Member) string {
	if why := v.lost(m); why != "" {
		return why
	}
	switch extra, err := topology.Errant(m, v.Self); {
	case err != nil:
		return fmt.Sprintf("%s cannot be compared: %v", m.Name(), err)
	case extra != "":
		return fmt.Sprintf("%s has transactions that %s has not: %s", m.Name(), v.Self.Name(), engines.OneLine(extra))
	}
	return ""
}

// candidates returns who can take over, and why each other member cannot.
func (v Input) candidates(beginning bool) (fit []topology.Member, reasons []string) {
	for _, m := range v.Others {
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

// noAcks explains that too few replicas would acknowledge the commits of m once the local member is
// unavailable. If there are never enough members, no other candidate would be better.
func (v Input) noAcks(m topology.Member) string {
	semi := v.Self.State.SemiSync
	able := 0 // a delayed one that does not acknowledge never will
	for _, other := range v.Others {
		if !other.Delayed() || other.State.SemiSync.Replica {
			able++
		}
	}
	if !semi.Source || able-1 < semi.Acks {
		return ""
	}
	left := 0
	for _, other := range v.Others {
		if other.Name() != m.Name() && other.Serves() && !other.Peer.Leaving && other.State.Source != nil &&
			v.Follows(other, v.Self) && other.State.Source.Receiving && other.State.SemiSync.Replica && v.receives(other) {
			left++
		}
	}
	if left >= semi.Acks {
		return ""
	}
	return fmt.Sprintf("%s would have %d of the %d replicas that acknowledge a commit", m.Name(), left, semi.Acks)
}

// choose returns the most advanced candidate: it has executed all that is frozen, then all
// that the most others have, then has the lowest ordinal.
func choose(fit []topology.Member, frozen string) topology.Member {
	type rated struct {
		topology.Member
		caughtUp bool
		passed   int
	}
	var all []rated
	for _, m := range fit {
		r := rated{Member: m}
		r.caughtUp, _ = m.Has(frozen)
		for _, other := range fit {
			if passed, _ := m.Has(other.State.Executed); passed {
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
		return topology.ByOrdinal(a.Member, b.Member)
	}).Member
}

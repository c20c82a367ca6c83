package foundationdb

import (
	"context"
	"errors"
	"slices"

	"github.com/rollcall-dev/rollcall/engines"
)

// handoff moves nothing, because the pod comes back with its data and its seats. It makes the
// database wait for the zone, and waits until the database can spare the pod.
func (e *Engine) handoff(ctx context.Context, order engines.Order, node string, s snapshot) (engines.Progress, error) {
	if len(s.of(node)) == 0 {
		return running("%s has no process in the database to hand anything over: start it, or let drain.onTimeout decide", engines.OneLine(node)), nil
	}
	zone, known := s.zoneOf(node)
	if !known {
		return refused("the fault domain of %s is not known, or not one: start fdbserver with --locality_zoneid", engines.OneLine(node)), nil
	}
	// A person may take days, and another pod could have this one's turn.
	if entry := s.excludedByPerson(node); entry != "" {
		return refused("somebody else has excluded %s (%s): it is left alone until that is taken off the list with include", engines.OneLine(node), engines.OneLine(entry)), nil
	}
	stores := hasStorage(s.status, node)
	if stores && !validZone(zone) {
		return refused("zone %q cannot be put under maintenance: must be a name of printable characters without spaces", engines.OneLine(zone)), nil
	}
	if now := (maintenance{s.maintenance, s.remaining}); keepsAny(s.of(node)) && now.another(zone) {
		return running("%s", now.words()), nil
	}
	if why := e.ready(s); why != "" {
		return running("%s", why), nil
	}
	// An order that came too late is not begun, even if it writes nothing.
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	if stores {
		wait, err := e.maintain(ctx, order, zone)
		if errors.Is(err, errForeignEnded) || errors.Is(err, errForeignBegun) {
			return refused("%s: it is to be begun again", err), nil
		}
		if err != nil || wait != "" {
			return engines.Progress{State: engines.ProgressRunning, Detail: wait}, err
		}
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

// keepsAny reports whether one of the processes has data or mutations, or may have.
func keepsAny(processes []process) bool {
	return slices.ContainsFunc(processes, func(p process) bool { return p.mayHave("storage") || p.mayHave("log") })
}

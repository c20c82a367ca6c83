package foundationdb

import (
	"context"
	"errors"

	"github.com/rollcall-dev/rollcall/engines"
)

// handoff moves nothing, because the pod comes back with its data and its seats. It makes the
// database wait for the zone, and waits until the database can spare the pod.
func (e *Engine) handoff(ctx context.Context, order engines.Order, node string, s snapshot) (engines.Progress, error) {
	if len(s.of(node)) == 0 {
		return running("%s has no process in the database", engines.OneLine(node)), nil
	}
	zone, known := s.zoneOf(node)
	if !known {
		return refused("the fault domain of %s is not known, or not one: start fdbserver with --locality_zoneid", engines.OneLine(node)), nil
	}
	stores := hasStorage(s.status, node)
	if stores && !validZone(zone) {
		return refused("zone %q cannot be put under maintenance: must be a name of printable characters without spaces", engines.OneLine(zone)), nil
	}
	if stores && s.maintenance != "" && s.maintenance != zone {
		return running("zone %s is under maintenance for %d s more", engines.OneLine(s.maintenance), int(s.remaining)), nil
	}
	if why := e.ready(s); why != "" {
		return running("%s", why), nil
	}
	// An order that came too late is not begun, even if it writes nothing.
	if err := engines.InTime(order.NotAfter); err != nil {
		return engines.Progress{}, err
	}
	if stores {
		wait, err := e.maintain(ctx, order, zone, s)
		if errors.Is(err, errForeignEnded) {
			return refused("%s: it is to be begun again", err), nil
		}
		if err != nil || wait != "" {
			return engines.Progress{State: engines.ProgressRunning, Detail: wait}, err
		}
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

package drain

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// intent is what carrying out an order will change.
type Plan struct {
	Undo    []byte
	Setting engines.Shared
}

var errNotShared = errors.New("this database has no setting that belongs to all of it")

// restoreShared puts a setting of the whole database back. It touches no job:
// whose claims relied on the setting is for the coordinator to know.
func (d *Drainer) RestoreSetting(ctx context.Context, shared engines.Shared, notAfter time.Time) (engines.Progress, error) {
	if err := d.take(ctx); err != nil {
		return engines.Progress{}, err
	}
	defer d.release()
	if !notAfter.IsZero() && !time.Now().Before(notAfter) {
		return engines.Progress{}, errOutOfTime
	}
	engine, err := d.Engine.Get()
	if err != nil {
		return engines.Progress{}, err
	}
	sharer, ok := engine.(engines.Sharer)
	if !ok {
		return engines.Progress{}, errNotShared
	}
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	return sharer.RestoreShared(ctx, shared, notAfter)
}

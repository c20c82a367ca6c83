package database

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// Allocation is a setting of the whole database, where it has one: while it is
// throttled, a copy that is not the last of its shard is not brought back, so that
// nothing is copied while a member restarts.
const (
	Allocation = "allocation"
	allocated  = "all"
	throttled  = "primaries"
)

// Share gives the database that setting.
func (d *Database) Share() { d.allocation = allocated }

// Throttled reports whether the setting is not as it was.
func (d *Database) Throttled() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.allocation == throttled
}

// heldBack reports whether the copy waits until allocation is put back. d.mu is held.
func (d *Database) heldBack(s *shard, r *replica) bool {
	return d.allocation == throttled && slices.ContainsFunc(s.copies, func(o *replica) bool { return o != r && o.active })
}

// allocate sets the setting, and has the copies recover that waited. d.mu is held.
func (d *Database) allocate(value string) {
	if d.allocation == value {
		return
	}
	d.allocation = value
	d.loop.Log("db", "allocation is %s", value)
	for _, s := range d.shards {
		for _, r := range s.copies {
			if n := d.nodes[r.node]; r.waits && n.serves() && !d.heldBack(s, r) {
				d.recover(n, s, r)
			}
		}
	}
}

// PlanSetting returns the setting as it is, where the database has one.
func (e *Engine) PlanSetting(ctx context.Context, _ engines.Order) (engines.Setting, error) {
	e.d.mu.Lock()
	none := e.d.allocation == ""
	e.d.mu.Unlock()
	if none {
		return engines.Setting{}, nil
	}
	if err := e.enter(ctx, "read "+Allocation, true); err != nil {
		return engines.Setting{}, err
	}
	e.d.mu.Lock()
	defer e.d.mu.Unlock()
	return engines.Setting{Name: Allocation, Undo: []byte(e.d.allocation)}, nil
}

// throttle is the part of Drain that changes the setting.
func (e *Engine) throttle(ctx context.Context, order engines.Order) error {
	if order.Setting.Name == "" {
		return nil
	}
	if order.Setting.Name != Allocation {
		return fmt.Errorf("setting %.64q: must be %s", order.Setting.Name, Allocation)
	}
	_, err := ask(ctx, e, "throttle", func() bool {
		e.d.allocate(throttled)
		return true
	})
	return err
}

// RestoreSetting puts the setting back.
func (e *Engine) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
	if err := e.enter(ctx, "restore "+Allocation, true); err != nil {
		return engines.Progress{}, err
	}
	if setting.Name != Allocation || len(setting.Undo) == 0 {
		return engines.Progress{}, fmt.Errorf("setting %.64q: must be %s and its value", setting.Name, Allocation)
	}
	if !notAfter.IsZero() && !time.Now().Before(notAfter) {
		return engines.Progress{}, context.DeadlineExceeded
	}
	_, err := ask(ctx, e, "restore", func() bool {
		if !e.d.NoRestoreShared {
			e.d.allocate(string(setting.Undo))
		}
		return true
	})
	if err != nil {
		return engines.Progress{}, err
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

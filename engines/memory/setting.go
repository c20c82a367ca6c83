package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	// Allocation is the one setting that belongs to the whole database.
	Allocation = "allocation"
	// Throttled is its value while drains rely on it.
	Throttled = "throttled"
)

var _ engines.SettingChanger = (*Engine)(nil)

// PlanSetting returns the setting as it is, if the database has one.
func (e *Engine) PlanSetting(ctx context.Context, order engines.Order) (engines.Setting, error) {
	if err := e.enter(ctx, Call{Op: PlanSetting, Order: order}); err != nil {
		return engines.Setting{}, err
	}
	if err := check(order); err != nil {
		return engines.Setting{}, err
	}
	if e.cluster.options.Allocation == "" {
		return engines.Setting{}, nil
	}
	return engines.Setting{Name: Allocation, Undo: []byte(e.cluster.Allocation())}, nil
}

// throttle is the part of Drain that changes the setting.
func (e *Engine) throttle(ctx context.Context, order engines.Order) error {
	if order.Setting.Name == "" || e.cluster.options.Allocation == "" {
		return nil
	}
	if err := checkSetting(order.Setting); err != nil || e.cluster.Allocation() == Throttled {
		return err
	}
	return e.setAllocation(ctx, Throttled, order.NotAfter)
}

// RestoreSetting puts the setting back.
func (e *Engine) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
	if err := e.enter(ctx, Call{Op: RestoreSetting}); err != nil {
		return engines.Progress{}, err
	}
	if err := checkSetting(setting); err != nil {
		return engines.Progress{}, err
	}
	if e.cluster.Allocation() != string(setting.Undo) {
		if err := e.setAllocation(ctx, string(setting.Undo), notAfter); err != nil {
			return engines.Progress{}, err
		}
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

func (e *Engine) setAllocation(ctx context.Context, value string, notAfter time.Time) error {
	if err := e.write(ctx, notAfter); err != nil {
		return err
	}
	e.cluster.locked(func() { e.cluster.allocation = value })
	return nil
}

// Allocation is the value of the setting now.
func (c *Cluster) Allocation() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allocation
}

func checkSetting(setting engines.Setting) error {
	if setting.Name != Allocation || len(setting.Undo) == 0 || len(setting.Undo) > engines.MaxUndo {
		return fmt.Errorf("setting %.64q with an undo of %d bytes: must be %s and its value", setting.Name, len(setting.Undo), Allocation)
	}
	return nil
}

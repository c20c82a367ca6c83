package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// throttled is the value while nodes are restarted: primaries are placed, as for
// new indices, and replicas wait for their node instead of being built elsewhere.
const throttledValue = "primaries"

// allocation is the setting as it was, at each level; nil means not set there.
type allocation struct {
	Persistent *string `json:"persistent"`
	Transient  *string `json:"transient"`
}

func (s settings) allocation() allocation {
	var a allocation
	if v, ok := s.persistent[settingAllocation]; ok {
		a.Persistent = &v
	}
	if v, ok := s.transient[settingAllocation]; ok {
		a.Transient = &v
	}
	return a
}

func decodeAllocation(data []byte) (allocation, error) {
	var a allocation
	if err := engines.ReadUndo(data, &a); err != nil {
		return a, fmt.Errorf("%w: %w", engines.ErrSetting, err)
	}
	for _, v := range []*string{a.Persistent, a.Transient} {
		if v == nil {
			continue
		}
		switch strings.ToLower(*v) {
		case "all", throttledValue, "new_primaries", "none":
		default:
			return a, fmt.Errorf("%w: %q: must be all, primaries, new_primaries or none", engines.ErrSetting, engines.OneLine(*v))
		}
	}
	return a, nil
}

// PlanSetting names the allocation of copies for a handoff of a node that has any. An
// evacuation needs allocation, and a node without copies does not care.
func (e *Engine) PlanSetting(ctx context.Context, order engines.Order) (engines.Setting, error) {
	if err := order.Check(); err != nil {
		return engines.Setting{}, err
	}
	if order.Kind != engines.Handoff {
		return engines.Setting{}, nil
	}
	self, err := e.api.identity(ctx)
	if err != nil {
		return engines.Setting{}, err
	}
	r, err := e.api.reading(ctx, nil, nil)
	if err != nil {
		return engines.Setting{}, err
	}
	id, one := r.state.byName(order.Subject(self.name))
	if facts, known := r.facts[id]; one && known && !facts.holdsData() && r.state.hosted(id) == 0 {
		return engines.Setting{}, nil
	}
	undo, err := json.Marshal(r.settings.allocation())
	return engines.Setting{Name: settingAllocation, Undo: undo}, err
}

// throttle is the part of Drain that restricts allocation. A value that allows even less was set by
// a person, and stays.
func (e *Engine) throttle(ctx context.Context, order engines.Order, now settings) error {
	if order.Setting.Name == "" {
		return nil
	}
	if _, err := checkSetting(order.Setting); err != nil {
		return err
	}
	if now.throttled() {
		return nil
	}
	one := changes{settingAllocation: new(throttledValue)}
	if _, transient := now.transient[settingAllocation]; transient {
		return e.write(ctx, order.NotAfter, nil, one) // it takes precedence over the other
	}
	return e.write(ctx, order.NotAfter, one, nil)
}

// RestoreSetting puts the setting back at the level where it was changed. Any other value than ours
// was set since, and stays.
func (e *Engine) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
	before, err := checkSetting(setting)
	if err != nil {
		return engines.Progress{}, err
	}
	s, err := e.api.settings(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	now := s.allocation()
	persistent, transient := changes{}, changes{}
	if ours(now.Persistent, before.Persistent) {
		persistent[settingAllocation] = wide(before.Persistent)
	}
	if ours(now.Transient, before.Transient) {
		transient[settingAllocation] = wide(before.Transient)
	}
	if len(persistent)+len(transient) == 0 {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	err = e.write(ctx, notAfter, persistent, transient)
	if refused(err) {
		return e.tellMoved(engines.Progress{State: engines.ProgressRunning, Detail: "trying again: " + err.Error()}), nil
	}
	if err != nil {
		return engines.Progress{}, err
	}
	return e.tellMoved(engines.Progress{State: engines.ProgressDone}), nil
}

// wide returns the value that a drain may have replaced: all, or nothing. A drain never replaces a
// value that allows less, so a record with such a value is older than a person's decision, or
// forged. Restoring it would leave copies without a place.
func wide(before *string) *string {
	if before == nil || !strings.EqualFold(*before, "all") {
		return nil
	}
	return before
}

// ours reports whether the present value is one that a drain wrote.
func ours(now, before *string) bool {
	return now != nil && *now == throttledValue && (before == nil || *before != throttledValue)
}

func checkSetting(setting engines.Setting) (allocation, error) {
	if setting.Name != settingAllocation {
		return allocation{}, fmt.Errorf("%w: %q: must be %s", engines.ErrSetting, engines.OneLine(setting.Name), settingAllocation)
	}
	return decodeAllocation(setting.Undo)
}

package engines

import (
	"context"
	"errors"
	"time"
)

// SettingChanger is an Engine some of whose drains change a setting of the whole
// database, which the drains of several members have in common. The coordinator
// keeps its value from before the first of them and puts it back after the last.
type SettingChanger interface {
	Engine

	// PlanSetting returns the setting that Drain would change for this order, and
	// how to put it back as it is now; it changes nothing. An empty Name: Drain of
	// this order changes none.
	PlanSetting(ctx context.Context, order Order) (Setting, error)

	// RestoreSetting puts the setting back, unless somebody else has given it
	// another value since. It may be repeated at any time, by any agent, and starts
	// no write past notAfter.
	RestoreSetting(ctx context.Context, setting Setting, notAfter time.Time) (Progress, error)
}

// Setting is a setting of the whole database.
type Setting struct {
	// Name of the setting, in the words of the adapter.
	Name string
	// Undo is what puts it back, at most MaxUndo bytes.
	Undo []byte
}

// ErrSetting means that the setting is not the adapter's, or cannot be put back so.
var ErrSetting = errors.New("cluster setting is not valid")

// MaxSettingName bounds the name of a setting.
const MaxSettingName = 256

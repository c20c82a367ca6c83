package engines

import (
	"context"
	"errors"
	"time"
)

// SettingChanger is an Engine some of whose drains change a cluster setting, which the drains of
// several members share. The coordinator keeps its value from before the first of them and restores
// it after the last.
type SettingChanger interface {
	Engine

	// PlanSetting returns the setting that Drain would change for this order, and how to restore
	// its present value. It changes nothing. An empty Name means that Drain of this order changes
	// no setting.
	PlanSetting(ctx context.Context, order Order) (Setting, error)

	// RestoreSetting restores the setting unless it has been given another value since. It may be
	// repeated at any time, by any agent. It starts no write after notAfter.
	RestoreSetting(ctx context.Context, setting Setting, notAfter time.Time) (Progress, error)
}

// Setting is a setting of the whole database.
type Setting struct {
	// Name is the name of the setting, in the words of the adapter.
	Name string
	// Undo is what restores it, at most MaxUndo bytes.
	Undo []byte
}

// ErrSetting means that the setting is not the adapter's, or cannot be put back so.
var ErrSetting = errors.New("cluster setting is not valid")

// MaxSettingName bounds the name of a setting.
const MaxSettingName = 256

package drain

import (
	"context"
	"errors"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

var errNoSetting = errors.New("this database has no setting that belongs to all of it")

// RestoreSetting puts a cluster setting back. It touches no job: the coordinator
// knows which claims relied on the setting.
func (d *Drainer) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
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
	sharer, ok := engine.(engines.SettingChanger)
	if !ok {
		return engines.Progress{}, errNoSetting
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return sharer.RestoreSetting(ctx, setting, notAfter)
}

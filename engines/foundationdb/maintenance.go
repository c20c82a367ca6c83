package foundationdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/engines"
)

// The database has one maintenance zone, whose return it waits for instead of
// building its data elsewhere. It belongs to everybody, so it is a cluster setting
// (engines.SettingChanger), one for each zone: the pods of a zone have it in common, and
// those of another zone wait until it is put back.
const settingPrefix = "maintenance/"

// maintenanceUndo is what there was before.
type maintenanceUndo struct {
	Zone string `json:"zone"`
	// Foreign means that somebody else put the zone under maintenance, so it stays.
	Foreign bool `json:"foreign,omitempty"`
}

// PlanSetting names the maintenance of the pod's zone, for a handoff of a pod that holds data.
// Others cost the database no data while they are unavailable.
func (e *Engine) PlanSetting(ctx context.Context, order engines.Order) (engines.Setting, error) {
	if err := order.Check(); err != nil {
		return engines.Setting{}, err
	}
	if order.Kind != engines.Handoff {
		return engines.Setting{}, nil
	}
	s, err := e.asked(ctx)
	if err != nil {
		return engines.Setting{}, err
	}
	node := order.Subject(e.options.Instance)
	zone, known := s.zoneOf(node)
	if !known || !hasStorage(s.status, node) || !validZone(zone) {
		return engines.Setting{}, nil
	}
	data, err := json.Marshal(maintenanceUndo{Zone: zone, Foreign: s.maintenance == zone})
	return engines.Setting{Name: settingPrefix + zone, Undo: data}, err
}

// validZone reports whether the name can be a word of a command, and part of the name of a setting.
func validZone(zone string) bool {
	return zone != "" && len(settingPrefix)+len(zone) <= engines.MaxSettingName && !strings.ContainsFunc(zone, unfit)
}

func readSetting(setting engines.Setting) (maintenanceUndo, error) {
	var u maintenanceUndo
	zone, ok := strings.CutPrefix(setting.Name, settingPrefix)
	if !ok || !validZone(zone) {
		return u, fmt.Errorf("%w: %q: must be %s and a zone", engines.ErrSetting, engines.OneLine(setting.Name), settingPrefix)
	}
	if err := engines.ReadUndo(setting.Undo, &u); err != nil {
		return u, fmt.Errorf("%w: %w", engines.ErrSetting, err)
	}
	if u.Zone != zone {
		return u, fmt.Errorf("%w: zone %q: must be %q", engines.ErrSetting, engines.OneLine(u.Zone), zone)
	}
	return u, nil
}

// errForeignEnded means that the foreign maintenance has ended. A new one would be ours, and the
// record says that it must not be ended.
var errForeignEnded = errors.New("the zone was under maintenance by somebody else's word, and that has ended")

// maintain is the part of a handoff that makes the database wait for the zone. The second result is
// what the handoff waits for; empty means that the database waits.
func (e *Engine) maintain(ctx context.Context, order engines.Order, zone string, s snapshot) (string, error) {
	if order.Setting.Name == "" {
		return "", nil
	}
	before, err := readSetting(order.Setting)
	if err != nil {
		return "", err
	}
	if before.Zone != zone {
		return fmt.Sprintf("the pod is in zone %s by now, and the order names %s", engines.OneLine(zone), engines.OneLine(before.Zone)), nil
	}
	lasting := s.maintenance == zone && s.remaining > (e.options.Maintenance/2).Seconds()
	if lasting || s.maintenance == zone && before.Foreign {
		return "", nil
	}
	if before.Foreign {
		return "", errForeignEnded
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return "", err
	}
	command := fmt.Sprintf("maintenance on %s %d", zone, int(e.options.Maintenance.Seconds()))
	now, err := e.maintenanceAfter(ctx, command)
	if err != nil {
		return "", err
	}
	if now != zone {
		return fmt.Sprintf("zone %s is not under maintenance yet", zone), nil
	}
	return "", nil
}

// maintenanceAfter runs a command and reads the zone under maintenance in the same
// run of fdbcli.
func (e *Engine) maintenanceAfter(ctx context.Context, command string) (zone string, err error) {
	commands := "maintenance"
	if command != "" {
		commands = command + "; maintenance"
	}
	a, err := e.client.run(ctx, commands)
	if err != nil {
		return "", err
	}
	if err := a.done("maintenance"); err != nil {
		return "", err
	}
	zone, _, err = readMaintenance(a.stdout)
	return zone, err
}

// RestoreSetting ends the maintenance of the zone, unless another zone is under maintenance now, or
// it was foreign from the beginning.
func (e *Engine) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
	before, err := readSetting(setting)
	if err != nil {
		return engines.Progress{}, err
	}
	now, err := e.maintenanceAfter(ctx, "")
	if err != nil {
		return engines.Progress{}, err
	}
	if now != before.Zone || before.Foreign {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	if err := engines.InTime(notAfter); err != nil {
		return engines.Progress{}, err
	}
	if now, err = e.maintenanceAfter(ctx, "maintenance off"); err != nil {
		return engines.Progress{}, err
	}
	if now == before.Zone {
		return running("zone %s is still under maintenance", before.Zone), nil
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

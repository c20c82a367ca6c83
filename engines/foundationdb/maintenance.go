package foundationdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
	// Whose a maintenance is that was there a moment ago, a look of now has to say.
	s, err := e.recently(ctx, func(s snapshot) bool { return s.maintenance == "" })
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

// errForeignBegun means that somebody else has put the zone under maintenance since the setting was
// planned. The next plan knows it as foreign.
var errForeignBegun = errors.New("somebody else has put the zone under maintenance, for longer than Rollcall does")

// outlasts reports whether the maintenance is somebody else's for certain: ours is never for longer.
// (TestLongerMaintenanceIsNotOurs).
func (e *Engine) outlasts(m maintenance) bool {
	return m.zone != "" && m.seconds > math.Ceil(e.options.Maintenance.Seconds())
}

// maintain is the part of a handoff that makes the database wait for the zone. The second result is
// what the handoff waits for; empty means that the database waits.
//
// maintenance on takes the place of any other zone's without a word. So it is said only where an
// own run of fdbcli has just shown that there is none, and never where there is another's.
// (TestMaintenanceTakesNoOtherPlace).
func (e *Engine) maintain(ctx context.Context, order engines.Order, zone string) (string, error) {
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
	now, err := e.maintained(ctx)
	switch {
	case err != nil:
		return "", err
	case now.another(zone):
		return now.words(), nil
	case !before.Foreign && e.outlasts(now):
		return "", errForeignBegun
	case now.zone == zone && (before.Foreign || now.seconds > (e.options.Maintenance/2).Seconds()):
		return "", nil
	case before.Foreign:
		return "", errForeignEnded
	}
	if err := engines.InTime(order.NotAfter); err != nil {
		return "", err
	}
	now, err = e.maintenanceBy(ctx, maintenanceOn(zone, e.options.Maintenance.Seconds()), zone)
	switch {
	case err != nil:
		return "", err
	case now.another(zone):
		return now.words(), nil
	case e.outlasts(now):
		return "", errForeignBegun
	case now.zone != zone:
		return fmt.Sprintf("zone %s is not under maintenance yet", zone), nil
	}
	return "", nil
}

func maintenanceOn(zone string, seconds float64) string {
	return fmt.Sprintf("maintenance on %s %d", zone, int(math.Ceil(seconds)))
}

// maintained is the maintenance of now.
func (e *Engine) maintained(ctx context.Context) (maintenance, error) {
	list, err := e.maintenances(ctx, "maintenance", 1)
	if err != nil {
		return maintenance{}, err
	}
	return list[0], nil
}

// maintenances runs commands, and reads what they say of maintenance, so many times.
func (e *Engine) maintenances(ctx context.Context, commands string, times int) ([]maintenance, error) {
	a, err := e.client.run(ctx, commands)
	if err == nil {
		err = a.done("maintenance")
	}
	if err != nil {
		return nil, err
	}
	return readMaintenance(a.stdout, times)
}

// maintenanceBy runs a command that changes the maintenance of the zone, between two looks at it in
// the same run of fdbcli, and returns what there is then. fdbcli has no conditional change: where
// somebody else has put another zone under maintenance at the same moment, or this one for longer
// than we do, that is given back.
func (e *Engine) maintenanceBy(ctx context.Context, command, zone string) (maintenance, error) {
	list, err := e.maintenances(ctx, "maintenance; "+command+"; maintenance", 2)
	if err != nil {
		return maintenance{}, err
	}
	theirs, now := list[0], list[1]
	kept := now.zone == theirs.zone && (theirs.another(zone) || e.outlasts(now))
	if kept || !theirs.another(zone) && !e.outlasts(theirs) {
		return now, nil
	}
	if !validZone(theirs.zone) {
		return maintenance{}, fmt.Errorf("the maintenance of zone %q, which somebody else began at the same moment, has ended, and cannot be given back: its name must be of printable characters without spaces, quotes, commas, semicolons and backslashes; say maintenance on for it, for %d s", engines.OneLine(theirs.zone), int(math.Ceil(theirs.seconds)))
	}
	back := maintenanceOn(theirs.zone, theirs.seconds)
	if list, err = e.maintenances(ctx, back+"; maintenance", 1); err != nil {
		return maintenance{}, fmt.Errorf("the maintenance of zone %s, which somebody else began at the same moment, has ended, and could not be given back; say %s: %w", engines.OneLine(theirs.zone), engines.OneLine(back), err)
	}
	return list[0], nil
}

// RestoreSetting ends the maintenance of the zone, unless another zone is under maintenance now, it
// was foreign from the beginning, or it lasts for longer than ours can.
func (e *Engine) RestoreSetting(ctx context.Context, setting engines.Setting, notAfter time.Time) (engines.Progress, error) {
	before, err := readSetting(setting)
	if err != nil {
		return engines.Progress{}, err
	}
	now, err := e.maintained(ctx)
	if err != nil {
		return engines.Progress{}, err
	}
	if now.zone != before.Zone || before.Foreign || e.outlasts(now) {
		return engines.Progress{State: engines.ProgressDone}, nil
	}
	if err := engines.InTime(notAfter); err != nil {
		return engines.Progress{}, err
	}
	if now, err = e.maintenanceBy(ctx, "maintenance off", before.Zone); err != nil {
		return engines.Progress{}, err
	}
	if now.zone == before.Zone && !e.outlasts(now) {
		return running("zone %s is still under maintenance", before.Zone), nil
	}
	return engines.Progress{State: engines.ProgressDone}, nil
}

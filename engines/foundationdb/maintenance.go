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
// building its data elsewhere. It belongs to everybody, so it is a shared setting
// (engines.Sharer), one for each zone: the pods of a zone have it in common, and
// those of another zone wait until it is put back.
const settingPrefix = "maintenance/"

// maintenanceUndo is what there was before.
type maintenanceUndo struct {
	Zone string `json:"zone"`
	// Foreign: the zone was under maintenance by somebody else's word, and stays so.
	Foreign bool `json:"foreign,omitempty"`
}

// Shared names the maintenance of the pod's zone, for a handoff of a pod that holds
// data. Others cost the database no data while they are away.
func (e *Engine) Shared(ctx context.Context, order engines.Order) (engines.Shared, error) {
	if err := order.Check(); err != nil {
		return engines.Shared{}, err
	}
	if order.Kind != engines.Handoff {
		return engines.Shared{}, nil
	}
	s, err := e.asked(ctx)
	if err != nil {
		return engines.Shared{}, err
	}
	node := order.Subject(e.options.Instance)
	zone, known := s.zoneOf(node)
	if !known || !hasStorage(s.status, node) || !validZone(zone) {
		return engines.Shared{}, nil
	}
	data, err := json.Marshal(maintenanceUndo{Zone: zone, Foreign: s.maintenance == zone})
	return engines.Shared{Knob: settingPrefix + zone, Undo: data}, err
}

// validZone: a name that can be a word of a command, and part of the name of a setting.
func validZone(zone string) bool {
	return zone != "" && len(settingPrefix)+len(zone) <= engines.MaxKnob && !strings.ContainsFunc(zone, unfit)
}

func readShared(shared engines.Shared) (maintenanceUndo, error) {
	var u maintenanceUndo
	zone, ok := strings.CutPrefix(shared.Knob, settingPrefix)
	if !ok || !validZone(zone) {
		return u, fmt.Errorf("%w: %q: want %s and a zone", engines.ErrShared, engines.OneLine(shared.Knob), settingPrefix)
	}
	if err := engines.ReadUndo(shared.Undo, &u); err != nil {
		return u, fmt.Errorf("%w: %w", engines.ErrShared, err)
	}
	if u.Zone != zone {
		return u, fmt.Errorf("%w: zone %q: want %q", engines.ErrShared, engines.OneLine(u.Zone), zone)
	}
	return u, nil
}

// errForeignEnded: what is set now would be ours, and the record says that it is not to be
// taken back.
var errForeignEnded = errors.New("the zone was under maintenance by somebody else's word, and that has ended")

// maintain is the part of a handoff that has the database wait for the zone. The
// second value is what is waited for; empty: it waits.
func (e *Engine) maintain(ctx context.Context, order engines.Order, zone string, s snapshot) (string, error) {
	if order.Shared.Knob == "" {
		return "", nil
	}
	before, err := readShared(order.Shared)
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
	now, _, err := e.maintenanceAfter(ctx, command)
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
func (e *Engine) maintenanceAfter(ctx context.Context, command string) (zone string, seconds float64, err error) {
	commands := "maintenance"
	if command != "" {
		commands = command + "; maintenance"
	}
	a, err := e.client.run(ctx, commands)
	if err != nil {
		return "", 0, err
	}
	if err := a.done("maintenance"); err != nil {
		return "", 0, err
	}
	return readMaintenance(a.stdout)
}

// RestoreShared ends the maintenance of the zone, unless it is another's by now, or
// was somebody else's from the beginning.
func (e *Engine) RestoreShared(ctx context.Context, shared engines.Shared, notAfter time.Time) (engines.Progress, error) {
	before, err := readShared(shared)
	if err != nil {
		return engines.Progress{}, err
	}
	now, _, err := e.maintenanceAfter(ctx, "")
	if err != nil {
		return engines.Progress{}, err
	}
	if now != before.Zone || before.Foreign {
		return engines.Progress{State: engines.Done}, nil
	}
	if err := engines.InTime(notAfter); err != nil {
		return engines.Progress{}, err
	}
	if now, _, err = e.maintenanceAfter(ctx, "maintenance off"); err != nil {
		return engines.Progress{}, err
	}
	if now == before.Zone {
		return running("zone %s is still under maintenance", before.Zone), nil
	}
	return engines.Progress{State: engines.Done}, nil
}

package foundationdb

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/fdbsim/fdbsimtest"
	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
)

const (
	noMaintenance = "No ongoing maintenance.\n"
	ofZoneC       = "Maintenance for zone zone-c will continue for 299.5 seconds.\n"
	ofRackA       = "Maintenance for zone rack-a will continue for 899 seconds.\n"
	noFailureText = "Data distribution has been disabled for all storage server failures in this cluster and thus maintenance mode is not active.\n"
	set           = "maintenance; maintenance on rack-a 900; maintenance"
	off           = "maintenance; maintenance off; maintenance"
	givenBack     = "maintenance on zone-c 300; maintenance"
	longer        = "Maintenance for zone rack-a will continue for 3599.5 seconds.\n"
	longerBack    = "maintenance on rack-a 3600; maintenance"
)

// TestMaintenanceTakesNoOtherPlace checks that no zone takes the place of another's under
// maintenance, which is another's whoever has set it: it is looked at right before, and what came
// in between all the same is given back.
func TestMaintenanceTakesNoOtherPlace(t *testing.T) {
	setting := engines.Setting{Name: "maintenance/rack-a", Undo: []byte(`{"zone":"rack-a"}`)}
	handoff := func(t *testing.T, e *Engine) (engines.Progress, error) {
		order := engines.Order{Kind: engines.Handoff, Claim: "c", Setting: setting}
		return e.Drain(t.Context(), order, plan(t, e, order))
	}
	restore := func(t *testing.T, e *Engine) (engines.Progress, error) {
		return e.RestoreSetting(t.Context(), setting, time.Time{})
	}
	for name, tt := range map[string]struct {
		do    func(*testing.T, *Engine) (engines.Progress, error)
		said  []string
		calls []string
		state engines.ProgressState
		says  string
		fails string
	}{
		"none":                      {handoff, []string{noMaintenance, noMaintenance + ofRackA}, []string{"maintenance", set}, engines.ProgressDone, "", ""},
		"its own lasts":             {handoff, []string{ofRackA}, []string{"maintenance"}, engines.ProgressDone, "", ""},
		"another's":                 {handoff, []string{ofZoneC}, []string{"maintenance"}, engines.ProgressRunning, "zone zone-c is under maintenance for 299 s more", ""},
		"another's came in between": {handoff, []string{noMaintenance, ofZoneC + ofRackA, ofZoneC}, []string{"maintenance", set, givenBack}, engines.ProgressRunning, "zone zone-c is under maintenance for 299 s more", ""},
		"it cannot be given back":   {handoff, []string{noMaintenance, ofZoneC + ofRackA, "ERROR: no\n"}, []string{"maintenance", set, givenBack}, engines.ProgressRunning, "say maintenance on zone-c 300", ""},
		"not set":                   {handoff, []string{noMaintenance, noMaintenance + noMaintenance}, []string{"maintenance", set}, engines.ProgressRunning, "zone rack-a is not under maintenance yet", ""},
		"no failures are noticed":   {handoff, []string{noFailureText}, []string{"maintenance"}, engines.ProgressRunning, "say datadistribution enable ssfailure", ""},
		"disabled in between": {
			handoff, []string{noMaintenance, "ERROR: Maintenance mode cannot be used while data distribution is disabled for storage server failures. Use 'datadistribution on' to reenable data distribution.\n"},
			[]string{"maintenance", set}, engines.ProgressRunning, "say datadistribution enable ssfailure", "",
		},
		"its name would be another command": {
			restore, []string{ofRackA, "Maintenance for zone z; writemode on will continue for 299.5 seconds.\n" + noMaintenance}, []string{"maintenance", off}, 0, "", `the maintenance of zone "z; writemode on"`,
		},
		"a person's of the same zone": {handoff, []string{longer}, []string{"maintenance"}, engines.ProgressRefused, "for longer than Rollcall does: it is to be begun again", ""},
		"a person's of the same zone came in between": {
			handoff, []string{noMaintenance, longer + ofRackA, longer}, []string{"maintenance", set, longerBack}, engines.ProgressRefused, "it is to be begun again", "",
		},
		"a person's of the same zone, when it is to end": {restore, []string{longer}, []string{"maintenance"}, engines.ProgressDone, "", ""},
		"a person's of the same zone before it was ended": {
			restore, []string{ofRackA, longer + noMaintenance, longer}, []string{"maintenance", off, longerBack}, engines.ProgressDone, "", "",
		},
		"ended":                          {restore, []string{ofRackA, ofRackA + noMaintenance}, []string{"maintenance", off}, engines.ProgressDone, "", ""},
		"another's, when it is to end":   {restore, []string{ofZoneC}, []string{"maintenance"}, engines.ProgressDone, "", ""},
		"disabled, when it is to end":    {restore, []string{noFailureText}, []string{"maintenance"}, engines.ProgressDone, "", ""},
		"another's before it was ended":  {restore, []string{ofRackA, ofZoneC + noMaintenance, ofZoneC}, []string{"maintenance", off, givenBack}, engines.ProgressDone, "", ""},
		"locked, when it is to be ended": {restore, []string{ofRackA, "ERROR: Database is locked (1038)\n"}, []string{"maintenance", off}, 0, "", "nothing here unlocks it"},
	} {
		t.Run(name, func(t *testing.T) {
			e, dir := tellingIn(t, healthy(t).text(), Options{Instance: "fdb-0"})
			for i, said := range tt.said {
				require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("said.%d", i+1)), []byte(said), 0o600))
			}
			p, err := tt.do(t, e)
			require.Equal(t, tt.calls, callsIn(t, dir))
			if tt.fails != "" {
				require.ErrorContains(t, err, tt.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.state, p.State, p.Detail)
			require.Contains(t, p.Detail, tt.says)
		})
	}
}

// TestRecordedMaintenance checks that a pod with data, or with mutations, waits for another zone's.
func TestRecordedMaintenance(t *testing.T) {
	for pod, waits := range map[string]bool{"fdb-0": true, "fdb-1": false, "fdb-2": true, "fdb-3": true, "fdb-4": false, "fdb-6": false} {
		e, calls := playing(t, "02-maintenance-zone-b", Options{Instance: pod})
		s, err := e.look(t.Context())
		require.NoError(t, err)
		s.logs = realStatus(t, "12-log-back").logs
		p, err := e.handoff(t.Context(), engines.Order{Kind: engines.Handoff, Claim: "c"}, pod, s)
		require.NoError(t, err)
		said := "zone zone-b is under maintenance for 59 s more"
		require.Equal(t, waits, p.State == engines.ProgressRunning && len(p.Detail) >= len(said) && p.Detail[:len(said)] == said, "%s: %s", pod, p.Detail)
		require.Empty(t, calls())
	}
}

// TestMaintenanceOfAPersonStays checks the same on a database.
func TestMaintenanceOfAPersonStays(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1})
	s.Settle()
	e := s.engine(s.pods[0])
	order := engines.Order{Kind: engines.Handoff, Claim: "c"}
	var err error
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	undo := plan(t, e, order)
	s.Change(func(m *model.Cluster) { m.Maintain("zone-b", time.Hour) })
	for range 2 {
		p := apply(t, e, order, undo)
		require.Equal(t, engines.ProgressRunning, p.State)
		require.Contains(t, p.Detail, "zone zone-b is under maintenance for 3600 s more")
	}
	p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
	require.Equal(t, "zone-b", s.Model().Maintenance.Zone)
	s.Change((*model.Cluster).EndMaintenance)
	require.Equal(t, engines.ProgressDone, apply(t, e, order, undo).State)
	require.Equal(t, "zone-a", s.Model().Maintenance.Zone)
}

// TestLongerMaintenanceIsNotOurs checks that maintenance of the same zone which a person begins after
// the plan is not ended, where it is for longer than ours: it is begun again, and known as foreign.
func TestLongerMaintenanceIsNotOurs(t *testing.T) {
	s := simulate(t, fdbsimtest.Options{Scale: -1})
	s.Settle()
	e := s.engine(s.pods[0])
	order := engines.Order{Kind: engines.Handoff, Claim: "c"}
	var err error
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	undo := plan(t, e, order)
	s.Change(func(m *model.Cluster) { m.Maintain("zone-a", 200*time.Hour) })
	ends := func() {
		p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
		require.NoError(t, err)
		require.Equal(t, engines.ProgressDone, p.State)
		require.Equal(t, "zone-a", s.Model().Maintenance.Zone)
	}
	p := apply(t, e, order, undo)
	require.Equal(t, engines.ProgressRefused, p.State, p.Detail)
	require.Contains(t, p.Detail, "it is to be begun again")
	ends()
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, apply(t, e, order, undo).State)
	ends()
}

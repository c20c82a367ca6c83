package foundationdb

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

const (
	safeProcess = "  10.0.0.1:4500  ---- Successfully excluded. It is now safe to remove this process from the cluster.\n"
	safeMachine = "  10.0.0.1(Whole machine)  ---- Successfully excluded. It is now safe to remove this machine from the cluster.\n"
	openProcess = "  10.0.0.2:4500  ---- WARNING: Exclusion in progress! It is not safe to remove this process from the cluster\n"
	missing     = "  10.0.0.1:4500  ---- WARNING: Missing from cluster! Be sure that you excluded the correct processes before removing them from the cluster!\n"
	noMatch     = "  locality_instance_id:fdb-9  ---- WARNING: Currently no servers found with this locality match! Be sure that you excluded the correct locality.\n"
	waiting     = "Waiting for state to be removed from all excluded servers. This may take a while.\n(Interrupting this wait with CTRL+C will not cancel the data movement.)\n"
	noSpace     = "ERROR: This exclude may cause the total available space in the cluster to drop below 10%.\nType `exclude FORCE <ADDRESS...>' to exclude without checking available space.\n"
	noSpace63   = "ERROR: This exclude may cause the total free space in the cluster to drop below 10%.\nType `exclude FORCE <ADDRESS...>' to exclude without checking free space.\n"
)

func TestReadExclusion(t *testing.T) {
	one := []process{{address: "10.0.0.1:4500"}}
	two := []process{{address: "10.0.0.1:4500:tls"}, {address: "10.0.0.2:4500(fromHostname)"}}
	for name, c := range map[string]struct {
		stdout, stderr string
		of             []process
		why            string // empty means safe
	}{
		"safe":                     {waiting + safeProcess, "", one, ""},
		"whole machine":            {waiting + safeMachine, "", one, ""},
		"both":                     {waiting + safeProcess + strings.ReplaceAll(safeProcess, "0.1", "0.2"), "", two, ""},
		"streams mixed":            {"", waiting + safeProcess, one, ""},
		"one in progress":          {safeProcess, openProcess, two, "in progress"},
		"one not mentioned":        {safeProcess, "", two, "nothing was said of 10.0.0.2:4500"},
		"another's in progress":    {safeProcess, openProcess, one, "in progress"},
		"missing":                  {"", missing, one, "Missing from cluster"},
		"missing beside safe":      {safeProcess, missing, one, "Missing from cluster"},
		"no match":                 {"", noMatch, one, "no servers found"},
		"nothing":                  {"", "", one, "nothing was said"},
		"still waiting":            {waiting, "", one, "nothing was said"},
		"a coordinator":            {safeProcess, "WARNING: 10.0.0.1:4500 is a coordinator!\n", one, "is a coordinator"},
		"no space":                 {"", noSpace, one, noSpaceWords},
		"no space, 6.3":            {"", noSpace63, one, noSpaceWords},
		"space not known":          {"", "ERROR: Could not calculate the impact of this exclude on the total available space in the cluster.\nPlease try the exclude again in 30 seconds.\n", one, unknownSpaceWords},
		"malformed":                {"", "ERROR: 'x' is neither a valid network endpoint address nor a locality\n", one, "neither a valid"},
		"words nobody knows":       {safeProcess + "  10.0.0.1:4500  ---- Probably fine\n", "", one, "Probably fine"},
		"no process to ask about":  {safeProcess, "", nil, "no process"},
		"success of the wrong one": {strings.ReplaceAll(safeProcess, "10.0.0.1", "10.0.0.11"), "", one, "nothing was said"},
	} {
		free, why := readExclusion(answer{c.stdout, c.stderr}).frees(c.of)
		require.Equal(t, c.why == "", free, "%s: %s", name, why)
		require.Contains(t, why, c.why, name)
	}
}

func TestReadMaintenance(t *testing.T) {
	for text, want := range map[string]struct {
		maintenance
		fails bool
	}{
		"No ongoing maintenance.\n":                                                                                                      {},
		"Maintenance for zone rack-a will continue for 540 seconds.\n":                                                                   {maintenance: maintenance{"rack-a", 540}},
		"Maintenance for zone a will continue for 1 will continue for 7 seconds.\n":                                                      {maintenance: maintenance{"a will continue for 1", 7}},
		">>> maintenance on rack-a 900\n>>> maintenance\nNo ongoing maintenance.\n":                                                      {},
		">>> maintenance\nMaintenance for zone rack-b will continue for 899.5 seconds.\n":                                                {maintenance: maintenance{"rack-b", 899.5}},
		"Data distribution has been disabled for all storage server failures in this cluster and thus maintenance mode is not active.\n": {maintenance: maintenance{zone: noFailures}},
		"": {fails: true},
		"No ongoing maintenance.\nNo ongoing maintenance.\n":             {fails: true},
		"Maintenance for zone  will continue for 5 seconds.\n":           {fails: true},
		"Maintenance for zone a will continue for ever.\n":               {fails: true},
		"Maintenance for zone a will continue for NaN seconds.\n":        {fails: true},
		"Maintenance for zone a will continue for 1e300 seconds.\n":      {fails: true},
		"Maintenance for zone a will continue for -5 seconds.\n":         {fails: true},
		"Maintenance for zone a will continue for 5 seconds and more.\n": {fails: true},
	} {
		list, err := readMaintenance(text, 1)
		require.Equal(t, want.fails, err != nil, text)
		if !want.fails {
			require.Equal(t, []maintenance{want.maintenance}, list, text)
		}
	}
	list, err := readMaintenance(">>> maintenance\nNo ongoing maintenance.\n>>> maintenance on a 5\n>>> maintenance\nMaintenance for zone a will continue for 5 seconds.\n", 2)
	require.NoError(t, err)
	require.Equal(t, []maintenance{{}, {"a", 5}}, list)
}

func TestReadSeatChange(t *testing.T) {
	require.NoError(t, readSeatChange(answer{stdout: "Coordination state changed\n"}))
	require.NoError(t, readSeatChange(answer{stdout: "No change (existing configuration satisfies request)\n"}))
	require.Error(t, readSeatChange(answer{}))
	require.ErrorContains(t, readSeatChange(answer{stderr: "ERROR: The given coordinators are unreachable\n"}), "unreachable")
}

func TestComplaints(t *testing.T) {
	require.NoError(t, answer{stdout: ">>> maintenance\nNo ongoing maintenance.\n"}.done("maintenance"))
	require.ErrorContains(t, answer{stderr: "ERROR: no\n"}.done("include"), "include: fdbcli refused: ERROR: no")
	require.ErrorIs(t, answer{stdout: "Usage: maintenance\n"}.done("maintenance"), ErrCommand)
}

func FuzzTexts(f *testing.F) {
	for _, text := range []string{safeProcess, openProcess, missing, noMatch, noSpace, "No ongoing maintenance.\n"} {
		f.Add(text, "10.0.0.1:4500")
	}
	f.Fuzz(func(t *testing.T, text, address string) {
		own := []process{{address: address}}
		if free, why := readExclusion(answer{stdout: text}).frees(own); free {
			require.Contains(t, text, "Successfully excluded")
		} else {
			require.NotEmpty(t, why)
		}
		if list, err := readMaintenance(text, 1); err == nil && list[0].zone != noFailures {
			require.GreaterOrEqual(t, list[0].seconds, 0.0)
			require.Contains(t, text, list[0].zone)
		}
	})
}

func TestTargets(t *testing.T) {
	for _, good := range []string{"10.0.0.1", "10.0.0.1:4500", "[fd00::1]:4500", "fd00::1", "locality_instance_id:fdb-0", "locality_rollcall:a:b/fdb-0"} {
		require.True(t, validTarget(good), good)
	}
	for _, bad := range []string{"", "fdb-0", "10.0.0.1:4500:tls", "10.0.0.1 all", "locality_x", "locality_:x", "locality_x:", "locality_x:a;kill", "all", "failed", "FORCE", "10.0.0.1\n"} {
		require.False(t, validTarget(bad), bad)
	}
	log := []process{{address: "10.0.0.1:4500:tls", roles: []string{"log"}}, {address: "10.0.0.1:4501", roles: []string{"storage"}}}
	for version, want := range map[string][]string{
		"6.3.25": {"10.0.0.1:4500", "10.0.0.1:4501"}, "7.0.0": {"10.0.0.1:4500", "10.0.0.1:4501"}, "7.1.41": {"10.0.0.1:4500", "10.0.0.1:4501"},
		"7.1.42": {"10.0.0.1:4500", "locality_instance_id:fdb-0"}, "7.2.9": {"10.0.0.1:4500", "10.0.0.1:4501"},
		"7.3.25": {"10.0.0.1:4500", "10.0.0.1:4501"}, "7.3.26": {"10.0.0.1:4500", "locality_instance_id:fdb-0"}, "7.4.0-rc1": {"10.0.0.1:4500", "locality_instance_id:fdb-0"},
	} {
		v, err := parseVersion(version)
		require.NoError(t, err)
		require.Equal(t, want, targetsFor(v, "fdb-0", log), version)
	}
	for _, text := range []string{"", "7", "7.3", "a.b.c", "7.3.-1"} {
		_, err := parseVersion(text)
		require.Error(t, err, text)
	}
}

func TestMarks(t *testing.T) {
	for _, v := range []version{{engines.Version{Major: 6, Minor: 3, Patch: 25}}, {engines.Version{Major: 7, Minor: 3, Patch: 63}}} {
		mark := markOf(v, "claim-1", "fdb-0")
		require.True(t, validTarget(mark), mark)
		for _, c := range []struct {
			pod    string
			claims []string
			own    bool
			open   bool
		}{
			{"fdb-0", nil, true, false}, {"fdb-0", []string{"claim-1"}, true, true}, {"fdb-0", []string{"claim-2"}, true, false}, {"fdb-1", []string{"claim-2"}, false, false},
		} {
			own, open := marks(mark, c.pod, c.claims)
			require.Equal(t, c.own, own)
			require.Equal(t, c.open, own && open)
		}
	}
	for _, foreign := range []string{"10.0.0.1", "fd00::1", "locality_instance_id:fdb-0", "locality_zoneid:rollcall:claim/fdb-0"} {
		own, _ := marks(foreign, "fdb-0", nil)
		require.False(t, own, foreign)
	}
}

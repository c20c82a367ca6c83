package opensearch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// do repeats Drain until it is no longer running, and returns the last detail.
func do(t *testing.T, e *Engine, order engines.Order) (undo []byte, last engines.Progress) {
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	for range 50 {
		last, err = e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		if last.State != engines.ProgressRunning {
			return undo, last
		}
		require.NotEmpty(t, last.Detail)
	}
	t.Fatalf("still running: %s", last.Detail)
	return nil, last
}

func undoAll(t *testing.T, e *Engine, undo []byte) {
	for range 10 {
		p, err := e.Restore(t.Context(), undo)
		require.NoError(t, err)
		if p.State == engines.ProgressDone {
			return
		}
	}
	t.Fatal("not restored")
}

func handoffOf(claim string) engines.Order { return engines.Order{Kind: engines.Handoff, Claim: claim} }

// TestHandoffOfWhoDecidesNothing checks that only nodes that decide hand over; restarts of others
// change no vote.
func TestHandoffOfWhoDecidesNothing(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	e := mustNew(t, testOptions(c.options(1)))
	_, last := do(t, e, handoffOf("c1"))
	require.Equal(t, engines.ProgressDone, last.State)
	require.Empty(t, c.leftovers())
	require.Zero(t, c.asked("POST "+pathVoting))
}

// Of two managers only one votes: the other goes as it is, and the voter after the
// other votes instead of it.
func TestTwoManagers(t *testing.T) {
	c := newFakeCluster(t, 2, "data", "cluster_manager")
	require.Equal(t, []string{"id-0"}, c.voters)
	_, last := do(t, mustNew(t, testOptions(c.options(1))), handoffOf("c1"))
	require.Equal(t, engines.ProgressDone, last.State)
	require.Empty(t, c.leftovers())
	e := mustNew(t, testOptions(c.options(0)))
	undo, last := do(t, e, handoffOf("c2"))
	require.Equal(t, engines.Progress{State: engines.ProgressDone}, last)
	require.Equal(t, []string{"id-1"}, c.voters)
	require.Equal(t, "id-1", c.elected)
	undoAll(t, e, undo)
	require.Empty(t, c.leftovers())
}

// One of three managers is unavailable: the two others are both needed, elected or not.
func TestNeededVoterHandsOver(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.locked(func() { c.nodes["id-2"].away = true })
	undo, last := do(t, mustNew(t, testOptions(c.options(1))), handoffOf("c1"))
	require.Equal(t, engines.ProgressDone, last.State)
	require.NotContains(t, c.voters, "id-1")
	undoAll(t, mustNew(t, testOptions(c.options(0))), undo)
	require.Empty(t, c.leftovers())
}

func TestSingleManagerGoesAsItIs(t *testing.T) {
	c := newFakeCluster(t, 1, "data", "cluster_manager")
	_, last := do(t, mustNew(t, testOptions(c.options(0))), handoffOf("c1"))
	require.Equal(t, engines.Progress{State: engines.ProgressDone, Detail: "no other manager can take over from db-0"}, last)
	require.Empty(t, c.leftovers())
}

// The exclusions that steer an election end with it.
func TestEligibleAreElected(t *testing.T) {
	c := newFakeCluster(t, 5, "cluster_manager")
	e := mustNew(t, testOptions(c.options(0)))
	order := handoffOf("c1")
	order.Eligible = []string{"db-3", "db-4"}
	_, last := do(t, e, order)
	require.Equal(t, engines.ProgressDone, last.State)
	require.Equal(t, "id-3", c.elected)
	require.Equal(t, []exclusion{{"id-0", "db-0"}}, c.exclusions)
	require.Len(t, c.voters, 3)
}

func TestNobodyEligibleIsBetterThanNobody(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager")
	order := handoffOf("c1")
	order.Eligible = []string{"db-9"}
	_, last := do(t, mustNew(t, testOptions(c.options(0))), order)
	require.Equal(t, engines.ProgressDone, last.State)
	require.NotEqual(t, "id-0", c.elected)
}

// The state decides, not the answer of the call.
func TestHandoffWaitsForTheElection(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager")
	c.deaf = true
	e := mustNew(t, testOptions(c.options(0)))
	undo, err := e.PlanDrain(t.Context(), handoffOf("c1"))
	require.NoError(t, err)
	for range 3 {
		p, err := e.Drain(t.Context(), handoffOf("c1"), undo)
		require.NoError(t, err)
		require.Equal(t, engines.ProgressRunning, p.State)
	}
	require.Equal(t, 1, c.asked("POST "+pathVoting))
	c.locked(func() { c.deaf = false; c.reconfigure() })
	p, err := e.Drain(t.Context(), handoffOf("c1"), undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressDone, p.State)
}

// An agent died after it had emptied the list, which holds others' entries.
func TestForeignExclusionsAreRemembered(t *testing.T) {
	c := newFakeCluster(t, 4, "cluster_manager")
	stillThere := c.foreign()
	e := mustNew(t, testOptions(c.options(0)))
	undo, _ := do(t, e, handoffOf("c1"))
	c.allowed.Set(2) // the mark that remembers, and the emptying
	p, err := e.Restore(t.Context(), undo)
	require.True(t, err != nil || p.State == engines.ProgressRunning)
	require.Empty(t, c.exclusions)
	c.allowed.Set(-1)
	undoAll(t, mustNew(t, testOptions(c.options(1))), undo)
	require.True(t, stillThere())
	require.Empty(t, c.leftovers())
}

func TestThrottle(t *testing.T) {
	for name, c := range map[string]struct {
		persistent, transient, wantPersistent, wantTransient any
	}{
		"default":            {nil, nil, "primaries", nil},
		"all":                {"all", nil, "primaries", nil},
		"transient all":      {"none", "all", "none", "primaries"},
		"a person's none":    {"none", nil, "none", nil},
		"transient narrower": {"all", "new_primaries", "all", "new_primaries"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeCluster(t, 3, "data", "cluster_manager")
			f.add("books/0", 1, 2)
			for level, value := range map[*map[string]any]any{&f.persistent: c.persistent, &f.transient: c.transient} {
				if value != nil {
					(*level)[settingAllocation] = value
				}
			}
			e := mustNew(t, testOptions(f.options(1)))
			order := handoffOf("c1")
			var err error
			order.Setting, err = e.PlanSetting(t.Context(), order)
			require.NoError(t, err)
			do(t, e, order)
			require.Equal(t, []any{c.wantPersistent, c.wantTransient}, []any{f.persistent[settingAllocation], f.transient[settingAllocation]})
			for range 2 {
				p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
				require.NoError(t, err)
				require.Equal(t, engines.ProgressDone, p.State)
				require.Equal(t, []any{c.persistent, c.transient}, []any{f.persistent[settingAllocation], f.transient[settingAllocation]})
			}
		})
	}
}

// Nodes without copies, and evacuations, leave allocation alone.
func TestSharedOnlyForHandoffOfCopies(t *testing.T) {
	c := newFakeCluster(t, 3, "cluster_manager")
	c.locked(func() { c.nodes["id-2"].roles = []string{"data"} })
	c.add("books/0", 2)
	e := mustNew(t, testOptions(c.options(0)))
	for order, want := range map[*engines.Order]string{
		{Kind: engines.Handoff, Claim: "c"}:                "",
		{Kind: engines.Handoff, Claim: "c", Node: "db-2"}:  settingAllocation,
		{Kind: engines.Evacuate, Claim: "c"}:               "",
		{Kind: engines.Handoff, Claim: "c", Node: "db-no"}: settingAllocation, // who knows
	} {
		setting, err := e.PlanSetting(t.Context(), *order)
		require.NoError(t, err)
		require.Equal(t, want, setting.Name, "%+v", order)
	}
}

func TestSettingIsChecked(t *testing.T) {
	e := mustNew(t, Options{})
	for _, undo := range []string{``, `{}x`, `{"persistent":"some"}`, `{"other":1}`, `{"persistent":null} {}`} {
		_, err := e.RestoreSetting(t.Context(), engines.Setting{Name: settingAllocation, Undo: []byte(undo)}, time.Time{})
		require.ErrorIs(t, err, engines.ErrSetting, undo)
	}
}

func TestEvacuate(t *testing.T) {
	c := newFakeCluster(t, 4, "data", "cluster_manager")
	c.add("books/0", 1, 2)
	c.locked(func() { c.persistent[settingExclude] = "old-node" })
	e := mustNew(t, testOptions(c.options(1)))
	order := engines.Order{Kind: engines.Evacuate, Claim: "c1"}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	var said []string
	for range 20 {
		p, err := e.Drain(t.Context(), order, undo)
		require.NoError(t, err)
		if p.State == engines.ProgressDone {
			break
		}
		said = append(said, p.Detail)
	}
	require.Equal(t, []string{"1 copies are to be moved", "1 copies are still on the node", "1 copies are still on the node"}, said,
		"a copy on its way is still there")
	require.Equal(t, "old-node,db-1", c.persistent[settingExclude])
	undoAll(t, e, undo)
	require.Equal(t, "old-node", c.persistent[settingExclude])
	require.Empty(t, slices.DeleteFunc(c.leftovers(), func(s string) bool { return s == "persistent "+settingExclude+" old-node" }))
}

// The list counts where it is set first.
func TestEvacuateByTransientList(t *testing.T) {
	c := newFakeCluster(t, 4, "data", "cluster_manager")
	c.add("books/0", 1, 2)
	c.locked(func() { c.transient[settingExclude], c.persistent[settingExclude] = "x", "y" })
	e := mustNew(t, testOptions(c.options(1)))
	undo, last := do(t, e, engines.Order{Kind: engines.Evacuate, Claim: "c1"})
	require.Equal(t, engines.ProgressDone, last.State)
	require.Equal(t, []any{"x,db-1", "y"}, []any{c.transient[settingExclude], c.persistent[settingExclude]})
	undoAll(t, e, undo)
	require.Equal(t, []any{"x", "y"}, []any{c.transient[settingExclude], c.persistent[settingExclude]})
}

// Somebody else wrote the whole list again from what they had read before.
func TestEntryThatComesBackIsTakenAwayAgain(t *testing.T) {
	c := newFakeCluster(t, 4, "data", "cluster_manager")
	e := mustNew(t, testOptions(c.options(1)))
	undo, _ := do(t, e, engines.Order{Kind: engines.Evacuate, Claim: "c1"})
	p, err := e.Restore(t.Context(), undo)
	require.NoError(t, err)
	require.Equal(t, engines.ProgressRunning, p.State)
	c.locked(func() { c.persistent[settingExclude] = "db-1,other" })
	undoAll(t, e, undo)
	require.Equal(t, "other", c.persistent[settingExclude])
}

// A node that people emptied stays empty.
func TestEvacuateWhatIsExcludedAlready(t *testing.T) {
	c := newFakeCluster(t, 4, "data", "cluster_manager")
	c.locked(func() { c.persistent[settingExclude] = "db-1" })
	e := mustNew(t, testOptions(c.options(1)))
	undo, last := do(t, e, engines.Order{Kind: engines.Evacuate, Claim: "c1"})
	require.Equal(t, engines.ProgressDone, last.State)
	undoAll(t, e, undo)
	require.NoError(t, e.Sweep(t.Context(), nil))
	require.Equal(t, "db-1", c.persistent[settingExclude])
}

func TestEvacuateIsRefusedWithoutAPlace(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("books/0", 1, 2, 0)
	_, last := do(t, mustNew(t, testOptions(c.options(1))), engines.Order{Kind: engines.Evacuate, Claim: "c1"})
	require.Equal(t, engines.Progress{State: engines.ProgressRefused, Detail: "no other node could take a copy of books/0"}, last)
	require.Empty(t, c.leftovers())
}

func TestEvacuateSaysWhatHoldsItUp(t *testing.T) {
	c := newFakeCluster(t, 4, "data", "cluster_manager")
	c.add("books/0", 1, 2)
	c.locked(func() { c.still, c.persistent[settingAllocation] = true, "primaries" })
	e := mustNew(t, testOptions(c.options(1)))
	order := engines.Order{Kind: engines.Evacuate, Claim: "c1"}
	undo, err := e.PlanDrain(t.Context(), order)
	require.NoError(t, err)
	_, err = e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	p, err := e.Drain(t.Context(), order, undo)
	require.NoError(t, err)
	require.Equal(t, "1 copies are still on the node, and allocation is held back: cluster.routing.allocation.enable is primaries", p.Detail)
}

// The first change through a newer manager archives a setting that it does not
// know; all later ones fail, also the one that ends the throttle.
func TestArchivedSettingsAreMovedAside(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.add("books/0", 1, 2)
	c.locked(func() { c.removed, c.persistent["compatibility.old"] = "compatibility.old", "true" })
	e := mustNew(t, testOptions(c.options(1)))
	order := handoffOf("c1")
	var err error
	order.Setting, err = e.PlanSetting(t.Context(), order)
	require.NoError(t, err)
	_, last := do(t, e, order)
	require.Equal(t, engines.Progress{State: engines.ProgressDone}, last)
	require.Equal(t, map[string]any{"archived.compatibility.old": "true", settingAllocation: "primaries"}, c.persistent)
	p, err := e.RestoreSetting(t.Context(), order.Setting, time.Time{})
	require.NoError(t, err)
	require.Equal(t, engines.Progress{State: engines.ProgressDone,
		Detail: "moved aside below cluster.metadata.archived., because every change failed: archived.compatibility.old"}, p)
	require.Equal(t, map[string]any{"cluster.metadata.archived.compatibility.old": "true"}, c.persistent)
}

// Nothing of people's is touched while changes work, or fail for another reason.
func TestArchivedSettingsStayWhereTheyAreNotInTheWay(t *testing.T) {
	s := settings{persistent: map[string]string{"archived.a": "1", "b": "2"}, transient: map[string]string{"archived.a": "3"}}
	require.Equal(t, []string{"archived.a"}, s.archived())
	p, tr := s.moveAside(changes{"x": nil}, nil)
	require.Equal(t, changes{"x": nil, "archived.a": nil, "cluster.metadata.archived.a": new("1")}, p, "what is persistent is kept")
	require.Equal(t, changes{"archived.a": nil}, tr)

	c := newFakeCluster(t, 3, "data", "cluster_manager")
	c.allowed.Set(0)
	e := mustNew(t, testOptions(c.options(0)))
	undo, err := e.PlanDrain(t.Context(), handoffOf("c1"))
	require.NoError(t, err)
	progress, err := e.Drain(t.Context(), handoffOf("c1"), undo)
	require.NoError(t, err)
	require.Equal(t, engines.Progress{State: engines.ProgressRunning,
		Detail: "trying again: mark exclusions of db-0: PUT /_cluster/settings: opensearch answered 500 Internal Server Error: exception: change failed"}, progress)
}

func TestUnknownNodesAreRefused(t *testing.T) {
	c := newFakeCluster(t, 3, "data", "cluster_manager")
	e := mustNew(t, testOptions(c.options(0)))
	order := handoffOf("c1")
	order.Node = "db-7"
	_, last := do(t, e, order)
	require.Equal(t, `Refused not exactly one node of this cluster is called "db-7"`, fmt.Sprint(last.State, " ", last.Detail))
	c.locked(func() { c.nodes["id-2"].name = "db-*" })
	order.Node = "db-*"
	_, last = do(t, e, order)
	require.Equal(t, engines.ProgressRefused, last.State)
}

func TestMarks(t *testing.T) {
	m := mark{Claim: "a:b_c.d-1", Node: "n", What: votes, Entry: "n", Others: []exclusion{{"I", "x"}}}
	got, ok := parseMark(m.key(), m.String())
	require.True(t, ok)
	require.Equal(t, m, got)
	require.Regexp(t, `^cluster\.metadata\.rollcall\.[0-9a-f]{16}$`, m.key())
	for key, value := range map[string]string{
		"cluster.metadata.owner": m.String(),
		markPrefix + "0123":      m.String(), // somebody copied it
		m.key():                  m.String() + "{}",
		m.key() + "":             `{"claim":"a:b_c.d-1"}`,
		mark{What: votes}.key():  mark{What: votes}.String(),
	} {
		_, ok := parseMark(key, value)
		require.False(t, ok, "%s %s", key, value)
	}
	other := mark{Claim: "c", Node: "n", What: "dogs", Entry: "n"}
	_, ok = parseMark(other.key(), other.String())
	require.False(t, ok)
}

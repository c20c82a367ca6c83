package run

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

var (
	from  = flag.Uint64("from", 1, "first seed")
	seeds = flag.Uint64("seeds", 30, "how many seeds")
	same  = flag.Uint64("same", 10, "how many seeds are run twice")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	Clean()
	os.Exit(code)
}

// Every run holds all invariants, and the runs together meet every class of faults.
func TestSeeds(t *testing.T) {
	hits := map[Class]int{}
	for seed := *from; seed < *from+*seeds; seed++ {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		for class := range r.Hits {
			hits[class]++
		}
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
	}
	t.Logf("%d seeds", *seeds)
	for _, class := range Classes {
		share := 100 * float64(hits[class]) / float64(*seeds)
		t.Logf("%6.1f %%  %s", share, class)
		if *seeds >= 2000 {
			require.GreaterOrEqual(t, share, 3.0, "too few runs meet: %s", class)
		}
	}
}

// So do those of the worlds that were drawn first.
func TestOldSeeds(t *testing.T) {
	for seed := *from; seed < *from+*seeds; seed++ {
		r, err := Seed(seed, Options{Old: true})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
	}
}

// Together the scenarios have everything that can be drawn, each in at least 3 of
// a hundred.
func TestEverythingIsDrawn(t *testing.T) {
	const scenarios = 4000
	met := map[string]int{}
	for seed := uint64(1); seed <= scenarios; seed++ {
		s := NewScenario(seed, Options{})
		for _, f := range s.Faults {
			met[string(f.Class)]++
		}
		for shape, is := range s.Shapes() {
			if is {
				met[string(shape)]++
			}
		}
		require.LessOrEqual(t, s.Replicas, 12)
	}
	for _, what := range Drawn(Options{}) {
		require.Greater(t, met[what], scenarios*3/100, what)
	}
}

// What was drawn first is drawn as it was.
func TestOldWorldsStay(t *testing.T) {
	require.Equal(t, "seed 3: 2 pods", NewScenario(3, Options{Old: true}).String()[:14])
	require.Equal(t, NewScenario(7100001, Options{Wide: true}), NewScenario(7100001, Options{Wide: true, Old: true}))
	for seed := uint64(1); seed < 500; seed++ {
		for _, f := range NewScenario(seed, Options{Old: true}).Faults {
			require.Contains(t, oldClasses, f.Class)
		}
	}
}

// Databases with one primary hold all invariants, too.
func TestPrimarySeeds(t *testing.T) {
	for seed := *from; seed < *from+*seeds/4; seed++ {
		r, err := Seed(seed, Options{Primary: []int{3, 5, 11}[seed%3]})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
	}
}

// Undisturbed, the primary hands over once, by ordinals twice at most, and not
// at all only if it did not have to go.
func TestHandoversUndisturbed(t *testing.T) {
	ways := map[model.RollingUpdate]bool{}
	for seed := *from; seed < *from+12; seed++ {
		r, err := Seed(seed, Options{Quiet: true, Primary: []int{3, 5, 11}[seed%3]})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
		s := r.Scenario
		ways[s.Rolls] = true
		want := 1
		if s.Rolls == model.RollingUpdateByPartition && s.Shards[0][0] == s.Replicas-1 {
			want = 2
		}
		require.Equal(t, want, r.Handovers, "seed %d: %s", seed, s)
		require.Equal(t, s.Replicas, r.Removals, "seed %d", seed)
	}
	require.Len(t, ways, 3)
}

// A primary that keeps its role goes last, nobody else ever leads, and all that holds elsewhere does,
// too.
func TestFixedPrimarySeeds(t *testing.T) {
	for seed := *from; seed < *from+*seeds/4; seed++ {
		r, err := Seed(seed, Options{Fixed: true})
		require.NoError(t, err)
		for _, b := range r.Breaks {
			t.Errorf("seed %d: %s\n  %s", seed, b, r.Scenario)
		}
		require.Zero(t, r.Handovers, "seed %d", seed)
	}
}

// Undisturbed, each pod goes once, the fixed primary last. Those that their controller takes in the
// first moments of a template are not counted.
func TestFixedPrimaryUndisturbed(t *testing.T) {
	for seed := *from; seed < *from+12; seed++ {
		r, err := Seed(seed, Options{Fixed: true, Quiet: true})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d: %s\n%s", seed, r.Scenario, r.Log)
		require.Zero(t, r.Handovers)
		if r.Scenario.Guarded || r.Scenario.Rolls == "" {
			require.Equal(t, r.Scenario.Replicas, r.Removals, "seed %d: %s", seed, r.Scenario)
		}
	}
}

// A rollout that nothing disturbs takes every pod once. Where only the line keeps pods from their
// controller, and no guard, those that it takes in the first moments of a template are not counted.
func TestUndisturbed(t *testing.T) {
	for seed := *from; seed < *from+5; seed++ {
		r, err := Seed(seed, Options{Quiet: true})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
		require.LessOrEqual(t, r.Removals, r.Scenario.Replicas, "seed %d", seed)
		if r.Scenario.Rolls != model.RollingUpdateByPartition || r.Scenario.Guarded {
			require.Equal(t, r.Scenario.Replicas, r.Removals, "seed %d", seed)
		}
	}
}

// A run ends whatever its processes are at: asleep, or waiting for an answer that nobody gives any more.
func TestARunEndsThoughSomebodySleeps(t *testing.T) {
	sleepy := &Bug{decision: func(w *world, _ *status.Decision) {
		go func() {
			time.Sleep(4 * time.Second)
			ctx, end := context.WithTimeout(context.Background(), 5*time.Second)
			defer end()
			_ = w.loop.Call(ctx, "late", func(func()) {})
		}()
	}}
	r, err := Seed(50, Options{Bug: sleepy})
	require.NoError(t, err)
	awake, err := Seed(50, Options{})
	require.NoError(t, err)
	require.Equal(t, awake.Took, r.Took)
}

// The same seed gives the same log, to the byte, and the same course of what is in no log.
func TestSameSeedSameLog(t *testing.T) {
	const (
		together = 23  // claims have one agent looked at by two at one instant
		handed   = 13  // a stream follows another at the instant at which that ends
		hung     = 150 // a database answers at the instant at which its agent has given it up
	)
	list := []uint64{together, together, together, together, handed, handed, handed, handed, hung, hung}
	for seed := *from; seed < *from+*same; seed++ {
		list = append(list, seed)
	}
	var other []uint64
	for _, seed := range list {
		a, err := Seed(seed, Options{})
		require.NoError(t, err)
		b, err := Seed(seed, Options{})
		require.NoError(t, err)
		if !a.Same(b) {
			other = append(other, seed)
		}
	}
	require.Empty(t, other, "seeds with two courses")
}

// Seeds in which something was wrong once, such as two claims of one pool that wait for each other
// below a partition, a removal between a take-over and its touch, a pod that never started and is
// scaled away, a last copy that was forgotten because nobody had an agent any more, a guard that a
// take-over left open, and rosters that were waited for in vain.
func TestSeedsThatBrokeOnce(t *testing.T) {
	for wide, seeds := range map[bool][]uint64{true: {616, 751, 898, 993, 1750, 2295, 2829, 8923, 9655}, false: {3709, 5034, 9268}} {
		for _, seed := range seeds {
			r, err := Seed(seed, Options{Wide: wide, Old: true})
			require.NoError(t, err)
			require.Empty(t, r.Breaks, "seed %d, wide: %t", seed, wide)
		}
	}
	for _, seed := range []uint64{897, 2349, 3383, 4491, 5898, 5928, 7206, 8290, 8449, 9103, 22733, 48002, 84142, 87512, 89043, 123235, 125825, 158722, 168379} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
	}
}

// A StatefulSet that is deleted without its pods is applied again with the template that was asked
// for last, though that was while it did not exist.
func TestAppliedAgainIsTheNewestTemplate(t *testing.T) {
	for _, seed := range []uint64{361, 5313, 5552} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.True(t, r.Hits[Unowned])
		require.Empty(t, r.Breaks, "seed %d", seed)
	}
}

// Rollouts in which a claim once waited for ever.
func TestClaimsThatWaitedForEverEnd(t *testing.T) {
	for _, seed := range []uint64{202, 1939, 2809, 3424, 3649, 4242, 4295, 8717, 9943} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
	}
}

// Rollouts that once never ended, as pods waited for each other: one below a partition, of which
// nobody knew the rank, and those above it.
func TestPodBelowThePartitionHoldsNoEarlierPod(t *testing.T) {
	for _, seed := range []uint64{10072, 19094} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
	}
}

// A person has scaled a pod away to which copies had been moved: the only others stay until a person acts.
func TestCopiesThatWereScaledAwayWaitForAPerson(t *testing.T) {
	for seed, pod := range map[uint64]string{11531: "db-0", 16940: "db-2"} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
		require.Equal(t, pod, r.Stuck, "seed %d", seed)
	}
}

// All pods have come without agents, and a person must say whether one may go: the coordinator itself
// puts the setting of the whole database back.
func TestSettingIsRestoredWithoutAgents(t *testing.T) {
	r, err := Seed(114933, Options{})
	require.NoError(t, err)
	require.Empty(t, r.Breaks)
	require.Equal(t, "db-4", r.Stuck)
	require.Contains(t, string(r.Log), "c1       asks the database of")
}

// A person has switched its rank off for a pod.
func TestWhoNeedNotWaitForLowerRanks(t *testing.T) {
	r, err := Seed(12100, Options{})
	require.NoError(t, err)
	require.Empty(t, r.Breaks)
}

// What is remembered of a database whose agents are gone does not keep it from the next template for
// ever: nobody could contradict it, whether it meant something (1529, 9322) or nothing (202).
func TestWhatNobodyCanContradict(t *testing.T) {
	for _, seed := range []uint64{202, 1529, 9322} {
		r, err := Seed(seed, Options{})
		require.NoError(t, err)
		require.Empty(t, r.Breaks, "seed %d", seed)
		require.Empty(t, r.Stuck, "seed %d", seed)
	}
}

// Who says that all is done while pods run an old template is found out.
func TestOldTemplateIsNoticed(t *testing.T) {
	i := slices.IndexFunc(Bugs, func(b Bug) bool { return b.Finds == "L2" })
	for seed := *from; seed < *from+20; seed++ {
		r, err := Seed(seed, Options{Only: Template, Bug: &Bugs[i]})
		require.NoError(t, err)
		if slices.ContainsFunc(r.Breaks, func(b oracle.Break) bool { return b.Invariant == "L2" }) {
			return
		}
	}
	t.Fatal("nobody noticed")
}

// A run without Rollcall's care is noticed: one planted bug of each kind of check.
// All of them are hunted with the command.
func TestPlantedBugsAreFound(t *testing.T) {
	for i := range Bugs {
		bug := &Bugs[i]
		switch bug.Finds {
		case "I5", "L3", "I12":
		default:
			continue
		}
		r, err := Seed(*from, Options{Bug: bug})
		require.NoError(t, err)
		require.NotEmpty(t, r.Breaks, bug.Name)
		require.Equal(t, bug.Finds, r.Breaks[0].Invariant, bug.Name)
	}
}

package mysql

import (
	"flag"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/test/race"
)

func setups() []simSetup {
	return []simSetup{
		{flavor: replication.MySQL, members: 3, acks: 1},
		{flavor: replication.MySQL, members: 3},
		{flavor: replication.MariaDB, members: 3, acks: 1},
		{flavor: replication.MariaDB, members: 3},
		{flavor: replication.MySQL, members: 3, acks: 1, losesTail: true},
		{flavor: replication.MariaDB, members: 3, acks: 1, skipStart: true},
		{flavor: replication.MySQL, members: 2},
		{flavor: replication.MySQL, members: 3, acks: 1, silent: -1},
		{flavor: replication.MariaDB, members: 3, silent: -1},
		{flavor: replication.MySQL, members: 3, silent: 25},
		{flavor: replication.MariaDB, members: 2, acks: 1, silent: 25},
	}
}

// simulate runs one list of breaks; the world is answered as it is at the end.
func simulate(t *testing.T, setup simSetup, breaks ...simBreak) *simWorld {
	t.Helper()
	w := simulated(t, setup, false, breaks...)
	if len(w.violations) > 0 {
		w = simulated(t, setup, true, breaks...)
	}
	return w
}

func simulated(t *testing.T, setup simSetup, tells bool, breaks ...simBreak) (w *simWorld) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(setup, tells, breaks...)
		w.run()
	})
	return w
}

func (w *simWorld) story() string { return strings.Join(w.log, "\n") }

func TestSimulatedSwitchover(t *testing.T) {
	for _, setup := range setups() {
		w := simulate(t, setup)
		if len(w.violations) > 0 || w.list[1].writes != replication.Allowed {
			t.Fatalf("%s: %v\n%s", setup, w.violations, w.story())
		}
		if setup.silent < 0 && w.n != 0 {
			t.Fatal("somebody wrote")
		}
		t.Logf("%s: %d boundaries, %d transactions acknowledged", setup, w.boundaries, len(w.acked))
	}
}

var allBreaks = flag.Bool("breaks.all", false, "try every break at every boundary, and many more pairs of them")

// TestOneBreak breaks one thing at each boundary of a switchover and of the restart
// that follows; of all these, one in thirteen unless all are wanted.
func TestOneBreak(t *testing.T) {
	j := judge{T: t}
	for _, setup := range setups() {
		whole := simulate(t, setup).restored + 5
		setup.dns = true
		for _, kind := range kinds(setup.members) {
			for at := 1; at <= whole; at++ {
				if j.tried++; *allBreaks || j.tried%13 == 0 && race.Part(j.tried/13, 15) {
					j.try(setup, simBreak{kind: kind, at: at})
				}
			}
		}
	}
	t.Log(j.runs, "schedules")
}

// TestTwoBreaks breaks two things, at any two boundaries.
func TestTwoBreaks(t *testing.T) {
	j := judge{T: t}
	random := rand.New(rand.NewPCG(1, 2))
	number := 40
	if *allBreaks {
		number = 3000
	}
	for _, setup := range setups() {
		whole := simulate(t, setup).restored + 5
		all := kinds(setup.members)
		setup.dns = true
		for n := range number {
			first := random.IntN(whole) + 1
			one := simBreak{kind: all[random.IntN(len(all))], at: first}
			two := simBreak{kind: all[random.IntN(len(all))], at: first + 1 + random.IntN(whole)}
			if *allBreaks || race.Part(n, 15) {
				j.try(setup, one, two)
			}
		}
	}
	t.Log(j.runs, "schedules")
}

// TestNobodyTellsTheDomain checks that when the only replica has become the primary and all agents
// restart without a coordinator, nobody is left who could say by which names members reach each
// other, but the pod's own name in the DNS.
func TestNobodyTellsTheDomain(t *testing.T) {
	kind := func(name string) *simKind {
		all := kinds(2)
		return all[slices.IndexFunc(all, func(k *simKind) bool { return k.name == name })]
	}
	breaks := []simBreak{{kind: kind("the coordinator is gone"), at: 8}, {kind: kind("all agents restart"), at: 21}}
	setup := simSetup{flavor: replication.MySQL, members: 2}
	w := simulate(t, setup, breaks...)
	require.Equal(t, []string{"db-0 does not follow db-1 at the end"}, w.violations)
	setup.dns = true
	w = simulate(t, setup, breaks...)
	require.Empty(t, w.violations, w.story())
}

// TestLatePromotion checks that the candidate is told to take over, and hears it when other things
// have happened.
func TestLatePromotion(t *testing.T) {
	j := judge{T: t}
	for _, setup := range []simSetup{{flavor: replication.MySQL, members: 3}, {flavor: replication.MariaDB, members: 3, acks: 1}} {
		at := simulate(t, setup).promoted
		for _, late := range kinds(setup.members) {
			if late.late == 0 {
				continue
			}
			for _, then := range kinds(setup.members) {
				for after := 1; after < 30; after++ {
					if j.tried++; *allBreaks || j.tried%9 == 0 && race.Part(j.tried/9, 15) {
						j.try(setup, simBreak{kind: late, at: at}, simBreak{kind: then, at: at + after})
					}
				}
			}
		}
	}
	t.Log(j.runs, "schedules")
}

// judge tries schedules and tells the first that fails in full.
type judge struct {
	*testing.T
	tried, runs, failed int
}

func (j *judge) try(setup simSetup, breaks ...simBreak) {
	j.Helper()
	w := simulate(j.T, setup, breaks...)
	j.runs++
	if len(w.violations) == 0 {
		return
	}
	if j.failed++; j.failed == 1 {
		j.Log(w.story())
	}
	j.Errorf("%s: %v: %v", setup, breaks, w.violations)
	if j.failed >= 5 {
		j.Fatal("enough")
	}
}

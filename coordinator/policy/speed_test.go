package policy

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/policy/forecast"
)

var speed = flag.Bool("speed", false, "measure at full length and print a table of the figures")

// makespans are the seconds that one rollout takes in each way, and a lower bound.
type makespans struct{ bound, ordered, fast, polled, waves, oneByOne float64 }

// measure rolls one placement in every way. The bound is computed from the true times, which
// nothing else knows.
func measure(t *testing.T, s model.Snapshot, truth []float64) makespans {
	known := s.DeepCopy()
	for i := range truth {
		known.Pods[i].EstimateSeconds = truth[i]
	}
	roll := func(how model.Schedule, poll float64, choose func(*rollout) []int) float64 {
		s := *s.DeepCopy()
		s.Cluster.Spec.Update.Schedule = how
		return newRollout(s, truth).run(t, poll, choose)
	}
	m := makespans{
		bound: newRolloutOf(known).Bound(),
		fast:  roll(model.Fast, 0, decided), polled: roll(model.Ordered, 15, solrsOrder), oneByOne: roll(model.Ordered, 10, oneByOne),
	}
	if *speed {
		m.ordered, m.waves = roll(model.Ordered, 0, decided), roll(model.Ordered, 0, inWaves)
	}
	return m
}

func newRolloutOf(s *model.Snapshot) *forecast.Rollout { return newDecision(s, "", false).rollout() }

// TestMakespans compares the rollout's length, in virtual time, with the limits. The real Decide is
// called whenever a pod is back. `make bench` does it at full length, together with the other ways.
func TestMakespans(t *testing.T) {
	seeds := uint64(2)
	if *speed {
		seeds = 10
	}
	var all []makespans
	table := strings.Builder{}
	fmt.Fprintf(&table, "Makespan / lower bound, mean (and most) of %d seeds, estimates wrong by up to 30 %%:\n\n", seeds)
	fmt.Fprintln(&table, "| placement | Fast | Ordered | Solr's order, every 15 s | waves | one at a time, every 10 s |")
	fmt.Fprintln(&table, "| --- | --- | --- | --- | --- | --- |")
	for _, p := range placements {
		var own []makespans
		for seed := range seeds {
			s, truth := p.snapshot(seed)
			own = append(own, measure(t, s, truth))
		}
		all = append(all, own...)
		fmt.Fprintf(&table, "| %s: %d pods, %s; limit %s | %s |\n", p.name, p.pods, p.words, p.limit, row(own))
		if p.pods == 200 {
			require.LessOrEqual(t, mean(own, func(m makespans) float64 { return m.fast / m.oneByOne }), 0.15)
		}
	}
	overBound := func(m makespans) float64 { return m.fast / m.bound }
	overPolled := func(m makespans) float64 { return m.fast / m.polled }
	small := threeOfTenSeconds(t)
	if *speed {
		fmt.Fprintf(&table, "| all | %s |\n\n", row(all))
		large := slices.IndexFunc(placements, func(p placement) bool { return p.pods == 200 }) * int(seeds)
		table.WriteString(figures(all, all[large:large+int(seeds)], small) + decideFigures(t))
		fmt.Println(table.String())
	}
	require.LessOrEqual(t, mean(all, overBound), 1.15)
	require.LessOrEqual(t, most(all, overBound), 1.45)
	require.LessOrEqual(t, mean(all, overPolled), 0.88)
	require.LessOrEqual(t, small, 1.03)
}

// threeOfTenSeconds returns the time of three pods that go one after the other, over the sum of
// their times.
func threeOfTenSeconds(t *testing.T) float64 {
	p := placement{name: "three", pods: 3, limit: model.Count(1), seconds: func(r *rand.Rand, _ int) float64 { return 10 },
		collections: []collection{{1, 3, inARow}}}
	s, truth := p.snapshot(1)
	sum := 0.0
	for _, seconds := range truth {
		sum += seconds
	}
	return measure(t, s, truth).fast / sum
}

func mean(list []makespans, of func(makespans) float64) float64 {
	sum := 0.0
	for _, m := range list {
		sum += of(m)
	}
	return sum / float64(len(list))
}

func most(list []makespans, of func(makespans) float64) float64 {
	var most float64
	for _, m := range list {
		most = max(most, of(m))
	}
	return most
}

// row returns the length of every way over the bound.
func row(list []makespans) string {
	var cells []string
	for _, of := range []func(makespans) float64{
		func(m makespans) float64 { return m.fast / m.bound },
		func(m makespans) float64 { return m.ordered / m.bound },
		func(m makespans) float64 { return m.polled / m.bound },
		func(m makespans) float64 { return m.waves / m.bound },
		func(m makespans) float64 { return m.oneByOne / m.bound },
	} {
		cells = append(cells, fmt.Sprintf("%.2f (%.2f)", mean(list, of), most(list, of)))
	}
	return strings.Join(cells, " | ")
}

// figures returns the numbers with limits, which hold for Fast.
func figures(all, large []makespans, small float64) string {
	line := func(what, bar string, fast, ordered func(makespans) float64, of []makespans) string {
		return fmt.Sprintf("| %s | %s | %.3f | %.3f |\n", what, bar, mean(of, fast), mean(of, ordered))
	}
	out := "| what | bar | Fast (the bar is for it) | Ordered |\n| --- | --- | --- | --- |\n"
	fast := func(m makespans) float64 { return m.fast / m.bound }
	ordered := func(m makespans) float64 { return m.ordered / m.bound }
	out += line("makespan / lower bound, mean", "<= 1.15", fast, ordered, all)
	out += fmt.Sprintf("| makespan / lower bound, most | <= 1.45 | %.3f | %.3f |\n", most(all, fast), most(all, ordered))
	out += line("makespan / Solr's order polled every 15 s", "<= 0.88", func(m makespans) float64 { return m.fast / m.polled },
		func(m makespans) float64 { return m.ordered / m.polled }, all)
	out += line("makespan / one at a time polled every 10 s, 200 pods", "<= 0.15", func(m makespans) float64 { return m.fast / m.oneByOne },
		func(m makespans) float64 { return m.ordered / m.oneByOne }, large)
	return out + fmt.Sprintf("| 3 pods of 10 s: makespan / sum of restarts | <= 1.03 | %.3f | the same |\n", small)
}

// decideFigures compares a decision with reading all members once, in this process: completely, as
// the input of a decision has to be read, and their states only.
func decideFigures(t *testing.T) string {
	small, big := bigSnapshot(1_000), bigSnapshot(10_000)
	var read uint32 // used so that the compiler keeps the reads
	whole := measured(t, func() { read += scan(&big) })
	states := measured(t, func() { read += glance(&big) })
	line := func(how model.Schedule) (ten, one float64) {
		small.Cluster.Spec.Update.Schedule, big.Cluster.Spec.Update.Schedule = how, how
		return measured(t, func() { Decide(big) }), measured(t, func() { Decide(small) })
	}
	fast, fastSmall := line(model.Fast)
	ten, one := line(model.Ordered)
	require.NotZero(t, read)
	return fmt.Sprintf("| decide, 10,000 pods, 100,000 members, in scans of the members | <= 50 | %.0f | %.0f |\n", fast/whole, ten/whole) +
		fmt.Sprintf("| the same, in scans of nothing but their states | | %.0f | %.0f |\n", fast/states, ten/states) +
		fmt.Sprintf("| ten times the input, in times the time | <= 13 | %.1f | %.1f |\n", fast/fastSmall, ten/one)
}

// measured returns the least time that f took in five runs, in processor time of this process, so
// that other processes do not count.
func measured(t *testing.T, f func()) float64 {
	const turn = 300 * time.Millisecond
	least := math.Inf(1)
	for range 5 {
		runs, began := 0, processorTime(t)
		for processorTime(t)-began < turn {
			f()
			runs++
		}
		least = min(least, (processorTime(t)-began).Seconds()/float64(runs))
	}
	return least
}

func processorTime(t *testing.T) time.Duration {
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

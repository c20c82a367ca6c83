package policy

import (
	"cmp"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// schedule picks the sequence in which the pass asks the candidates. With
// Ordered it is their order. With Fast several are simulated, and the one that
// is expected to end first is taken, the order if nothing is better.
//
// A sequence says who is asked first, and never what is allowed: the pass asks
// every rule about everybody. Broken pods, ranks, last pods and pods that are
// not live keep their places.
func (d *decision) schedule() []int32 {
	order := make([]int32, len(d.order))
	for i := range order {
		order[i] = int32(i)
	}
	if d.keepsOrder() {
		return order
	}
	f := d.forecaster()
	s := newSimulation(f)
	scenarios := f.scenarios()
	asEstimated := s.run(order, scenarios[0])
	d.simulatedSeconds = asEstimated
	if asEstimated <= f.bound()+rounding {
		return order
	}
	withWrong := func(sequence []int32, sum float64) float64 {
		for _, seconds := range scenarios[1:] {
			sum += s.run(sequence, seconds)
		}
		return sum
	}
	best, least := order, withWrong(order, asEstimated)
	proposals := f.proposals()
	for _, p := range proposals[:min(len(proposals), max(1, mostTrials/(len(f.needs)+1)))] {
		sequence := f.sorted(order, p)
		seconds := s.run(sequence, scenarios[0])
		if sum := withWrong(sequence, seconds); sum < least-rounding {
			best, least, d.simulatedSeconds = sequence, sum, seconds
		}
	}
	return best
}

// keepsOrder: nobody asked for speed, or the order means more than speed.
// Units go together, canaries are those whose loss matters least, and a
// partition moves down the ordinals.
func (d *decision) keepsOrder() bool {
	u := &d.x.spec.Update
	if u.Schedule != model.Fast || u.RollingUpdate == model.ByPartition || d.x.byUnit() || d.x.noAgents || len(d.order) < 2 {
		return true
	}
	for i := range d.canary {
		if d.outdated[i] && d.canary[i].gone < int(u.Canary.Pods) {
			return true
		}
	}
	return false
}

// How many scenarios a sequence is tried on at most, how far the seconds in
// them are from the estimates at most, and how many needs are simulated for
// one sequence, and with their estimates for all: a large cluster gets fewer
// scenarios, and a huge one fewer sequences.
const (
	mostScenarios = 16
	spread        = 0.7
	mostNeeds     = 100_000
	mostTrials    = 150_000
)

// scenarios are the estimates, and some in which each is wrong by something
// else, always the same. Estimates are wrong, and a sequence that is best only
// if they are right is not what is wanted.
func (f *forecaster) scenarios() [][]float64 {
	list := [][]float64{f.estimates()}
	random := uint64(1)
	for len(list) < min(mostScenarios, mostNeeds/(len(f.needs)+1)) {
		seconds := slices.Clone(list[0])
		for j := range seconds {
			random = random*6364136223846793005 + 1442695040888963407
			seconds[j] *= 1 - spread + 2*spread*float64(random>>40)/(1<<24)
		}
		list = append(list, seconds)
	}
	return list
}

// proposal is a way to sort the candidates of each class: lower keys first.
type proposal struct{ first, second []float64 }

// sorted is the order with each class sorted as proposed.
func (f *forecaster) sorted(order []int32, p proposal) []int32 {
	sequence := slices.Clone(order)
	slices.SortFunc(sequence, func(a, b int32) int {
		if c := cmp.Compare(f.jobs[a].class, f.jobs[b].class); c != 0 {
			return c
		}
		if c := cmp.Compare(p.first[a], p.first[b]); c != 0 {
			return c
		}
		if c := cmp.Compare(p.second[a], p.second[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return sequence
}

func (f *forecaster) proposals() []proposal {
	longest := f.longest()
	chain, conflict := f.chained()
	list := []proposal{{conflict, longest}, {chain, longest}, {longest, conflict}}
	if zones := f.zonesFirst(); zones != nil {
		list = append(list, proposal{zones, conflict}, proposal{zones, longest})
	}
	return list
}

// longest: who takes longest goes first.
func (f *forecaster) longest() []float64 {
	keys := make([]float64, f.candidates)
	for j := range keys {
		keys[j] = -f.jobs[j].seconds
	}
	return keys
}

// chained: who takes longest together with those that must wait for it goes
// first; in its heaviest group, or in all of them.
func (f *forecaster) chained() (inOne, inAll []float64) {
	heaviness := make([]float64, len(f.resources))
	for r := range heaviness {
		heaviness[r] = f.heaviness(int32(r))
	}
	inOne, inAll = f.longest(), f.longest()
	for j := range inOne {
		for _, n := range f.needsOf(int32(j)) {
			inOne[j] = min(inOne[j], -heaviness[n.resource])
			inAll[j] -= max(heaviness[n.resource]-f.jobs[j].seconds, 0)
		}
	}
	return inOne, inAll
}

// zonesFirst: zone by zone, where the groups prove that all candidates of a
// zone can go together; the zone with the least left to do first, so that one
// that was begun is ended. It is nil where no zone can go as a whole.
func (f *forecaster) zonesFirst() []float64 {
	whole := f.wholeZones()
	if len(whole) < 2 {
		return nil
	}
	left := make([]float64, len(f.zones))
	for j := range f.candidates {
		if z := f.jobs[j].zone; z >= 0 && f.counts(int32(j)) {
			left[z] += f.jobs[j].seconds
		}
	}
	slices.SortFunc(whole, func(a, b int32) int {
		if c := cmp.Compare(left[a], left[b]); c != 0 {
			return c
		}
		return cmp.Compare(f.zones[a], f.zones[b])
	})
	keys := make([]float64, f.candidates)
	for j := range keys {
		keys[j] = float64(len(whole))
		if at := slices.Index(whole, f.jobs[j].zone); at >= 0 {
			keys[j] = float64(at)
		}
	}
	return keys
}

// wholeZones are those of which all candidates can go together.
func (f *forecaster) wholeZones() []int32 {
	shares, tooMany := make([]int32, len(f.zones)), make([]bool, len(f.zones))
	for i := range f.resources {
		users := f.usersOf(int32(i))
		for _, u := range users {
			if z := f.jobs[u.job].zone; z >= 0 && f.counts(u.job) {
				shares[z] += u.share
				tooMany[z] = tooMany[z] || shares[z] > f.resources[i].limit
			}
		}
		for _, u := range users {
			if z := f.jobs[u.job].zone; z >= 0 {
				shares[z] = 0
			}
		}
	}
	var whole []int32
	for z := range tooMany {
		if !tooMany[z] {
			whole = append(whole, int32(z))
		}
	}
	return whole
}

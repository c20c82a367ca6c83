package forecast

import (
	"cmp"
	"slices"
)

// Fastest returns the sequence of the candidates that is expected to end first, and the
// seconds that it takes if the estimates are right. It returns the order if it finds nothing
// better. Only jobs of one class change places.
func (r *Rollout) Fastest(order []int32) (sequence []int32, seconds float64) {
	s := newSimulation(r)
	scenarios := r.scenarios()
	asEstimated := s.run(order, scenarios[0])
	if asEstimated <= r.Bound()+rounding {
		return order, asEstimated
	}
	withWrong := func(sequence []int32, sum float64) float64 {
		for _, seconds := range scenarios[1:] {
			sum += s.run(sequence, seconds)
		}
		return sum
	}
	best, bestSeconds, least := order, asEstimated, withWrong(order, asEstimated)
	proposals := r.proposals()
	for _, p := range proposals[:min(len(proposals), max(1, mostTrials/(len(r.needs)+1)))] {
		sequence := r.sorted(order, p)
		seconds := s.run(sequence, scenarios[0])
		if sum := withWrong(sequence, seconds); sum < least-rounding {
			best, bestSeconds, least = sequence, seconds, sum
		}
	}
	return best, bestSeconds
}

// The limits of the search: the scenarios for each sequence, how far their seconds differ from
// the estimates, the needs that are simulated for one sequence, and those for all sequences as
// estimated. A large cluster gets fewer scenarios, a huge one fewer sequences.
const (
	mostScenarios = 16
	spread        = 0.7
	mostNeeds     = 100_000
	mostTrials    = 150_000
)

// scenarios are the estimates, and variations in which each estimate is off by a different,
// reproducible amount. Estimates are wrong, so a sequence that is best only if they are right
// loses more than it gains.
func (r *Rollout) scenarios() [][]float64 {
	list := [][]float64{r.estimates()}
	random := uint64(1)
	for len(list) < min(mostScenarios, mostNeeds/(len(r.needs)+1)) {
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

// sorted returns the order with each class sorted as proposed.
func (r *Rollout) sorted(order []int32, p proposal) []int32 {
	sequence := slices.Clone(order)
	slices.SortFunc(sequence, func(a, b int32) int {
		if c := cmp.Compare(r.jobs[a].class, r.jobs[b].class); c != 0 {
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

func (r *Rollout) proposals() []proposal {
	longest := r.longest()
	chain, conflict := r.chained()
	list := []proposal{{conflict, longest}, {chain, longest}, {longest, conflict}}
	if zones := r.zonesFirst(); zones != nil {
		list = append(list, proposal{zones, conflict}, proposal{zones, longest})
	}
	return list
}

// longest sorts by the job that takes longest.
func (r *Rollout) longest() []float64 {
	keys := make([]float64, r.candidates)
	for j := range keys {
		keys[j] = -r.jobs[j].seconds
	}
	return keys
}

// chained sorts by the job that takes longest together with the jobs that must wait for it: in
// its heaviest resource, or in all of them.
func (r *Rollout) chained() (inOne, inAll []float64) {
	heaviness := make([]float64, len(r.resources))
	for i := range heaviness {
		heaviness[i] = r.heaviness(int32(i))
	}
	inOne, inAll = r.longest(), r.longest()
	for j := range inOne {
		for _, n := range r.needsOf(int32(j)) {
			inOne[j] = min(inOne[j], -heaviness[n.resource])
			inAll[j] -= max(heaviness[n.resource]-r.jobs[j].seconds, 0)
		}
	}
	return inOne, inAll
}

// zonesFirst sorts zone by zone, if the resources allow all candidates of a zone to go
// together. The zone with the least left to do goes first, so that a zone that has begun is
// finished. It is nil if fewer than two zones can go as a whole.
func (r *Rollout) zonesFirst() []float64 {
	whole := r.wholeZones()
	if len(whole) < 2 {
		return nil
	}
	left := make([]float64, len(r.zones))
	for j := range r.candidates {
		if z := r.jobs[j].zone; z >= 0 && r.counts(int32(j)) {
			left[z] += r.jobs[j].seconds
		}
	}
	slices.SortFunc(whole, func(a, b int32) int {
		if c := cmp.Compare(left[a], left[b]); c != 0 {
			return c
		}
		return cmp.Compare(r.zones[a], r.zones[b])
	})
	keys := make([]float64, r.candidates)
	for j := range keys {
		keys[j] = float64(len(whole))
		if at := slices.Index(whole, r.jobs[j].zone); at >= 0 {
			keys[j] = float64(at)
		}
	}
	return keys
}

// wholeZones are the zones whose candidates can all go together.
func (r *Rollout) wholeZones() []int32 {
	shares, tooMany := make([]int32, len(r.zones)), make([]bool, len(r.zones))
	for i := range r.resources {
		users := r.usersOf(int32(i))
		for _, u := range users {
			if z := r.jobs[u.job].zone; z >= 0 && r.counts(u.job) {
				shares[z] += u.share
				tooMany[z] = tooMany[z] || shares[z] > r.resources[i].limit
			}
		}
		for _, u := range users {
			if z := r.jobs[u.job].zone; z >= 0 {
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

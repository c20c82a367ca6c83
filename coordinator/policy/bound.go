package policy

import (
	"cmp"
	"slices"
)

// bound is a time below which no sequence can come: the heaviest pod; what a
// group's pods take, at its limit; what all take, at the pod limit; and the
// heaviest set found of pods of which no two can be away together. Pods that
// are on their way count with what is left of them, and for themselves only:
// they may be more than any limit allows.
func (f *forecaster) bound() float64 {
	var most, all float64
	for i := range f.jobs {
		j := &f.jobs[i]
		most = max(most, j.seconds)
		if f.counts(int32(i)) {
			all += j.seconds
		}
	}
	most = max(most, all/float64(max(f.limit, 1)))
	for i := range f.resources {
		most = max(most, f.heaviness(int32(i)))
	}
	return max(most, f.clique())
}

// counts: the limits apply to the job, and it has not begun.
func (f *forecaster) counts(j int32) bool { return !f.jobs[j].free && !f.jobs[j].underway }

// heaviness of a resource is what its jobs take when it is in full use all the time.
func (f *forecaster) heaviness(r int32) float64 {
	limit, sum := f.resources[r].limit, 0.0
	for _, u := range f.usersOf(r) {
		if f.counts(u.job) {
			sum += f.jobs[u.job].seconds * float64(u.share)
			limit = max(limit, u.share)
		}
	}
	if sum == 0 {
		return 0
	}
	return sum / float64(max(limit, 1))
}

// largestClique bounds the search, whose work grows with the square.
const largestClique = 256

// clique is the weight of the heaviest set found of jobs that conflict
// pairwise; found greedily from each job.
func (f *forecaster) clique() float64 {
	if len(f.jobs) > largestClique {
		return 0
	}
	var byWeight []int32
	for j := range int32(len(f.jobs)) {
		if f.counts(j) {
			byWeight = append(byWeight, j)
		}
	}
	conflicts := f.conflicts()
	slices.SortFunc(byWeight, func(a, b int32) int {
		if c := cmp.Compare(f.jobs[b].seconds, f.jobs[a].seconds); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var best float64
	clique := make([]int32, 0, len(byWeight))
	for _, start := range byWeight {
		clique = append(clique[:0], start)
		weight := f.jobs[start].seconds
		for _, j := range byWeight {
			if j != start && !slices.ContainsFunc(clique, func(k int32) bool { return !conflicts[j][k] }) {
				clique, weight = append(clique, j), weight+f.jobs[j].seconds
			}
		}
		best = max(best, weight)
	}
	return best
}

// conflicts tells of each two jobs whether they cannot be away together.
func (f *forecaster) conflicts() [][largestClique]bool {
	conflicts := make([][largestClique]bool, len(f.jobs))
	for i := range f.resources {
		users := f.usersOf(int32(i))
		for _, a := range users {
			for _, b := range users {
				if a.job != b.job && a.share+b.share > f.resources[i].limit {
					conflicts[a.job][b.job] = true
				}
			}
		}
	}
	return conflicts
}

package forecast

import (
	"cmp"
	"slices"
)

// Bound is a lower bound of the time that any sequence takes: the longest of the longest job, the
// jobs of one resource at its limit, all jobs at the limit of jobs, and the heaviest set found of
// jobs of which no two can be unavailable together. Jobs that are underway count only as
// themselves, because more of them than any limit allows may be unavailable.
func (r *Rollout) Bound() float64 {
	var most, all float64
	for i := range r.jobs {
		j := &r.jobs[i]
		most = max(most, j.seconds)
		if r.counts(int32(i)) {
			all += j.seconds
		}
	}
	most = max(most, all/float64(max(r.limit, 1)))
	for i := range r.resources {
		most = max(most, r.heaviness(int32(i)))
	}
	return max(most, r.clique())
}

// counts reports whether the limits apply to the job and it has not begun.
func (r *Rollout) counts(j int32) bool { return !r.jobs[j].free && !r.jobs[j].underway }

// heaviness is the time that the jobs of a resource take if it is always in full use.
func (r *Rollout) heaviness(resource int32) float64 {
	limit, sum := r.resources[resource].limit, 0.0
	for _, u := range r.usersOf(resource) {
		if r.counts(u.job) {
			sum += r.jobs[u.job].seconds * float64(u.share)
			limit = max(limit, u.share)
		}
	}
	if sum == 0 {
		return 0
	}
	return sum / float64(max(limit, 1))
}

// largestClique bounds the search, whose work grows quadratically.
const largestClique = 256

// clique is the weight of the heaviest set of pairwise conflicting jobs that a greedy search
// from each job finds.
func (r *Rollout) clique() float64 {
	if len(r.jobs) > largestClique {
		return 0
	}
	var byWeight []int32
	for j := range int32(len(r.jobs)) {
		if r.counts(j) {
			byWeight = append(byWeight, j)
		}
	}
	conflicts := r.conflicts()
	slices.SortFunc(byWeight, func(a, b int32) int {
		if c := cmp.Compare(r.jobs[b].seconds, r.jobs[a].seconds); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var best float64
	clique := make([]int32, 0, len(byWeight))
	for _, start := range byWeight {
		clique = append(clique[:0], start)
		weight := r.jobs[start].seconds
		for _, j := range byWeight {
			if j != start && !slices.ContainsFunc(clique, func(k int32) bool { return !conflicts[j][k] }) {
				clique, weight = append(clique, j), weight+r.jobs[j].seconds
			}
		}
		best = max(best, weight)
	}
	return best
}

// conflicts says for each two jobs whether they cannot be unavailable together.
func (r *Rollout) conflicts() [][largestClique]bool {
	conflicts := make([][largestClique]bool, len(r.jobs))
	for i := range r.resources {
		users := r.usersOf(int32(i))
		for _, a := range users {
			for _, b := range users {
				if a.job != b.job && a.share+b.share > r.resources[i].limit {
					conflicts[a.job][b.job] = true
				}
			}
		}
	}
	return conflicts
}

package forecast

import (
	"cmp"
	"slices"
)

// Bound is a time below which no sequence can come: the heaviest pod; what a
// group's pods take, at its limit; what all take, at the pod limit; and the
// heaviest set found of pods of which no two can be away together. Pods that
// are on their way count with what is left of them, and for themselves only:
// they may be more than any limit allows.
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

// counts: the limits apply to the job, and it has not begun.
func (r *Rollout) counts(j int32) bool { return !r.jobs[j].free && !r.jobs[j].underway }

// heaviness of a resource is what its jobs take when it is in full use all the time.
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

// largestClique bounds the search, whose work grows with the square.
const largestClique = 256

// clique is the weight of the heaviest set found of jobs that conflict
// pairwise; found greedily from each job.
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

// conflicts tells of each two jobs whether they cannot be away together.
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

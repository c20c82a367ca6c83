package policy

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// forecast simulates the rollout of the candidates as if all else were well:
// each goes as soon as the budgets allow, in their order, takes as long as
// estimated and soaks.
func (d *decision) forecast() Forecast {
	if len(d.order) == 0 {
		return Forecast{}
	}
	f := newForecaster(d)
	waves := f.run(func(*job) float64 { return 1 })
	length := f.run(func(j *job) float64 { return j.seconds })
	return Forecast{
		Waves:        int(math.Round(waves)),
		Seconds:      int64(math.Ceil(length - rounding)),
		BoundSeconds: int64(math.Floor(f.bound() + rounding)),
	}
}

// rounding forgives what adding floating numbers loses.
const rounding = 1e-6

// job is one candidate in the simulation.
type job struct {
	place   int
	seconds float64
	free    bool // outside of the budget
	segment int  // a segment begins when the one before has ended
	needs   []need
	until   float64
}

// need is a share of a resource.
type need struct{ resource, share int }

// resource is a group, zone or pool of which only so much may be away.
type resource struct {
	used, limit int
	waiting     places
}

// fits: what can never fit goes while nothing else is away.
func (r *resource) fits(share int) bool { return r.used == 0 || r.used+share <= r.limit }

type forecaster struct {
	jobs      []job
	resources []resource
	groups    int // the first resources are groups, in the order of the index
	limit     int
	segments  int
}

func newForecaster(d *decision) *forecaster {
	x := d.x
	f := &forecaster{limit: d.ledger.limit, groups: len(x.groups)}
	f.resources = make([]resource, len(x.groups), len(x.groups)+len(x.pools)+4)
	for i := range x.groups {
		f.resources[i].limit = x.groups[i].limit
	}
	pools := make([]int, len(x.pools))
	for i := range x.pools {
		pools[i] = -1
		if x.pools[i].Management == OrderedReady {
			pools[i] = f.add(1)
		}
	}
	f.jobs = make([]job, len(d.order))
	total := 0
	for i := range d.order {
		total += len(d.order[i].hosts) + 1
	}
	needs := make([]need, 0, total)
	segment := 0
	for i := range d.order {
		c := &d.order[i]
		if i > 0 && beginsSegment(&d.order[i-1], c) {
			segment++
		}
		j := &f.jobs[i]
		*j = job{place: i, seconds: d.secondsAway(c), segment: segment, free: c.outside && !c.dead || c.pool.shutdown}
		from := len(needs)
		if pools[c.poolPos] >= 0 {
			needs = append(needs, need{pools[c.poolPos], 1})
		}
		for h := range c.hosts {
			if c.mayLive && c.hosts[h].notDown > 0 && !c.pool.shutdown {
				needs = append(needs, need{int(c.hosts[h].group), int(c.hosts[h].total)})
			}
		}
		j.needs = needs[from:len(needs):len(needs)]
	}
	f.segments = segment + 1
	return f
}

func (f *forecaster) add(limit int) int {
	f.resources = append(f.resources, resource{limit: limit})
	return len(f.resources) - 1
}

// beginsSegment: ranks go one after the other, and a last pod goes alone.
func beginsSegment(before, c *candidate) bool {
	if c.outside && !c.dead || before.broken != c.broken {
		return false
	}
	return before.rank() != c.rank() || c.goesLast()
}

func (d *decision) secondsAway(c *candidate) float64 {
	estimate := c.EstimateSeconds
	if !(estimate > 0 && estimate <= longest) {
		estimate = defaultEstimateSeconds
	}
	return estimate + d.x.soak.Seconds()
}

// run is the time at which the last job ends.
func (f *forecaster) run(length func(*job) float64) float64 {
	for i := range f.resources {
		f.resources[i].used = 0
		f.resources[i].waiting = f.resources[i].waiting[:0]
	}
	r := running{f: f}
	now := 0.0
	next := 0
	for segment := range f.segments {
		var ready places
		for ; next < len(f.jobs) && f.jobs[next].segment == segment; next++ {
			ready = append(ready, next)
		}
		for {
			ready = r.start(ready, now, length)
			if len(r.ends) == 0 {
				break
			}
			now = r.ends[0].until
			ready = r.finish(ready, now)
		}
	}
	return now
}

// running are the jobs under way.
type running struct {
	f    *forecaster
	ends ends
	away int
}

// start takes jobs from the heap of ready ones while there is room.
func (r *running) start(ready places, now float64, length func(*job) float64) places {
	for len(ready) > 0 {
		j := &r.f.jobs[ready.pop()]
		if !j.free && r.away >= r.f.limit {
			ready.push(j.place)
			break
		}
		if blocker := r.blocker(j); blocker >= 0 {
			r.f.resources[blocker].waiting.push(j.place)
			continue
		}
		for _, n := range j.needs {
			r.f.resources[n.resource].used += n.share
		}
		r.away += count(!j.free)
		j.until = now + length(j)
		heap.Push(&r.ends, j)
	}
	return ready
}

func (r *running) blocker(j *job) int {
	if j.free {
		return -1
	}
	for _, n := range j.needs {
		if !r.f.resources[n.resource].fits(n.share) {
			return n.resource
		}
	}
	return -1
}

// wakes is how many waiting jobs the end of another wakes at most.
const wakes = 16

// finish ends every job that ends now, and wakes those that waited for one.
func (r *running) finish(ready places, now float64) places {
	for len(r.ends) > 0 && r.ends[0].until <= now {
		j := heap.Pop(&r.ends).(*job)
		r.away -= count(!j.free)
		for _, n := range j.needs {
			res := &r.f.resources[n.resource]
			res.used -= n.share
			// Whoever is woken and still cannot go waits for something that
			// is in use, so a few are enough to keep things going.
			for range min(len(res.waiting), wakes) {
				ready.push(res.waiting.pop())
			}
		}
	}
	return ready
}

// bound is a time below which no sequence can come: the heaviest pod; what a
// group's pods take, at its limit; what all take, at the pod limit; and the
// heaviest set found of pods of which no two can be away together.
func (f *forecaster) bound() float64 {
	var most, all float64
	sums := make([]float64, len(f.resources))
	limits := make([]int, len(f.resources))
	for i := range f.jobs {
		j := &f.jobs[i]
		most = max(most, j.seconds)
		if j.free {
			continue
		}
		all += j.seconds
		for _, n := range j.needs {
			sums[n.resource] += j.seconds * float64(n.share)
			limits[n.resource] = max(limits[n.resource], f.resources[n.resource].limit, n.share)
		}
	}
	most = max(most, all/float64(max(f.limit, 1)))
	for i := range sums {
		if limits[i] > 0 {
			most = max(most, sums[i]/float64(limits[i]))
		}
	}
	return max(most, f.clique())
}

// largestClique bounds the search, whose work grows with the square.
const largestClique = 256

// clique is the weight of the heaviest set found of jobs that conflict
// pairwise; found greedily from each job.
func (f *forecaster) clique() float64 {
	if len(f.jobs) > largestClique {
		return 0
	}
	byWeight := make([]*job, 0, len(f.jobs))
	hosts := map[int][]*job{}
	for i := range f.jobs {
		j := &f.jobs[i]
		if j.free {
			continue
		}
		byWeight = append(byWeight, j)
		for _, n := range j.needs {
			hosts[n.resource] = append(hosts[n.resource], j)
		}
	}
	conflicts := make([][largestClique]bool, len(f.jobs))
	for id, jobs := range hosts {
		for _, a := range jobs {
			for _, b := range jobs {
				if a != b && f.share(a, id)+f.share(b, id) > f.resources[id].limit {
					conflicts[a.place][b.place] = true
				}
			}
		}
	}
	slices.SortFunc(byWeight, func(a, b *job) int {
		if c := cmp.Compare(b.seconds, a.seconds); c != 0 {
			return c
		}
		return cmp.Compare(a.place, b.place)
	})
	var best float64
	for _, start := range byWeight {
		clique, weight := []*job{start}, start.seconds
		for _, j := range byWeight {
			if j != start && !slices.ContainsFunc(clique, func(k *job) bool { return !conflicts[j.place][k.place] }) {
				clique, weight = append(clique, j), weight+j.seconds
			}
		}
		best = max(best, weight)
	}
	return best
}

func (f *forecaster) share(j *job, id int) int {
	for _, n := range j.needs {
		if n.resource == id {
			return n.share
		}
	}
	return 0
}

// places is a heap of places in the order, lowest first. It is written out,
// because most of a forecast's time is spent here.
type places []int

func (p *places) push(place int) {
	h := append(*p, place)
	at := len(h) - 1
	for at > 0 {
		up := (at - 1) / 2
		if h[up] <= h[at] {
			break
		}
		h[up], h[at] = h[at], h[up]
		at = up
	}
	*p = h
}

func (p *places) pop() int {
	h := *p
	least := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for at := 0; ; {
		down := 2*at + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1] < h[down] {
			down++
		}
		if h[at] <= h[down] {
			break
		}
		h[at], h[down] = h[down], h[at]
		at = down
	}
	*p = h
	return least
}

// ends is a heap of running jobs, the next to end first.
type ends []*job

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	if c := cmp.Compare(e[i].until, e[j].until); c != 0 {
		return c < 0
	}
	return e[i].place < e[j].place
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(v any)   { *e = append(*e, v.(*job)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

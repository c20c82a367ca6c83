package policy

import (
	"math"
	"slices"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// forecast simulates the rollout from here as if all else were well: each
// candidate goes as soon as the budgets allow, in the sequence in which they
// are asked, takes as long as estimated and soaks.
func (d *decision) forecast() model.Forecast {
	if len(d.order) == 0 && d.ledger.claimed == 0 {
		return model.Forecast{}
	}
	f := d.forecaster()
	if len(f.jobs) == 0 {
		return model.Forecast{} // nobody who is claimed is in the snapshot
	}
	s := newSimulation(f)
	estimates := f.estimates()
	seconds := d.simulatedSeconds
	if seconds == 0 {
		seconds = s.run(d.sequence, estimates)
	}
	waves := seconds / estimates[0]
	if slices.Max(estimates) != slices.Min(estimates) {
		waves = s.run(d.sequence, f.ones())
	}
	return model.Forecast{
		Waves:        int(math.Round(waves)),
		Seconds:      int64(math.Ceil(seconds - rounding)),
		BoundSeconds: int64(math.Floor(f.bound() + rounding)),
	}
}

// rounding forgives what adding floating numbers loses.
const rounding = 1e-6

// forecaster has the jobs of a rollout and what they need. The candidates come
// first, in their order.
type forecaster struct {
	jobs       []job
	candidates int
	needs      []need // job by job
	resources  []resource
	users      []user // resource by resource
	groups     int    // the first resources are groups, in the order of the index
	limit      int
	segments   int32
	zones      []string
	zoneLimit  int // 0 = none
}

// job is a candidate in the simulation, or a pod that is away and comes back
// by itself.
type job struct {
	seconds  float64
	segment  int32 // a segment begins when the one before has ended
	class    int32 // only jobs of one class may change places
	zone     int32 // place among the zones, -1 = unknown
	free     bool  // outside of the budget
	underway bool  // from the beginning, with the seconds that are left
	from, to int32 // its needs
}

// need is a share of a resource.
type need struct{ resource, share int32 }

// user is a job that needs a share of a resource.
type user struct{ job, share int32 }

// resource is a group or pool of which only so much may be away.
type resource struct {
	limit    int32
	from, to int32 // its users
}

// fits: what can never fit goes while nothing else is away.
func (r *resource) fits(used, share int32) bool { return used == 0 || used+share <= r.limit }

func (f *forecaster) needsOf(j int32) []need { return f.needs[f.jobs[j].from:f.jobs[j].to] }

func (f *forecaster) usersOf(r int32) []user { return f.users[f.resources[r].from:f.resources[r].to] }

// forecaster is made when it is first asked for.
func (d *decision) forecaster() *forecaster {
	if d.simulated == nil {
		d.simulated = newForecaster(d)
	}
	return d.simulated
}

func newForecaster(d *decision) *forecaster {
	x := d.x
	f := &forecaster{candidates: len(d.order), groups: len(x.groups), limit: d.ledger.limit, zoneLimit: d.ledger.zoneLimit}
	f.resources = make([]resource, len(x.groups), len(x.groups)+len(x.pools))
	for i := range x.groups {
		f.resources[i].limit = x.groups[i].limit
		if x.groups[i].domains != nil {
			f.resources[i].limit = math.MaxInt32 // a share would not say with whom it is missing
		}
	}
	b := jobBuilder{f: f, pools: make([]int32, len(x.pools)), zones: map[string]int32{}}
	for i := range x.pools {
		b.pools[i] = -1
		if x.pools[i].Management == model.OrderedReady {
			b.pools[i] = int32(len(f.resources))
			f.resources = append(f.resources, resource{limit: 1})
		}
	}
	f.jobs = make([]job, 0, len(d.order)+len(d.ledger.away))
	f.needs = make([]need, 0, len(x.hosted)+cap(f.jobs))
	should := make([]bool, len(x.pods))
	var segment, class int32
	for i := range d.order {
		c := &d.order[i]
		should[c.at] = true
		if i > 0 {
			segment += int32(count(beginsSegment(&d.order[i-1], c)))
			class += int32(count(!interchangeable(&d.order[i-1], c)))
		}
		j := job{seconds: d.secondsAway(c.pod), segment: segment, class: class, free: c.outside && !c.dead || c.pool.shutdown}
		if c.underway() {
			j.seconds, j.underway = d.secondsLeft(c.pod), true
		}
		b.add(c.pod, j)
	}
	for _, p := range d.ledger.away {
		if p.at != unseen && !should[p.at] {
			b.add(p, job{seconds: d.secondsLeft(p), class: -1, underway: true, free: p.pool.shutdown})
		}
	}
	f.segments = segment + 1
	f.listUsers()
	return f
}

// jobBuilder adds jobs with what they need.
type jobBuilder struct {
	f     *forecaster
	pools []int32 // the resource of each pool that is OrderedReady, else -1
	zones map[string]int32
}

func (b *jobBuilder) add(p *pod, j job) {
	f := b.f
	j.zone = -1
	if p.zone != "" {
		at, known := b.zones[p.zone]
		if !known {
			at = int32(len(f.zones))
			b.zones[p.zone] = at
			f.zones = append(f.zones, p.zone)
		}
		j.zone = at
	}
	j.from = int32(len(f.needs))
	if b.pools[p.poolPos] >= 0 {
		f.needs = append(f.needs, need{b.pools[p.poolPos], 1})
	}
	for h := range p.hosts {
		if (p.mayLive && p.hosts[h].notDown > 0 || j.underway) && !p.pool.shutdown {
			f.needs = append(f.needs, need{p.hosts[h].group, p.hosts[h].total})
		}
	}
	j.to = int32(len(f.needs))
	f.jobs = append(f.jobs, j)
}

// listUsers turns the needs of each job into the users of each resource.
func (f *forecaster) listUsers() {
	for _, n := range f.needs {
		f.resources[n.resource].to++
	}
	var from int32
	for i := range f.resources {
		r := &f.resources[i]
		n := r.to
		r.from, r.to = from, from
		from += n
	}
	f.users = make([]user, len(f.needs))
	for j := range f.jobs {
		for _, n := range f.needsOf(int32(j)) {
			r := &f.resources[n.resource]
			f.users[r.to] = user{int32(j), n.share}
			r.to++
		}
	}
}

// estimates are the seconds of each job.
func (f *forecaster) estimates() []float64 {
	seconds := make([]float64, len(f.jobs))
	for j := range f.jobs {
		seconds[j] = f.jobs[j].seconds
	}
	return seconds
}

// ones let every job take as long, so that time counts waves.
func (f *forecaster) ones() []float64 {
	ones := make([]float64, len(f.jobs))
	for j := range ones {
		ones[j] = 1
	}
	return ones
}

// beginsSegment: ranks go one after the other, and a last pod goes alone.
func beginsSegment(before, c *candidate) bool {
	if c.outside && !c.dead || before.broken != c.broken {
		return false
	}
	return before.rank != c.rank || c.last
}

// interchangeable: speed may decide which of the two goes first.
func interchangeable(a, b *candidate) bool {
	return !a.broken && !b.broken && !a.forced && !b.forced && a.rank == b.rank && !a.last && !b.last && a.live == b.live
}

// underway: the pod will go without being chosen again.
func (c *candidate) underway() bool {
	return c.Phase == model.Terminating || c.claim != nil && c.claim.UID == c.UID
}

func (d *decision) secondsAway(p *pod) float64 {
	estimate := p.EstimateSeconds
	if !(estimate > 0 && estimate <= model.MaxSeconds) {
		estimate = model.DefaultEstimateSeconds
	}
	return estimate + d.x.soak.Seconds()
}

// secondsLeft of a pod that is on its way. One that takes longer than
// estimated is taken to be nearly back.
func (d *decision) secondsLeft(p *pod) float64 {
	const nearly = 0.1
	if !p.soakTill.IsZero() {
		return p.soakTill.Sub(d.x.now).Seconds()
	}
	began := p.Since.Time
	if p.claim != nil && !p.claim.StartedAt.IsZero() {
		began = p.claim.StartedAt.Time
	}
	all := d.secondsAway(p)
	if began.IsZero() {
		return all
	}
	return min(max(all-d.x.now.Sub(began).Seconds(), nearly*all), all)
}

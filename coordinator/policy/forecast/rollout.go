// Package forecast estimates how long a rollout takes. A rollout is a set of jobs that go in a
// sequence, as far as the resources that they share allow. The package simulates a sequence,
// looks for a faster one, and computes a lower bound. It knows nothing of pods and rules:
// package policy turns candidates into jobs.
package forecast

import "math"

// Rollout has the jobs of a rollout and what they need. The candidates come first, in their order;
// then those that are unavailable and come back by themselves.
type Rollout struct {
	jobs       []job
	candidates int
	needs      []need // job by job
	resources  []resource
	users      []user // resource by resource
	limit      int
	segments   int32
	zones      []string
	zoneAt     map[string]int32
	zoneLimit  int // 0 = none
}

// Limits are how much may be unavailable at once.
type Limits struct {
	Jobs  int
	Zones int // 0 = any number
	// Resources are the limits of the resources, such as how many members a group can do without.
	Resources []int32
}

// NoLimit is that of a resource of which everything may be unavailable.
const NoLimit int32 = math.MaxInt32

// Job is a candidate, or a pod that is unavailable and comes back by itself.
type Job struct {
	// Seconds that it is unavailable, or will still be.
	Seconds float64
	// Segment: one begins when the one before has ended.
	Segment int32
	// Class: only jobs of one class may change places.
	Class int32
	// Zone is empty when it is not known.
	Zone string
	// Free is true if the limits of jobs and resources do not apply to it.
	Free bool
	// Underway is true if it has begun.
	Underway bool
}

// job is a Job with where its needs are.
type job struct {
	seconds  float64
	segment  int32
	class    int32
	zone     int32 // place among the zones, -1 = unknown
	free     bool
	underway bool
	from, to int32 // its needs
}

// need is a share of a resource.
type need struct{ resource, share int32 }

// user is a job that needs a share of a resource.
type user struct{ job, share int32 }

// resource is something of which only so much may be unavailable.
type resource struct {
	limit    int32
	from, to int32 // its users
}

// fits reports whether a share is left. A share that never fits may go while nothing else is
// unavailable.
func (r *resource) fits(used, share int32) bool { return used == 0 || used+share <= r.limit }

// New returns a rollout without jobs; jobs and needs are the expected numbers of them.
func New(limits Limits, jobs, needs int) *Rollout {
	r := &Rollout{
		limit: limits.Jobs, zoneLimit: limits.Zones, zoneAt: map[string]int32{}, segments: 1,
		resources: make([]resource, len(limits.Resources)), jobs: make([]job, 0, jobs), needs: make([]need, 0, needs),
	}
	for i, limit := range limits.Resources {
		r.resources[i].limit = limit
	}
	return r
}

// AddCandidate adds the next candidate. Call Need for each of its needs.
func (r *Rollout) AddCandidate(j Job) {
	r.candidates++
	r.segments = j.Segment + 1
	r.AddAway(j)
}

// AddAway adds a job that is not a candidate, after all candidates. Call Need for each of its
// needs.
func (r *Rollout) AddAway(j Job) {
	zone := int32(-1)
	if j.Zone != "" {
		at, known := r.zoneAt[j.Zone]
		if !known {
			at = int32(len(r.zones))
			r.zoneAt[j.Zone] = at
			r.zones = append(r.zones, j.Zone)
		}
		zone = at
	}
	at := int32(len(r.needs))
	r.jobs = append(r.jobs, job{
		seconds: j.Seconds, segment: j.Segment, class: j.Class, zone: zone, free: j.Free, underway: j.Underway, from: at, to: at,
	})
}

// Need adds a share of a resource to the needs of the last job.
func (r *Rollout) Need(resource, share int32) {
	r.needs = append(r.needs, need{resource, share})
	r.jobs[len(r.jobs)-1].to++
}

// Seal must be called after the last job is added, before anything is computed.
func (r *Rollout) Seal() {
	for _, n := range r.needs {
		r.resources[n.resource].to++
	}
	var from int32
	for i := range r.resources {
		s := &r.resources[i]
		n := s.to
		s.from, s.to = from, from
		from += n
	}
	r.users = make([]user, len(r.needs))
	for j := range r.jobs {
		for _, n := range r.needsOf(int32(j)) {
			s := &r.resources[n.resource]
			r.users[s.to] = user{int32(j), n.share}
			s.to++
		}
	}
}

func (r *Rollout) needsOf(j int32) []need { return r.needs[r.jobs[j].from:r.jobs[j].to] }

func (r *Rollout) usersOf(resource int32) []user {
	return r.users[r.resources[resource].from:r.resources[resource].to]
}

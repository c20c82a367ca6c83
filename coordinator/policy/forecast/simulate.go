package forecast

// simulation runs the jobs of a rollout in a sequence: the first job that fits goes.
//
// A job that finds no room in one of its resources waits for that resource, and is tried again
// when some of it is released. So ready has all jobs that could go, and most jobs are tried
// only a few times.
type simulation struct {
	rollout *Rollout
	seconds []float64 // by job
	turn    []int32   // by candidate: its place in the sequence

	resources []usage
	next      []int32 // by job: the next that waits for the same resource, or nobody
	ready     queue   // by turn
	crowds    map[int32]*queue
	ends      queue // by time
	away      int

	zones       []int32 // jobs away by zone
	zonesAway   int
	zoneWaiting queue // for another zone, by turn
}

// usage is what a simulation has of a resource.
type usage struct {
	resource
	used    int32
	waiting int32 // the first job that waits for it, or nobody
}

const nobody int32 = -1

// If many jobs wait for one resource, they wait in the order of their turns, and only the first
// few are tried again. A job that still does not fit waits for something that is in use, so a
// few are enough to make progress.
const (
	crowd = 64
	wakes = 16
)

func (r *resource) crowded() bool { return r.to-r.from > crowd }

func newSimulation(r *Rollout) *simulation {
	s := &simulation{
		rollout: r, turn: make([]int32, r.candidates), resources: make([]usage, len(r.resources)), next: make([]int32, len(r.jobs)),
		ready: make(queue, 0, r.candidates), ends: make(queue, 0, len(r.jobs)),
		crowds: map[int32]*queue{}, zones: make([]int32, len(r.zones)),
	}
	for i := range s.resources {
		s.resources[i].resource = r.resources[i]
	}
	return s
}

// run returns when the last job ends, given the sequence of the candidates and the seconds of
// each job.
func (s *simulation) run(sequence []int32, seconds []float64) float64 {
	s.reset()
	s.seconds = seconds
	for at, j := range sequence {
		s.turn[j] = int32(at)
	}
	for j := range s.rollout.jobs {
		if s.rollout.jobs[j].underway {
			s.begin(int32(j), 0)
		}
	}
	now, next := 0.0, 0
	for segment := range s.rollout.segments {
		for ; next < s.rollout.candidates && s.rollout.jobs[next].segment == segment; next++ {
			if !s.rollout.jobs[next].underway {
				s.wake(int32(next))
			}
		}
		for {
			s.start(now)
			if len(s.ends) == 0 {
				break
			}
			now = s.ends[0].key
			s.finish(now)
		}
	}
	return now
}

// reset clears the last run. Jobs that ended have released what they took, but jobs may still
// be waiting if a limit lets none of them go.
func (s *simulation) reset() {
	clear(s.crowds)
	for i := range s.resources {
		s.resources[i].waiting = nobody
	}
	s.ready, s.zoneWaiting = s.ready[:0], s.zoneWaiting[:0]
}

// wake makes a job ready to be tried.
func (s *simulation) wake(j int32) { s.ready.push(entry{float64(s.turn[j]), j}) }

// start begins ready jobs while there is room.
func (s *simulation) start(now float64) {
	for len(s.ready) > 0 {
		next := s.ready.pop()
		job := &s.rollout.jobs[next.job]
		if !job.free {
			if s.away >= s.rollout.limit {
				s.ready.push(next)
				return
			}
			if s.waits(next, job) {
				continue
			}
		}
		s.begin(next.job, now)
	}
}

// waits queues a job at the first resource that has no room for it, and returns false if all
// have.
func (s *simulation) waits(e entry, job *job) bool {
	f := s.rollout
	for _, n := range f.needs[job.from:job.to] {
		r := &s.resources[n.resource]
		if r.fits(r.used, n.share) {
			continue
		}
		if !r.crowded() {
			s.next[e.job], r.waiting = r.waiting, e.job
			return true
		}
		list := s.crowds[n.resource]
		if list == nil {
			list = &queue{}
			s.crowds[n.resource] = list
		}
		list.push(e)
		return true
	}
	if f.zoneLimit > 0 && job.zone >= 0 && s.zones[job.zone] == 0 && s.zonesAway >= f.zoneLimit {
		s.zoneWaiting.push(e)
		return true
	}
	return false
}

func (s *simulation) begin(j int32, now float64) {
	s.ends.push(entry{now + s.seconds[j], j})
	job := &s.rollout.jobs[j]
	s.charge(job, 1)
	for _, n := range s.rollout.needs[job.from:job.to] {
		s.resources[n.resource].used += n.share
	}
}

// finish ends every job that ends now.
func (s *simulation) finish(now float64) {
	for len(s.ends) > 0 && s.ends[0].key <= now {
		job := &s.rollout.jobs[s.ends.pop().job]
		s.charge(job, -1)
		for _, n := range s.rollout.needs[job.from:job.to] {
			r := &s.resources[n.resource]
			r.used -= n.share
			for ; r.waiting != nobody; r.waiting = s.next[r.waiting] {
				s.wake(r.waiting)
			}
			if r.crowded() {
				s.wakeSome(n.resource)
			}
		}
		if job.zone >= 0 && s.zones[job.zone] == 0 {
			for _, e := range s.zoneWaiting {
				s.ready.push(e)
			}
			s.zoneWaiting = s.zoneWaiting[:0]
		}
	}
}

func (s *simulation) wakeSome(resource int32) {
	if list := s.crowds[resource]; list != nil {
		for range min(len(*list), wakes) {
			s.ready.push(list.pop())
		}
	}
}

// charge adds a job to what is unavailable, or removes it.
func (s *simulation) charge(job *job, sign int32) {
	if !job.free {
		s.away += int(sign)
	}
	if job.zone >= 0 {
		before := s.zones[job.zone]
		s.zones[job.zone] += sign
		switch now := s.zones[job.zone]; {
		case before <= 0 && now > 0:
			s.zonesAway++
		case before > 0 && now <= 0:
			s.zonesAway--
		}
	}
}

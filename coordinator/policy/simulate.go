package policy

// simulation runs the jobs of a forecaster in a sequence: whoever is first in
// it and fits, goes.
//
// It counts for each job how many of its resources have no room for it, and
// keeps that up to date with every job that begins or ends. A resource of many
// jobs would make that expensive; such a one is asked when a job's turn comes,
// and has a list of those that wait for it.
type simulation struct {
	f       *forecaster
	seconds []float64 // by job
	turn    []int32   // by candidate: its place in the sequence

	used    []int32 // by resource
	blocked []int32 // by job that has not started: crowded resources aside, how many have no room for it
	state   []jobState
	ready   queue            // by turn
	waiting map[int32]*queue // by crowded resource, by turn
	ends    queue            // by time
	away    int
	segment int32

	zones       []int32 // jobs away by zone
	zonesAway   int
	zoneWaiting queue // for another zone, by turn
}

type jobState uint8

const (
	idle    jobState = iota // its segment has not begun, or something blocks it
	queued                  // in ready, or waiting for a crowded resource
	started                 // and perhaps ended
)

// crowd is the number of users from which a resource is crowded, and wakes how
// many of those that wait for it are woken when it is used less.
const (
	crowd = 64
	wakes = 16
)

func (r *resource) crowded() bool { return r.to-r.from > crowd }

func newSimulation(f *forecaster) *simulation {
	return &simulation{
		f: f, turn: make([]int32, f.candidates), used: make([]int32, len(f.resources)), blocked: make([]int32, len(f.jobs)),
		state: make([]jobState, len(f.jobs)), ready: make(queue, 0, f.candidates), ends: make(queue, 0, len(f.jobs)),
		waiting: map[int32]*queue{}, zones: make([]int32, len(f.zones)),
	}
}

// run is the time at which the last job ends when the candidates are asked in
// a sequence and each job takes so many seconds.
func (s *simulation) run(sequence []int32, seconds []float64) float64 {
	s.reset()
	s.seconds = seconds
	for at, j := range sequence {
		s.turn[j] = int32(at)
	}
	for j := range s.f.jobs {
		if s.f.jobs[j].underway {
			s.begin(int32(j), 0)
		}
	}
	now, next := 0.0, 0
	for s.segment = range s.f.segments {
		for ; next < s.f.candidates && s.f.jobs[next].segment == s.segment; next++ {
			s.wake(int32(next))
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

// reset forgets the last run. What ended has taken its share back, but where a
// limit lets nobody go some are left waiting.
func (s *simulation) reset() {
	clear(s.state)
	clear(s.blocked)
	clear(s.waiting)
	s.ready, s.zoneWaiting = s.ready[:0], s.zoneWaiting[:0]
	s.segment = 0
}

// wake queues a job that nothing blocks any more.
func (s *simulation) wake(j int32) {
	if s.state[j] != idle || s.f.jobs[j].segment != s.segment || s.blocked[j] > 0 && !s.f.jobs[j].free {
		return
	}
	s.state[j] = queued
	s.ready.push(entry{float64(s.turn[j]), j})
}

// start begins queued jobs while there is room.
func (s *simulation) start(now float64) {
	for len(s.ready) > 0 {
		next := s.ready.pop()
		job := &s.f.jobs[next.job]
		switch {
		case job.free:
		case s.blocked[next.job] > 0:
			s.state[next.job] = idle
			continue
		case s.away >= s.f.limit:
			s.ready.push(next)
			return
		default:
			if list := s.noRoom(job); list != nil {
				list.push(next)
				continue
			}
		}
		s.begin(next.job, now)
	}
}

// noRoom is the list of those that wait for what has no room for a job, or nil.
func (s *simulation) noRoom(job *job) *queue {
	f := s.f
	for _, n := range f.needs[job.from:job.to] {
		r := &f.resources[n.resource]
		if !r.crowded() || r.fits(s.used[n.resource], n.share) {
			continue
		}
		if s.waiting[n.resource] == nil {
			s.waiting[n.resource] = &queue{}
		}
		return s.waiting[n.resource]
	}
	if f.zoneLimit > 0 && job.zone >= 0 && s.zones[job.zone] == 0 && s.zonesAway >= f.zoneLimit {
		return &s.zoneWaiting
	}
	return nil
}

func (s *simulation) begin(j int32, now float64) {
	s.state[j] = started
	s.ends.push(entry{now + s.seconds[j], j})
	s.charge(&s.f.jobs[j], 1)
}

// finish ends every job that ends now.
func (s *simulation) finish(now float64) {
	for len(s.ends) > 0 && s.ends[0].key <= now {
		job := &s.f.jobs[s.ends.pop().job]
		s.charge(job, -1)
		for _, n := range s.f.needs[job.from:job.to] {
			// Whoever is woken and still cannot go waits for something that
			// is in use, so a few are enough to keep things going.
			if list := s.waiting[n.resource]; list != nil {
				for range min(len(*list), wakes) {
					s.ready.push(list.pop())
				}
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

// charge adds a job to what is away, or takes it off.
func (s *simulation) charge(job *job, sign int32) {
	if !job.free {
		s.away += int(sign)
	}
	if job.zone >= 0 {
		before := s.zones[job.zone]
		s.zones[job.zone] += sign
		s.zonesAway += count(s.zones[job.zone] > 0) - count(before > 0)
	}
	for _, n := range s.f.needs[job.from:job.to] {
		r := &s.f.resources[n.resource]
		before := s.used[n.resource]
		after := before + sign*n.share
		s.used[n.resource] = after
		if r.crowded() {
			continue
		}
		for _, u := range s.f.users[r.from:r.to] {
			if s.state[u.job] == started {
				continue
			}
			was, is := r.fits(before, u.share), r.fits(after, u.share)
			switch {
			case was && !is:
				s.blocked[u.job]++
			case is && !was:
				s.blocked[u.job]--
				s.wake(u.job)
			}
		}
	}
}

// entry is a job in a queue.
type entry struct {
	key float64
	job int32
}

func (e entry) before(o entry) bool { return e.key < o.key || e.key == o.key && e.job < o.job }

// queue is a heap with the lowest key first. It is written out, because most
// of a forecast's time is spent here.
type queue []entry

func (q *queue) push(e entry) {
	h := append(*q, e)
	at := len(h) - 1
	for at > 0 {
		up := (at - 1) / 2
		if h[up].before(e) {
			break
		}
		h[at] = h[up]
		at = up
	}
	h[at] = e
	*q = h
}

func (q *queue) pop() entry {
	h := *q
	least := h[0]
	last := len(h) - 1
	e := h[last]
	h = h[:last]
	at := 0
	for {
		down := 2*at + 1
		if down >= last {
			break
		}
		if down+1 < last && h[down+1].before(h[down]) {
			down++
		}
		if e.before(h[down]) {
			break
		}
		h[at] = h[down]
		at = down
	}
	if last > 0 {
		h[at] = e
	}
	*q = h
	return least
}

package foundationdb

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// memory is what is remembered from one look to the next: the status document does not mention a
// process that is unavailable, and for a minute its data still count as fully replicated.
//
// Invariant: what is remembered can only make the observation worse.
type memory struct {
	seen map[string]remembered // by instance

	generation      int64
	generationSince time.Time

	last map[string]whereabouts // by instance
}

// whereabouts are the endpoints of a pod's processes, when it had any.
type whereabouts struct {
	endpoints []string
	at        time.Time // of the last look that showed them
}

// keepLast is how long it is remembered where a pod's processes were.
const keepLast = 7 * 24 * time.Hour

// lookAt records where all processes are.
func (m *memory) lookAt(now time.Time, s *status) {
	here := map[string]whereabouts{}
	for _, p := range s.processes {
		if p.instance != "" {
			here[p.instance] = whereabouts{append(here[p.instance].endpoints, endpoint(p.address)), now}
		}
	}
	for instance, w := range m.last {
		if _, is := here[instance]; !is && now.Sub(w.at) <= keepLast {
			here[instance] = w
		}
	}
	m.last = here
}

// remembered is a pod with storage as it was seen last.
type remembered struct {
	instance, domain, zone, dc string
	away                       time.Time // since when none of its processes has data; zero means one has
}

// keepAway is how long an unavailable pod counts as missing although all data are reported as
// complete without it: FoundationDB takes a minute until it counts a storage server as failed.
const keepAway = 2 * time.Minute

// look records a status, and returns the pods that had storage and have none, sorted.
func (m *memory) look(now time.Time, s *status) []remembered {
	if m.seen == nil {
		m.seen = map[string]remembered{}
	}
	if s.generation != m.generation || m.generationSince.IsZero() {
		m.generation, m.generationSince = s.generation, now
	}
	stores, emptied := map[string]bool{}, map[string]bool{}
	for _, p := range s.processes {
		if p.instance == "" {
			continue
		}
		emptied[p.instance] = emptied[p.instance] || is(p.excluded)
		if p.has("storage") {
			stores[p.instance] = true
			m.seen[p.instance] = remembered{instance: p.instance, domain: s.domain(p), zone: p.zone, dc: p.dc}
		}
	}
	whole := s.whole()
	var away []remembered
	for name, r := range m.seen {
		switch {
		case stores[name]:
			continue
		case emptied[name]:
			delete(m.seen, name) // its role ends when it holds nothing any more
			continue
		}
		if r.away.IsZero() {
			r.away = now
			m.seen[name] = r
		}
		if whole && r.zone != s.maintenance && now.Sub(r.away) >= keepAway {
			delete(m.seen, name) // its data are elsewhere already
			continue
		}
		away = append(away, r)
	}
	sorted.By(away, func(a, b remembered) int { return cmp.Compare(a.instance, b.instance) })
	return away
}

func hasStorage(s *status, instance string) bool {
	return slices.ContainsFunc(s.of(instance), func(p process) bool { return p.has("storage") })
}

// whole reports whether every shard has all its copies.
func (s *status) whole() bool {
	copies, known := s.copies()
	if !known || len(s.trackers) == 0 {
		return false
	}
	for _, t := range s.trackers {
		if t.replicas == nil || *t.replicas < copies {
			return false
		}
	}
	return true
}

// recoveredFor is how long the last recovery has been over; where the database does
// not say, since when this process has seen no other generation.
func (m *memory) recoveredFor(now time.Time, s *status) time.Duration {
	if s.recoveredAge != nil {
		return time.Duration(*s.recoveredAge * float64(time.Second))
	}
	return now.Sub(m.generationSince)
}

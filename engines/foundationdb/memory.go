package foundationdb

import (
	"cmp"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/engines/sorted"
)

// memory is what is remembered from one look to the next: whose storage servers and logs are, where
// pods were, and since when a coordinator's process is not known. That something is missing comes
// from the database itself.
//
// Invariant: memory is about names, and can only make the observation worse: without it what is
// missing is in a zone of its own. (TestMemory).
type memory struct {
	owners map[string]remembered // by the id of a storage server or log

	generation      int64
	generationSince time.Time

	last    map[string]whereabouts // by instance
	strange map[string]time.Time   // since when a coordinator that answers has no process, by address
}

// whereabouts are the endpoints of a pod's processes, when it had any.
type whereabouts struct {
	endpoints []string
	zone, dc  string
	emptied   bool // it was excluded, and had no role
	at        time.Time
}

const (
	// keepLast is how long it is remembered where a pod's processes were.
	keepLast = 7 * 24 * time.Hour
	// comesBack is for how long a coordinator that answers may have no process: a process answers
	// as a coordinator first, and is listed some seconds later.
	comesBack = time.Minute
)

// remembered is a pod, or one storage server or log of it that is missing.
type remembered struct {
	instance, domain, zone, dc string
	role, id                   string
	there                      bool   // its process is listed, and does not serve
	fails                      string // what its process says of why
}

// words name what is missing.
func (r remembered) words() string {
	what := "a storage server that the database counts on"
	if r.role == "log" {
		what = "a log that is still needed"
	}
	switch {
	case r.there && r.fails != "":
		return r.instance + " (" + r.zone + ") does not serve: its process says " + r.fails
	case r.there && r.role == "log":
		return r.instance + " (" + r.zone + ") does not serve: " + what + " does not answer"
	case r.there:
		return r.instance + " (" + r.zone + ") does not serve: " + what + " has no figures"
	case r.instance == "":
		return what + " (" + r.id + ") is not running, and its zone is not known"
	case r.zone == "":
		return r.instance + " is away: " + what + " is not running, and its zone is not known"
	}
	return r.instance + " (" + r.zone + ") is away: " + what + " is not running"
}

// lookAt records where all processes are, and notes in the status what is known of coordinators
// and pods that it does not list.
func (m *memory) lookAt(now time.Time, s *status) {
	here := map[string]whereabouts{}
	for _, p := range s.processes {
		if p.instance == "" {
			continue
		}
		w, again := here[p.instance]
		if again && w.zone != p.zone {
			w.zone = ""
		} else {
			w.zone, w.dc = p.zone, p.dc
		}
		w.endpoints, w.at, w.emptied = append(w.endpoints, endpoint(p.address)), now, p.emptied() && (!again || w.emptied)
		here[p.instance] = w
	}
	for instance, w := range m.last {
		if _, is := here[instance]; !is && now.Sub(w.at) <= keepLast {
			here[instance] = w
			if !w.emptied {
				s.absent = append(s.absent, remembered{instance: instance, zone: w.zone, dc: w.dc})
			}
		}
	}
	m.last = here
	sorted.By(s.absent, func(a, b remembered) int { return cmp.Compare(a.instance, b.instance) })
	m.coordinators(now, s)
}

// coordinators notes whose the coordinators without a process are, and which of them have only just
// come back.
func (m *memory) coordinators(now time.Time, s *status) {
	strange := map[string]time.Time{}
	s.owners, s.coming = map[string]remembered{}, map[string]bool{}
	for _, c := range s.coordinators {
		if s.sitting(c.address) != nil {
			continue
		}
		at := endpoint(c.address)
		for instance, w := range m.last {
			if slices.Contains(w.endpoints, at) || seatName(at) == instance {
				s.owners[at] = remembered{instance: instance, zone: w.zone, dc: w.dc}
			}
		}
		if _, known := s.owners[at]; !known && seatName(at) != "" {
			s.owners[at] = remembered{instance: seatName(at)}
		}
		if is(c.reachable) {
			since, before := m.strange[at]
			if !before {
				since = now
			}
			strange[at] = since
			s.coming[at] = now.Sub(since) < comesBack
		}
	}
	m.strange = strange
}

// look records whose storage servers and logs are, and returns those that are missing: the servers
// on the database's list of which none runs and answers, and the logs that it says are dead.
func (m *memory) look(now time.Time, s *status) []remembered {
	if s.generation != m.generation || m.generationSince.IsZero() {
		m.generation, m.generationSince = s.generation, now
	}
	owners, answers, there := map[string]remembered{}, map[string]bool{}, map[string]bool{}
	for _, p := range s.processes {
		for _, r := range p.ids {
			owners[r.id] = remembered{instance: p.instance, domain: s.domain(p), zone: p.zone, dc: p.dc, fails: p.fails.words()}
			there[r.id] = true
			answers[r.id] = answers[r.id] || r.answers && p.failing() == ""
		}
	}
	var away []remembered
	note := func(role, id string) {
		r, known := owners[id]
		if !known {
			if r, known = m.owners[id]; known {
				owners[id] = r
			}
		}
		if r.role, r.id, r.there = role, id, there[id] && r.instance != ""; !answers[id] {
			away = append(away, r)
		}
	}
	for _, id := range s.list.ids {
		note("storage", id)
	}
	for _, set := range s.logs {
		for _, id := range set.dead {
			answers[id] = false
			note("log", id)
		}
	}
	if !s.list.read { // until it can be read again
		for id, r := range m.owners {
			if _, known := owners[id]; !known && len(owners) < maxServers {
				owners[id] = r
			}
		}
	}
	m.owners = owners
	sorted.By(away, func(a, b remembered) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.role, b.role), cmp.Compare(a.id, b.id))
	})
	return slices.Compact(away)
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

package door

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// RefusedLately is how long a refusal is reported after the last of its kind.
	RefusedLately = time.Hour
	// MaxRefusals is how many kinds are remembered, and MaxOrigin how many bytes of
	// a sender.
	MaxRefusals = 16
	MaxOrigin   = 64
)

// Refusal is what was refused of one kind, without a pause of RefusedLately.
type Refusal struct {
	What        string
	Count       uint64
	First, Last time.Time
	// From is the sender of the last one, as far as known.
	From string
}

// Refusals remembers for people what a program has refused recently, in words;
// counters have the numbers. Nil remembers nothing.
type Refusals struct {
	mu    sync.Mutex
	kinds map[string]*Refusal
}

// Note remembers one. Kinds are few, and the program's own words.
func (r *Refusals) Note(what, from string) {
	if r == nil {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.kinds[what]
	if known == nil || now.Sub(known.Last) > RefusedLately {
		known = &Refusal{What: what, First: now}
		r.put(known)
	}
	known.Count++
	known.Last, known.From = now, from[:min(len(from), MaxOrigin)]
}

// put makes room by forgetting what has not happened for longest.
func (r *Refusals) put(known *Refusal) {
	if r.kinds == nil {
		r.kinds = map[string]*Refusal{}
	}
	if _, again := r.kinds[known.What]; !again && len(r.kinds) >= MaxRefusals {
		oldest := ""
		for what, other := range r.kinds {
			if oldest == "" || other.Last.Before(r.kinds[oldest].Last) {
				oldest = what
			}
		}
		delete(r.kinds, oldest)
	}
	r.kinds[known.What] = known
}

// Lately returns those of the last hour, newest first.
func (r *Refusals) Lately() []Refusal {
	if r == nil {
		return nil
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Refusal
	for _, known := range r.kinds {
		if now.Sub(known.Last) <= RefusedLately {
			out = append(out, *known)
		}
	}
	slices.SortFunc(out, func(a, b Refusal) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.What, b.What)) })
	return out
}

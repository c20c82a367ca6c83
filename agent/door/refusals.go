package door

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

const (
	// RefusedLately is for how long a refusal is told of after the last of its kind.
	RefusedLately = time.Hour
	// MaxRefusals are the kinds that are remembered at most, MaxOrigin the bytes of
	// what is known of a sender.
	MaxRefusals = 16
	MaxOrigin   = 64
)

// Refusal is what was refused of one kind, with no hour without it.
type Refusal struct {
	What        string
	Count       uint64
	First, Last time.Time
	// From is who sent the last, as far as that is known.
	From string
}

// Refusals remembers for people what a program has refused lately. It is for words,
// where the counters are for numbers. Nil remembers nothing.
type Refusals struct {
	mu    sync.Mutex
	kinds map[string]*Refusal
}

// Note remembers one. Kinds are few, and of the program's own words.
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

// Lately are those of the last hour, the newest first.
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

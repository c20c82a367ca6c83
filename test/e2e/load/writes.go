package load

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Writes is how acknowledgements followed each other.
type Writes struct {
	// Longest time without any, and since when.
	Longest time.Duration `json:"longest"`
	Since   time.Time     `json:"since"`
	// Sum is the sum of all interruptions, and Count how many there were.
	Sum           time.Duration `json:"sum"`
	Interruptions int           `json:"interruptions"`
	// Turns are the servers that acknowledged, one after the other.
	Turns []Turn `json:"turns,omitempty"`
}

// Turn is a time during which one server acknowledged.
type Turn struct {
	Through     string    `json:"through"`
	First, Last time.Time `json:"-"`
	Writes      int       `json:"writes"`
}

func (w Writes) String() string {
	turns := make([]string, len(w.Turns))
	for i, t := range w.Turns {
		turns[i] = t.Through
	}
	return fmt.Sprintf("writes were interrupted for %d ms at most, %d ms in all (%d times), acknowledged by %s",
		w.Longest.Milliseconds(), w.Sum.Milliseconds(), w.Interruptions, strings.Join(turns, ", then "))
}

// Changes is how often another server began to acknowledge.
func (w Writes) Changes() int { return max(0, len(w.Turns)-1) }

// ends tells when nobody wrote any more because the run was over.
func (s *stats) ends(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = at
}

func (s *stats) docs(collection string) []Doc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acked[collection])
}

// writes judges the acknowledgements so far; blip is the least interruption.
func (s *stats) writes(blip time.Duration) *Writes {
	docs := s.docs(Table)
	slices.SortFunc(docs, func(a, b Doc) int { return a.Acked.Compare(b.Acked) })
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	return follow(docs, ended, blip)
}

// follow goes through acknowledgements in their order.
func follow(docs []Doc, ended time.Time, blip time.Duration) *Writes {
	w := &Writes{}
	gap := func(from, to time.Time) {
		d := to.Sub(from)
		if d > w.Longest {
			w.Longest, w.Since = d, from
		}
		if d >= blip {
			w.Sum += d
			w.Interruptions++
		}
	}
	for i, d := range docs {
		if i > 0 {
			gap(docs[i-1].Acked, d.Acked)
		}
		if n := len(w.Turns); n == 0 || w.Turns[n-1].Through != d.Through {
			w.Turns = append(w.Turns, Turn{Through: d.Through, First: d.Acked})
		}
		last := &w.Turns[len(w.Turns)-1]
		last.Last = d.Acked
		last.Writes++
	}
	if len(docs) > 0 && ended.After(docs[len(docs)-1].Acked) {
		gap(docs[len(docs)-1].Acked, ended)
	}
	return w
}

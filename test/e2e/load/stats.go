package load

import (
	"fmt"
	"sync"
	"time"
)

// Stats are the stats of a run. A request counts once, however many tries it took.
type Stats struct {
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	// Retried requests needed more than one try and succeeded.
	Retried int           `json:"retried"`
	Slowest time.Duration `json:"slowest"`
	// Failures holds the first of them.
	Failures []Failure `json:"failures,omitempty"`
	// Acked documents by collection: acknowledged writes, which must never be lost.
	Acked map[string]int `json:"acked"`
	// Writes is how long nobody could write, where one server only can be written to.
	Writes *Writes `json:"writes,omitempty"`
}

// Failure is one failed request.
type Failure struct {
	At         time.Time     `json:"at"`
	Kind       string        `json:"kind"`
	Collection string        `json:"collection"`
	Error      string        `json:"error"`
	Took       time.Duration `json:"took"`
}

func (f Failure) String() string {
	return fmt.Sprintf("%s %s of %s failed after %s: %s", f.At.Format("15:04:05.000"), f.Kind, f.Collection, f.Took.Round(time.Millisecond), f.Error)
}

const maxFailures = 50

type stats struct {
	mu    sync.Mutex
	now   Stats
	acked map[string][]Doc
	ended time.Time
}

func (s *stats) done(took time.Duration, tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Requests++
	if tries > 1 {
		s.now.Retried++
	}
	s.now.Slowest = max(s.now.Slowest, took)
}

func (s *stats) failed(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now.Requests++
	s.now.Failed++
	s.now.Slowest = max(s.now.Slowest, f.Took)
	if len(s.now.Failures) < maxFailures {
		s.now.Failures = append(s.now.Failures, f)
	}
}

func (s *stats) wrote(collection string, doc Doc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked[collection] = append(s.acked[collection], doc)
}

func (s *stats) snapshot() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.now
	out.Failures = append([]Failure(nil), s.now.Failures...)
	out.Acked = map[string]int{}
	for collection, docs := range s.acked {
		out.Acked[collection] = len(docs)
	}
	return out
}

package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Limits of the stretches and points that are kept of a rollout. The oldest are dropped first.
const (
	maxStretches = 2000
	maxPoints    = 500
)

// Timeline is the course of one rollout, from the first pod that should go until none does. It
// stays until the next begins.
type Timeline struct {
	// From is when this coordinator first saw the rollout. It is zero if it has seen none.
	From time.Time `json:"from,omitzero"`
	// To is the time of its newest decision.
	To time.Time `json:"to,omitzero"`
	// Ended is true if nothing was left that should go.
	Ended     bool      `json:"ended"`
	Stretches []Stretch `json:"stretches"`
	Points    []Point   `json:"points"`
}

// Stretch is a time in which a pod was in one unusual state.
type Stretch struct {
	Pod   string    `json:"pod"`
	State string    `json:"state"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// open is true if the state lasts.
	open bool
}

// Point is what was done at a time, and when everything should be.
type Point struct {
	At time.Time `json:"at"`
	// Left is the number of pods that should go or are going.
	Left int `json:"left"`
	// Ends is when nothing is left, by the forecast at that time.
	Ends time.Time `json:"ends"`
}

// Timelines record how rollouts go. They are an Observer of a Board, bounded for each cluster, and
// live as long as this coordinator leads.
type Timelines struct {
	mu    sync.Mutex
	lines map[status.Key]*Timeline
}

// NewTimelines returns empty Timelines.
func NewTimelines() *Timelines { return &Timelines{lines: map[status.Key]*Timeline{}} }

// Decided implements status.Observer.
func (t *Timelines) Decided(_ *status.Decision, next status.Decision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := t.lines[next.Key]
	if line == nil {
		line = &Timeline{Ended: true}
		t.lines[next.Key] = line
	}
	line.note(next)
}

// Gone implements status.Observer.
func (t *Timelines) Gone(key status.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.lines, key)
}

// Of returns the newest rollout of a cluster.
func (t *Timelines) Of(key status.Key) Timeline {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := Timeline{Stretches: []Stretch{}, Points: []Point{}}
	if known := t.lines[key]; known != nil {
		line.From, line.To, line.Ended = known.From, known.To, known.Ended
		line.Stretches = append(line.Stretches, known.Stretches...)
		line.Points = append(line.Points, known.Points...)
	}
	return line
}

// note adds a decision.
func (l *Timeline) note(d status.Decision) {
	left := leftOf(d)
	switch {
	case left > 0 && l.Ended:
		*l = Timeline{From: d.DecidedAt}
	case l.Ended:
		return
	}
	if d.DecidedAt.Before(l.To) {
		return // a clock that was set back does not begin a rollout
	}
	l.To, l.Ended = d.DecidedAt, left == 0
	l.stretch(d)
	l.point(d, left)
}

// leftOf counts the pods that should go or are going.
func leftOf(d status.Decision) int {
	names := map[string]bool{}
	for _, name := range d.Plan.Order {
		names[name] = true
	}
	for _, c := range d.Claims {
		names[c.Pod] = true
	}
	return len(names)
}

// stretch lengthens, ends and begins stretches.
func (l *Timeline) stretch(d status.Decision) {
	now := unusual(d)
	for i := range l.Stretches {
		s := &l.Stretches[i]
		if !s.open {
			continue
		}
		s.To = d.DecidedAt
		if state, still := now[s.Pod]; still && state == s.State && !l.Ended {
			delete(now, s.Pod)
			continue
		}
		s.open = false
	}
	if !l.Ended {
		for _, pod := range slices.Sorted(maps.Keys(now)) {
			l.Stretches = append(l.Stretches, Stretch{Pod: pod, State: now[pod], From: d.DecidedAt, To: d.DecidedAt, open: true})
		}
	}
	if over := len(l.Stretches) - maxStretches; over > 0 {
		l.Stretches = slices.Clone(l.Stretches[over:])
	}
}

// unusual returns the states of pods that are going or unhealthy.
func unusual(d status.Decision) map[string]string {
	states := map[string]string{}
	for _, p := range d.Snapshot.Pods {
		if p.Phase != model.PodPhaseReady {
			states[p.Name] = string(p.Phase)
		}
	}
	for _, c := range d.Claims {
		states[c.Pod] = string(c.Phase)
	}
	return states
}

func (l *Timeline) point(d status.Decision, left int) {
	p := Point{At: d.DecidedAt, Left: left, Ends: d.DecidedAt.Add(time.Duration(d.Plan.Forecast.Seconds) * time.Second)}
	if n := len(l.Points); n > 1 && l.Points[n-1].Left == left && l.Points[n-2].Left == left {
		l.Points[n-1] = p // a level line only needs its two ends
		return
	}
	l.Points = append(l.Points, p)
	if len(l.Points) > maxPoints { // the first is the original forecast, and stays
		l.Points = slices.Delete(l.Points, 1, 2)
	}
}

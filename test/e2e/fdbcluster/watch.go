package fdbcluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// Going is a pod that was asked to end.
type Going struct {
	Pod, Zone string
	UID       types.UID
	At        time.Time
	// What the database had of it then.
	Seat, Holding bool
}

// Seen is what an observer saw that asks the database itself and Kubernetes, never Rollcall.
type Seen struct {
	Looks, Misses int
	// LeastSpare copies of the worst shard; -1: one was out of reach. Unreached counts the
	// looks at such a database, Closed those at one that took no writes.
	LeastSpare        int
	Unreached, Closed int
	// Lost says when data were first out of reach, and which pods' processes were unavailable.
	Lost string
	// Zones is how many had a process away together at most, with the pods of that moment.
	Zones    int
	Together string
	// Marked is how many pods were excluded together at most.
	Marked int
	// LostWrites are acknowledged and on no volume any more.
	LostWrites int
	Goings     []Going
}

// Watch looks four times a second until its context ends.
type Watch struct {
	on *Cluster

	mu    sync.Mutex
	seen  Seen
	last  wire.View
	zones map[string]string // by pod
	gone  map[types.UID]bool
	wg    sync.WaitGroup
	stop  context.CancelFunc
}

// StartWatch begins to look.
func (c *Cluster) StartWatch(ctx context.Context) *Watch {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{on: c, seen: Seen{LeastSpare: c.Copies}, zones: map[string]string{}, gone: map[types.UID]bool{}, stop: stop}
	w.wg.Go(func() {
		for tick := time.NewTicker(250 * time.Millisecond); ctx.Err() == nil; {
			w.look(ctx)
			select {
			case <-ctx.Done():
				tick.Stop()
			case <-tick.C:
			}
		}
	})
	return w
}

// Seen so far.
func (w *Watch) Seen() Seen {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.seen
	out.Goings = slices.Clone(w.seen.Goings)
	return out
}

// Stop ends it.
func (w *Watch) Stop() Seen {
	w.stop()
	w.wg.Wait()
	return w.Seen()
}

func (w *Watch) look(ctx context.Context) {
	view, err := w.on.Look(ctx)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Looks++
	if err != nil {
		w.seen.Misses++
	} else {
		w.judge(view)
	}
	for _, p := range w.on.Pods.All() {
		if zone := p.Labels[Zone]; zone != "" {
			w.zones[p.Name] = zone
		}
		if p.DeletionTimestamp != nil && !w.gone[p.UID] {
			w.gone[p.UID] = true
			w.seen.Goings = append(w.seen.Goings, Going{
				Pod: p.Name, Zone: p.Labels[Zone], UID: p.UID, At: time.Now(),
				Seat: slices.Contains(w.last.Seats, p.Name), Holding: slices.Contains(w.last.Holding, p.Name),
			})
		}
	}
}

func (w *Watch) judge(v wire.View) {
	w.last = v
	s := &w.seen
	s.LeastSpare = min(s.LeastSpare, v.SpareCopies)
	s.LostWrites = max(s.LostWrites, v.Lost)
	s.Marked = max(s.Marked, len(Marked(v)))
	zones, pods := map[string]bool{}, []string{}
	for pod, zone := range w.zones {
		if !slices.Contains(v.Up, pod) {
			zones[zone], pods = true, append(pods, pod+" in "+zone)
		}
	}
	slices.Sort(pods)
	away := time.Now().Format("15:04:05 ") + strings.Join(pods, ", ")
	if len(zones) > s.Zones {
		s.Zones, s.Together = len(zones), away
	}
	if !v.DataReached {
		if s.Unreached++; s.Lost == "" {
			s.Lost = away
		}
	}
	if !v.Available {
		s.Closed++
	}
}

// Marked are the pods that are excluded; beside each exclusion may stand a note of whose it is.
func Marked(v wire.View) []string {
	var pods []string
	for _, target := range v.Excluded {
		if pod, ok := strings.CutPrefix(target, "locality_instance_id:"); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Runs are the zones in the order in which their pods went, each once for as long as no
// pod of another went between.
func (s Seen) Runs() []string {
	var runs []string
	for _, g := range s.Goings {
		if len(runs) == 0 || runs[len(runs)-1] != g.Zone {
			runs = append(runs, g.Zone)
		}
	}
	return runs
}

// Times is how often each pod went.
func (s Seen) Times() map[string]int {
	times := map[string]int{}
	for _, g := range s.Goings {
		times[g.Pod]++
	}
	return times
}

func (s Seen) String() string {
	again := s.Times()
	maps.DeleteFunc(again, func(_ string, n int) bool { return n == 1 })
	went := make([]string, len(s.Goings))
	for i, g := range s.Goings {
		went[i] = g.At.Format("15:04:05 ") + g.Pod
	}
	return fmt.Sprintf("%d pods went (%s), zones in turns %v, again %v; pods of %d zones unavailable together (%s); at least %d spare copies, %d of %d looks found data out of reach (%s), %d no writes; at most %d pods excluded; %d acknowledged writes lost",
		len(s.Goings), strings.Join(went, ", "), s.Runs(), again, s.Zones, s.Together, s.LeastSpare, s.Unreached, s.Looks, s.Lost, s.Closed, s.Marked, s.LostWrites)
}

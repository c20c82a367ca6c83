// Package witness watches a database while something is rolled through it. It
// asks the database itself and the Kubernetes pods, never Rollcall, so that it
// can contradict what Rollcall says of itself.
package witness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pod as the witness needs it.
type Pod struct {
	Name, UID, Host string // Host is the pod's name in the names of nodes
	BaseURL         string
	Ready           bool // Ready and not being deleted
	Deleting        bool
	Agent           bool // it has one
}

// Options are the options of a witness.
type Options struct {
	// Pods returns the pods that exist now, in any state.
	Pods func() []Pod
	// Desired number of pods.
	Desired int
	// Every is the time between two looks, default 300 ms.
	Every time.Duration
	// Read asks one node of the database; default ReadSolr.
	Read func(ctx context.Context, baseURL string) (State, error)
}

// Report is what was seen.
type Report struct {
	Looks  int `json:"looks"`
	Misses int `json:"misses"` // looks at which no node answered
	// MaxPodsAway is the largest number of pods that were missing or not Ready at
	// once, save those that the test itself hurt.
	MaxPodsAway int `json:"maxPodsAway"`
	// MaxAway is, for each shard, the largest number of its replicas that were not active on a live node at once.
	MaxAway map[string]int `json:"maxAway"`
	// Together says when and which, for each shard of which more than one was unavailable at once.
	Together map[string][]string `json:"together,omitempty"`
	// Leaderless counts, for each shard with several replicas, the looks at which
	// it had no leader although it had one before; nobody can write to it then.
	Leaderless map[string]int `json:"leaderless,omitempty"`
	// Alone is the same for shards with one replica, which nothing can spare that.
	Alone map[string]int `json:"alone,omitempty"`
	// Restarts in the order in which pods were seen with a new UID or gone.
	Restarts []Restart `json:"restarts"`
}

// Restart is the restart of one pod.
type Restart struct {
	Pod string    `json:"pod"`
	At  time.Time `json:"at"`
	// Elected means that the pod was seen elected since the restart before. One that hands over
	// gives that away before it goes.
	Elected bool `json:"elected"`
	// Only are the shards of which the pod had the only active replica when they
	// were last seen, though they have several.
	Only []string `json:"only,omitempty"`
	// Led are the shards with another active replica that the pod led when they were
	// last seen. One that hands over has given them away by then; a look may be older.
	Led []string `json:"led,omitempty"`
	// Bare means that the pod that went had no agent because none was injected.
	Bare bool `json:"bare,omitempty"`
}

// WorstShard returns the largest entry of MaxAway.
func (r Report) WorstShard() (shard string, away int) {
	for _, s := range slices.Sorted(maps.Keys(r.MaxAway)) {
		if r.MaxAway[s] > away {
			shard, away = s, r.MaxAway[s]
		}
	}
	return shard, away
}

// RestartCounts returns how often each pod restarted.
func (r Report) RestartCounts() map[string]int {
	counts := map[string]int{}
	for _, x := range r.Restarts {
		counts[x.Pod]++
	}
	return counts
}

// Again are restarts of pods that had been restarted before, though they had their
// agents. A pod that came without one goes again to be adopted.
func (r Report) Again() []Restart {
	before := map[string]bool{}
	var again []Restart
	for _, x := range r.Restarts {
		if before[x.Pod] && !x.Bare {
			again = append(again, x)
		}
		before[x.Pod] = true
	}
	return again
}

// ElectedLast reports whether the last restart, and only that, took the elected node.
func (r Report) ElectedLast() error {
	if len(r.Restarts) == 0 {
		return errors.New("nothing was restarted")
	}
	for i, x := range r.Restarts {
		if x.Elected != (i == len(r.Restarts)-1) {
			return fmt.Errorf("restart %d of %d (%s): elected = %t", i+1, len(r.Restarts), x.Pod, x.Elected)
		}
	}
	return nil
}

// InOrder reports whether pods went by kinds, the lowest first.
func (r Report) InOrder(kind func(pod string) int) error {
	for i := 1; i < len(r.Restarts); i++ {
		if before, x := r.Restarts[i-1].Pod, r.Restarts[i].Pod; kind(before) > kind(x) {
			return fmt.Errorf("restart %d of %d: %s went after %s", i+1, len(r.Restarts), x, before)
		}
	}
	return nil
}

// maxNotes bounds Together for each shard.
const maxNotes = 20

// Witness looks until its context ends.
type Witness struct {
	opts Options

	mu      sync.Mutex
	report  Report
	uids    map[string]string // pod -> UID last seen
	hurt    map[string]bool   // UIDs of pods that the test itself hurts
	bare    map[string]bool   // UIDs of pods without an agent
	elected map[string]bool   // hosts seen elected since the last restart
	led     map[string]bool   // shards that had a leader once
	last    State
}

// New makes a witness; the pods that exist now are the ones it compares with.
func New(opts Options) *Witness {
	if opts.Every == 0 {
		opts.Every = 300 * time.Millisecond
	}
	if opts.Read == nil {
		opts.Read = ReadSolr
	}
	w := &Witness{opts: opts, uids: map[string]string{}, hurt: map[string]bool{}, bare: map[string]bool{}, elected: map[string]bool{}, led: map[string]bool{}}
	w.report = Report{MaxAway: map[string]int{}, Together: map[string][]string{}, Leaderless: map[string]int{}, Alone: map[string]int{}}
	for _, p := range opts.Pods() {
		w.uids[p.Name] = p.UID
		w.bare[p.UID] = !p.Agent
	}
	return w
}

// Hurt tells that the test itself harms the pod with this UID. Kubernetes takes
// a pod of which a container was killed out of Ready; from now on that counts
// as away only when somebody deletes the pod.
func (w *Witness) Hurt(uid string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hurt[uid] = true
}

// Want tells that the database is scaled: from now on this many pods are desired.
func (w *Witness) Want(pods int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opts.Desired = pods
}

// Run looks until ctx ends.
func (w *Witness) Run(ctx context.Context) {
	tick := time.NewTicker(w.opts.Every)
	defer tick.Stop()
	for {
		w.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Report so far.
func (w *Witness) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.report
	out.MaxAway = maps.Clone(w.report.MaxAway)
	out.Together = maps.Clone(w.report.Together)
	out.Leaderless = maps.Clone(w.report.Leaderless)
	out.Alone = maps.Clone(w.report.Alone)
	out.Restarts = slices.Clone(w.report.Restarts)
	return out
}

// State returns the state of the last look at which a node answered.
func (w *Witness) State() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func (w *Witness) look(ctx context.Context) {
	pods := w.opts.Pods()
	w.mu.Lock()
	w.pods(pods)
	w.mu.Unlock()

	state, ok := w.ask(ctx, pods)
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Looks++
	if !ok {
		w.report.Misses++
		return
	}
	w.last = state
	if state.Elected != "" {
		w.elected[state.Elected] = true
	}
	for shard, s := range state.Shards {
		w.report.MaxAway[shard] = max(w.report.MaxAway[shard], s.Away)
		if s.Away > 1 && len(w.report.Together[shard]) < maxNotes {
			w.report.Together[shard] = append(w.report.Together[shard], time.Now().Format("15:04:05.0 ")+strings.Join(s.Missing, ", "))
		}
		switch {
		case s.Leader:
			w.led[shard] = true
		case w.led[shard] && s.Replicas > 1:
			w.report.Leaderless[shard]++
		case w.led[shard]:
			w.report.Alone[shard]++
		}
	}
}

// pods notes restarts and how many pods are unavailable together.
func (w *Witness) pods(pods []Pod) {
	ready, seen := 0, map[string]bool{}
	for _, p := range pods {
		seen[p.Name] = true
		w.bare[p.UID] = !p.Agent
		if p.Ready || w.hurt[p.UID] && !p.Deleting {
			ready++
		}
		// A deletion counts when it is asked for: a node that stops gives its duties
		// away long before its pod is gone.
		if p.Deleting {
			if w.uids[p.Name] == p.UID {
				w.restarted(p.Name, p.Host)
			}
			w.uids[p.Name] = ""
			continue
		}
		if before := w.uids[p.Name]; before != "" && before != p.UID {
			w.restarted(p.Name, p.Host)
		}
		w.uids[p.Name] = p.UID
	}
	for name, uid := range w.uids {
		if !seen[name] && uid != "" {
			w.restarted(name, name)
			w.uids[name] = "" // its return is not a second restart
		}
	}
	w.report.MaxPodsAway = max(w.report.MaxPodsAway, w.opts.Desired-ready)
}

func (w *Witness) restarted(name, host string) {
	x := Restart{Pod: name, At: time.Now(), Elected: w.elected[host] || w.elected[name], Bare: w.bare[w.uids[name]]}
	for _, shard := range slices.Sorted(maps.Keys(w.last.Shards)) {
		s := w.last.Shards[shard]
		if s.Replicas > 1 && len(s.On) == 1 && (s.On[0] == host || s.On[0] == name) {
			x.Only = append(x.Only, shard)
		}
		if len(s.On) > 1 && (s.LedBy == host || s.LedBy == name) {
			x.Led = append(x.Led, shard)
		}
	}
	w.report.Restarts = append(w.report.Restarts, x)
	w.elected = map[string]bool{w.last.Elected: true}
}

// ask reads the first Ready node that answers.
func (w *Witness) ask(ctx context.Context, pods []Pod) (State, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, p := range pods {
		if !p.Ready {
			continue
		}
		if s, err := w.opts.Read(ctx, p.BaseURL); err == nil {
			return s, true
		}
	}
	return State{}, false
}

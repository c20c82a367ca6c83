// Package run makes one simulated rollout of a seed: a database on a Kubernetes
// that fail in the ways the seed draws, the real coordinator and agents, and the
// oracle that judges them. DESIGN.md of the simulation says more.
package run

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// Options of a run.
type Options struct {
	// Quiet leaves all faults out; Only, when not empty, all but one class.
	Quiet bool
	Only  Class
	// Old makes worlds as they were drawn first, so that their seeds can be run again.
	// Wide, Primary and Replace do that, too.
	Old bool
	// Wide makes worlds of three to five pods, as many of each.
	Wide bool
	// Primary, when not 0, makes databases of so many pods with one primary.
	Primary int
	// Fixed makes databases whose primary is in a StatefulSet of its own, and keeps its role.
	Fixed bool
	// Galera makes databases whose members all take writes.
	Galera bool
	// Replace makes databases whose pods are replaced, on volumes of their own.
	Replace bool
	// Bug is planted.
	Bug *Bug
	// Record adds what is written to the result.
	Record bool
	// Enough ends a run with a break of which it is true.
	Enough func(oracle.Break) bool
}

// old reports whether the worlds are those that were drawn first.
func (o Options) old() bool { return o.Old || o.Wide || o.Primary > 0 || o.Replace }

// classes of faults that may be drawn.
func (o Options) classes() []Class {
	if o.old() {
		return oldClasses
	}
	if o.Galera {
		return galeraClasses()
	}
	return Classes
}

// Drawn are the faults that may be drawn, and the shapes of worlds, by their names.
func Drawn(o Options) []string {
	var out []string
	for _, class := range o.classes() {
		if o.Only == "" || o.Only == class {
			out = append(out, string(class))
		}
	}
	if o.old() || o.Galera {
		return out
	}
	for _, shape := range Shapes {
		out = append(out, string(shape))
	}
	return out
}

// Result of a run.
type Result struct {
	Scenario Scenario
	Breaks   []oracle.Break
	// Hits are the classes of faults that took effect.
	Hits map[Class]bool
	Log  []byte
	// Course is a digest of when all events were, also those that are not in the log.
	Course uint64
	// Took is virtual time, Removals how many pods went by Rollcall's hand.
	Took     time.Duration
	Removals int
	// Discards is how many volumes were deleted.
	Discards int
	// Handovers is how often a leader handed over as it was asked to.
	Handovers int
	// Stuck is the pod for which the rollout waits in the end, as it should.
	Stuck string
	// Tally is kept of runs that are Watched.
	Tally Tally
	// Writes is what was written, in order, if Options.Record is set.
	Writes []Write
}

// Same reports whether two runs went alike in all that happened.
func (r Result) Same(o Result) bool { return r.Course == o.Course && bytes.Equal(r.Log, o.Log) }

// Sum of the log.
func (r Result) Sum() string { return fmt.Sprintf("%x", sha256.Sum256(r.Log))[:16] }

const (
	// begin is when the first template is changed, settle for how long all must be
	// well at the end.
	begin  = 3 * time.Second
	settle = 2 * time.Second
	// patience bounds a run after the last fault and edit.
	patience = 15 * time.Minute
	// resigned is how long one is waited for where only a person can help, since all pods
	// have agents: those without are restarted after a while.
	resigned = 3 * time.Minute
	// farewell is longer than anybody sleeps or waits for an answer whose world has ended.
	farewell = 10 * time.Minute
)

// shared is the directory that the agents of all runs read.
var shared = sync.OnceValues(func() (string, error) {
	root := os.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		root = "/dev/shm"
	}
	dir, err := os.MkdirTemp(root, "rollcall-sim-")
	if err != nil {
		return "", err
	}
	return dir, configure(dir)
})

// Clean removes what runs have left on the disk.
func Clean() {
	if dir, err := shared(); err == nil {
		_ = os.RemoveAll(dir)
	}
}

// Seed makes the run of a seed.
func Seed(seed uint64, o Options) (Result, error) {
	return play(NewScenario(seed, o), o, nil)
}

// Play makes the run of a scenario.
func Play(s Scenario, bug *Bug) (Result, error) { return play(s, Options{Bug: bug}, nil) }

func play(s Scenario, with Options, o *Observer) (Result, error) {
	dir, err := shared()
	if err != nil {
		return Result{}, err
	}
	state := filepath.Join(dir, fmt.Sprint("state-", s.Seed))
	defer os.RemoveAll(state)
	result := Result{Scenario: s}
	// The bubble asks for a test; an empty one is enough outside of tests.
	synctest.Test(new(testing.T), func(*testing.T) {
		w := newWorld(s, dir, state)
		w.plant(with.Bug)
		w.oracle.Enough = with.Enough
		w.observe(o)
		var wrote *writes
		if with.Record {
			wrote = w.record()
		}
		result.Took = w.play()
		if wrote != nil {
			result.Writes = wrote.list
		}
		result.Breaks, result.Log, result.Removals = w.oracle.Breaks, w.loop.Text(), w.oracle.Removals
		result.Course = w.loop.Course()
		result.Handovers, result.Discards = w.db.Handovers(), w.oracle.Discards
		result.Hits, result.Tally, result.Stuck = w.hits, w.tally, w.oracle.Stuck
	})
	return result, nil
}

// play is the whole story, and answers how long it took.
func (w *world) play() time.Duration {
	w.loop.Log("world", "%s", w.scenario)
	w.loop.In(begin/4, func() { w.lead(0) })
	w.loop.In(begin, func() { w.edit() })
	w.arm()
	if s := w.scenario; s.Veto > 0 {
		w.loop.In(s.Veto, func() { w.db.SetVeto(w.vetoing(), "") })
	}
	if at := w.scenario.Approved; at > 0 {
		w.loop.In(at, func() {
			w.oracle.Announce()
			w.approve(model.ApprovedOutage)
		})
	}
	last := max(begin, w.scenario.Veto, w.scenario.Approved)
	for _, f := range w.scenario.Faults {
		last = max(last, f.At+f.For)
	}
	w.loop.In(last, w.oneLeader)
	w.watch(last)
	w.loop.Run()
	took := w.loop.Now()
	for _, p := range w.processes {
		p.kill()
	}
	w.kubelets.End()
	time.Sleep(farewell) // when a bubble ends its time stands still, and nobody may be asleep
	return took
}

// watch ends the run when all has been well for a while, or when time is up.
func (w *world) watch(last time.Duration) {
	const every = 250 * time.Millisecond
	var look func()
	well, unjoined := time.Duration(0), last
	look = func() {
		at := w.loop.Now()
		if !w.adopted() {
			unjoined = at
		}
		switch {
		case at < last || !w.done() || !w.current() && !w.contented():
			well = 0
		case well == 0:
			well = at
		case at-well >= settle:
			w.oracle.End(true, "")
			w.loop.Log("world", "all is well")
			w.loop.Stop()
			return
		}
		if at > last+w.scenario.patience() || at > unjoined+resigned && w.oracle.MustWait() {
			w.oracle.End(false, w.holds())
			w.loop.Stop()
			return
		}
		w.loop.In(every, look)
	}
	w.loop.In(last, look)
}

// say logs what a process decides, when it is something new.
func (p *process) say(d status.Decision) {
	if d.Phase != model.ClusterDone {
		p.finished = 0
	} else if p.finished == 0 {
		p.finished = p.w.loop.Now()
	}
	text := ""
	for _, s := range d.Plan.Steps {
		text += fmt.Sprintf(" go %s (%s)", s.Pod, s.Reason)
	}
	seen := map[string]bool{}
	for _, h := range d.Plan.Holds {
		if key := string(h.Rule) + h.Pod; !seen[key] {
			seen[key] = true
			text += fmt.Sprintf(" hold %s %s", h.Pod, h.Rule)
		}
	}
	for _, c := range d.Claims {
		text += fmt.Sprintf(" claim %s %s", c.Pod, c.Phase)
	}
	if text != p.said {
		p.said = text
		p.w.unheard(func() { p.w.loop.Log(p.name, "%s:%s", d.Phase, text) })
	}
}

// holds says why nothing goes on.
func (w *world) holds() string {
	if w.leader == nil {
		return "nobody leads"
	}
	text := w.leader.said
	for _, pod := range w.pods() {
		text += fmt.Sprintf("; %s", pod.Name)
		if !w.db.Whole(pod.Name) {
			text += " is not whole"
		}
	}
	return fmt.Sprintf("%s; marks %v", text, w.db.Marks())
}

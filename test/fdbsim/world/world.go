// Package world is a model that goes with the clock and is asked for by many: the one place in which a simulated cluster
// lives, outside of all its processes.
package world

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/test/fdbsim/model"
	"github.com/rollcall-dev/rollcall/test/fdbsim/wire"
)

// World holds a cluster. Its methods may be called by many at once.
type World struct {
	opts Options

	mu      sync.Mutex
	cluster *model.Cluster
	other   *model.Cluster // what a wrong database shows
	asOf    time.Time      // up to which real time has been taken in
	scale   float64
	faults  map[string]wire.Fault
	calls   []string
	beats   map[string]beat
}

// Options are the options of a world.
type Options struct {
	// Scale is how many virtual seconds pass in a real one. Zero means time stands still.
	Scale float64
	// Silence is after what real time a process counts as gone that does not beat. Zero means
	// never.
	Silence time.Duration
	// Expect so many processes before the database is made, if it is not there.
	Expect int
	// Coordinators to be made then.
	Coordinators int
	// Clock tells the time; time.Now by default.
	Clock func() time.Time
}

type beat struct {
	incarnation string
	last        time.Time
	left        bool // it said goodbye; what it said before may come later
}

// New puts a cluster into the world, which owns it from now on.
func New(cluster *model.Cluster, opts Options) *World {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	w := &World{opts: opts, cluster: cluster, asOf: opts.Clock(), scale: opts.Scale, faults: map[string]wire.Fault{}, beats: map[string]beat{}}
	// Processes that ran when the world was written down get their time to say that they still do.
	for _, p := range cluster.Processes {
		if p.Up {
			w.beats[p.Instance] = beat{last: w.asOf}
		}
	}
	return w
}

// Do looks at or changes the cluster of now.
func (w *World) Do(f func(*model.Cluster)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	f(w.cluster)
	w.cluster.Advance(0)
}

// catchUp brings the model to the time of now.
func (w *World) catchUp() {
	now := w.opts.Clock()
	if real := now.Sub(w.asOf); real > 0 {
		virtual := time.Duration(float64(real) * w.scale)
		w.cluster.Advance(virtual)
		w.cluster.Skipped += max(0, virtual-real)
		w.asOf = now
	} else {
		w.cluster.Advance(0)
	}
	w.cluster.Origin = float64(now.UnixMilli())/1000 - w.cluster.Now.Seconds()
	if w.opts.Silence > 0 {
		for _, p := range w.cluster.Processes {
			if p.Up && now.Sub(w.beats[p.Instance].last) > w.opts.Silence {
				w.cluster.Kill(p.Instance)
				w.cluster.Advance(0)
			}
		}
	}
	if !w.cluster.Created() && w.opts.Expect > 0 && w.up() >= w.opts.Expect {
		w.cluster.Create(w.opts.Coordinators)
		w.cluster.Advance(0)
	}
}

func (w *World) up() int {
	n := 0
	for _, p := range w.cluster.Processes {
		if p.Up {
			n++
		}
	}
	return n
}

// Member takes in what a process says of itself.
func (w *World) Member(_ context.Context, m wire.Member) (wire.Standing, error) {
	version, err := model.ParseVersion(m.Version)
	if err != nil {
		return wire.Standing{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	known := w.beats[m.Instance]
	switch {
	case m.Op == wire.Leave:
		if known.incarnation == m.Incarnation {
			w.cluster.Kill(m.Instance)
			w.cluster.Advance(0)
			known.left = true
			w.beats[m.Instance] = known
		}
		return wire.Standing{}, nil
	case known.left && known.incarnation == m.Incarnation:
		return wire.Standing{}, nil
	case m.Op == wire.Join || known.incarnation == "":
		// A beat that the world does not know is from before the world itself started again:
		// nothing has happened to the process, when it is as it was.
		if p := w.cluster.Process(m.Instance); m.Op == wire.Join || p == nil || !p.Up || p.Volume != m.Volume || p.Address != m.Address {
			w.cluster.Kill(m.Instance)
			w.cluster.Join(model.Process{
				Instance: m.Instance, Address: m.Address, Host: m.Host, Zone: m.Zone, Machine: m.Machine, DC: m.DC, Hall: m.Hall,
				Class: model.Class(m.Class), Version: version, Volume: m.Volume, Command: m.Command,
			})
		}
	case known.incarnation != m.Incarnation:
		return wire.Standing{}, nil // of a run that was followed by another
	}
	if p := w.cluster.Process(m.Instance); p != nil && !p.Up {
		w.cluster.Start(m.Instance)
	}
	w.beats[m.Instance] = beat{incarnation: m.Incarnation, last: w.opts.Clock()}
	w.cluster.Advance(0)
	standing := wire.Standing{Known: true}
	if w.cluster.Created() {
		standing.Connection = w.cluster.Connection()
	}
	return standing, nil
}

// Control carries out a command of the controlling test, and returns the state.
func (w *World) Control(_ context.Context, c wire.Command) (wire.View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	if c.Op == wire.Order {
		w.faults[c.Instance] = c.Fault
		if c.Scale != nil {
			w.scale = *c.Scale
		}
		if c.Message {
			w.cluster.Say(c.Messages...)
		}
		skipped := time.Duration(c.Advance * float64(time.Second))
		w.cluster.Advance(skipped)
		w.cluster.Skipped += skipped
	}
	t := w.cluster.Truth()
	view := wire.View{
		Created: w.cluster.Created(), Available: w.cluster.Created() && w.cluster.Accepting(), DataReached: t.DataReached, DataKept: t.DataKept,
		SpareCopies: t.SpareCopies, Lost: w.cluster.Lost, Epoch: w.cluster.Recovery.Epoch, Processes: len(w.cluster.Processes),
		Maintenance: w.cluster.Maintenance.Zone, Excluded: slices.Clone(w.cluster.Excluded), Calls: len(w.calls),
	}
	for _, p := range w.cluster.Processes {
		if p.Up {
			view.Up = append(view.Up, p.Instance)
		}
	}
	for _, s := range w.cluster.Seats {
		if p := w.cluster.At(s.Address); p != nil {
			view.Seats = append(view.Seats, p.Instance)
		}
	}
	view.Holding = w.cluster.Holding()
	if view.Created {
		view.Connection = w.cluster.Connection()
	}
	return view, nil
}

// Fault is what calls meet from now on: those over one process, or all for "".
func (w *World) Fault(instance string, f wire.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[instance] = f
}

// Scale changes how fast time goes.
func (w *World) Scale(scale float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.catchUp()
	w.scale = scale
}

// Calls are the commands of all sessions, oldest first.
func (w *World) Calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

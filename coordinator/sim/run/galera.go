package run

import (
	"math/rand/v2"
	"slices"
	"time"
)

// galeraStarts is how many seconds a start may take, with a full state transfer in it.
const galeraStarts = 300

// galeraClasses are the faults of worlds of Galera: members have no copies that break alone, and nobody
// scales them.
func galeraClasses() []Class {
	return slices.DeleteFunc(slices.Clone(Classes), func(c Class) bool { return c == Scale || c == Ailing })
}

// galera makes the world one of a database whose members all take writes: two with an arbitrator, or up
// to five. In some nearly every member that restarts needs all of the data.
func (s *Scenario) galera(r *rand.Rand) {
	n := []int{2, 3, 3, 3, 3, 4, 5, 5}[r.IntN(8)]
	s.Kind, s.Galera, s.Replicas, s.Arbitrator = Members, true, n, n == 2 || r.IntN(4) == 0
	s.Pools, s.Voters, s.Shared, s.Replace, s.Ephemeral, s.MaxZones, s.Approved = []Pool{{Replicas: n}}, nil, false, false, false, 0, 0
	s.Shards, s.Acks = [][]int{r.Perm(n)}, 0
	if n < 5 {
		s.MaxShard = 1
	}
	s.MaxPods = min(s.MaxPods, 2)
	s.Keeps = 30*time.Second + time.Duration(r.Int64N(int64(90*time.Second)))
	if r.IntN(4) == 0 {
		s.Keeps = 2*time.Second + time.Duration(r.Int64N(int64(4*time.Second)))
	}
}

// patience bounds a run after the last fault and edit. Members of Galera remember for a quarter of an
// hour that another had an agent, and count on nothing that nobody tells of it until then.
func (s Scenario) patience() time.Duration {
	if s.Galera {
		return patience + 25*time.Minute
	}
	return patience
}

// outageLasts is how long no member is in a primary component before a person begins one.
const outageLasts = time.Minute

// person begins a primary component where there is none for long: Rollcall does not.
func (w *world) person(since time.Duration) {
	if w.db.Component().Primary {
		since = w.loop.Now()
	}
	if w.loop.Now()-since >= outageLasts {
		if pod := w.db.Bootstrap(); pod != "" {
			w.loop.Log("user", "bootstraps %s", pod)
		}
	}
	w.loop.In(w.loop.Between(9*time.Second, 11*time.Second), func() { w.person(since) })
}

// tells reports whether the agent in a pod is heard by somebody.
func (w *world) tells(from, to string) bool {
	r := w.run(from)
	return r != nil && r.Agent != nil && !r.Agent.Stuck && r.Agent.Engine.Answering() && !w.closed(from, to)
}

// galeraBlows are those of worlds of Galera.
var galeraBlows = append(slices.Clone(blows),
	blow{"another member is killed", []moment{claimed, opened, gone}, killsAnother},
	blow{"another member is cut off", []moment{claimed, stored, opened}, cutsAnother},
	blow{"another member loses its data", []moment{claimed}, emptiesAnother},
)

// other is a pod of a member that is not the one.
func (w *world) other(f Fault, pod string) string {
	other := w.pick(f)
	for _, p := range w.pods() {
		if other == pod {
			other = p.Name
		}
	}
	return other
}

// killsAnother kills one within the time until the next pod goes.
func killsAnother(w *world, f Fault, pod string) func() {
	w.loop.In(w.loop.Between(0, 8*time.Second), func() {
		if r := w.run(w.other(f, pod)); r != nil {
			w.kubelets.KillDatabase(r)
		}
	})
	return nil
}

func cutsAnother(w *world, f Fault, pod string) func() {
	return w.loseSessions([]string{w.other(f, pod)}, f.Pick)
}

// emptiesAnother has a member need all of the data.
func emptiesAnother(w *world, f Fault, pod string) func() {
	other := w.other(f, pod)
	w.db.Lose(other)
	return killsAnother(w, f, pod)
}

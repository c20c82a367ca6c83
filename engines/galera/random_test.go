package galera

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/race"
)

// trueMember is a member as it is, whatever anybody knows.
type trueMember struct {
	runs, arbitrator, cut bool
	// looking means that it was cut off, and has not joined a component since.
	looking        bool
	phase          Phase
	weight, starts int
}

// trueWorld is a cluster whose members see a change of the membership at different moments.
type trueWorld struct {
	r       *rand.Rand
	members []trueMember
	// component are the members of the primary component, as it really is, by number; what each of
	// them has seen of it, with the number of that view.
	component []int
	number    int64
	seen      []State
	// lost is the weight of processes that have ended, which the component still counts.
	lost int
}

func newTrueWorld(r *rand.Rand) *trueWorld {
	w := &trueWorld{r: r, number: 1}
	for i := range 2 + r.IntN(4) {
		w.members = append(w.members, trueMember{runs: true, phase: Synced, weight: 1 + r.IntN(2)*r.IntN(2)})
		w.component = append(w.component, i)
	}
	if r.IntN(3) == 0 {
		w.members = append(w.members, trueMember{runs: true, phase: Synced, weight: 1, arbitrator: true})
		w.component = append(w.component, len(w.members)-1)
	}
	w.seen = make([]State, len(w.members))
	for i := range w.members {
		w.see(i)
	}
	return w
}

// see has a member see the component as it is.
func (w *trueWorld) see(i int) {
	s := State{View: w.number, Size: len(w.component)}
	for _, j := range w.component {
		m := w.members[j]
		address := fmt.Sprint("10.0.0.", j)
		if m.arbitrator {
			address = ""
		}
		s.Seen = append(s.Seen, Seen{UUID: fmt.Sprint("uuid-", j, "-", m.starts), Name: fmt.Sprint("db-", j), Address: address})
		s.Total += m.weight
		s.Primary = s.Primary || j == i
	}
	w.seen[i] = s
}

// step lets something happen.
func (w *trueWorld) step() {
	i := w.r.IntN(len(w.members))
	m := &w.members[i]
	if m.arbitrator { // nobody tells what has become of it before the component does
		return
	}
	switch w.r.IntN(6) {
	case 0: // a crash, which the others do not see yet
		m.runs = false
	case 1:
		m.cut, m.looking = !m.cut, true
	case 2: // a start
		if !m.runs {
			m.runs, m.cut, m.looking, m.phase = true, false, false, Joining
			m.starts++
			w.seen[i], w.component = State{}, except(w.component, i) // another process
			w.lost += m.weight
		}
	case 3: // a state transfer goes on
		m.phase = []Phase{Donor, Joined, Synced}[w.r.IntN(3)]
	case 4: // those that live and are not cut off form the component, if they are more than half of it
		have, all := 0, w.lost
		var next []int
		for _, j := range w.component {
			all += w.members[j].weight
		}
		for j, x := range w.members {
			if x.runs && !x.cut {
				next = append(next, j)
				if slices.Contains(w.component, j) {
					have += x.weight
				}
			}
		}
		if 2*have > all {
			w.component, w.number, w.lost = next, w.number+1, 0
			for _, j := range next {
				w.members[j].looking = false
			}
		}
	default: // one sees what is so
		if m.runs && !m.cut && !m.looking {
			w.see(i)
		}
	}
}

func except(list []int, gone int) (out []int) {
	for _, n := range list {
		if n != gone {
			out = append(out, n)
		}
	}
	return out
}

// state is what a member says.
func (w *trueWorld) state(i int, now time.Time) State {
	m := w.members[i]
	name := fmt.Sprint("db-", i)
	if !m.runs {
		return State{Node: name, Down: true, Problem: "no server listens", Looked: now, Committed: -1, Cached: -1}
	}
	s := w.seen[i]
	s.Node, s.Serving, s.Looked, s.UUID, s.Cluster = name, true, now, fmt.Sprint("uuid-", i, "-", m.starts), "cluster"
	s.Connected, s.Operational, s.Phase, s.Words, s.Weight = true, !m.cut && !m.looking, m.phase, fmt.Sprint(m.phase), m.weight
	s.Ready = s.Primary && m.phase >= Donor
	s.Committed, s.Cached = 1000, 1
	return s
}

// view is what the agent of a member knows when it asks all.
func (w *trueWorld) view(i int) View {
	now := time.Unix(1000, 0)
	v := View{Now: now, Self: Member{State: w.state(i, now), Known: true, Peer: engines.Peer{Alive: true}}, Before: map[string]Past{}}
	for j, m := range w.members {
		v.Before[fmt.Sprint("db-", j)] = Past{Weight: m.weight, Committed: 1000}
		if j == i || m.arbitrator {
			continue
		}
		name := fmt.Sprint("db-", j)
		other := Member{Peer: engines.Peer{Pod: name, Node: name, Alive: true}, State: w.state(j, now), Known: true}
		if w.r.IntN(8) == 0 {
			other = Member{Peer: other.Peer, Why: "its agent is unavailable"}
		}
		v.Others = append(v.Others, other)
	}
	return v
}

// TestNoDepartureTakesTheComponent lets members crash, be cut off, start, transfer and see changes
// late. A cut is what the member that is cut off has noticed: before that nobody knows. Whenever a drain says that a member may leave, the component survives that it is killed at
// that moment, and a synced member with data stays in it; what an agent reports has never more
// votes than there are.
func TestNoDepartureTakesTheComponent(t *testing.T) {
	race.Heavy(t)
	left, held := 0, 0
	for seed := range uint64(3000) {
		w := newTrueWorld(rand.New(rand.NewPCG(seed, 1)))
		for range 30 {
			w.step()
			i := w.r.IntN(len(w.members))
			if w.members[i].arbitrator || !w.members[i].runs {
				continue
			}
			v := w.view(i)
			d := departure{assessment: assess(v), node: v.Self.Name(), since: v.Now, longest: time.Minute}
			p := d.decide()
			o := Observe(v)
			if p.State != engines.ProgressDone || p.Detail == "it is in no component" {
				held++
				continue
			}
			left++
			have, all, copies := 0, w.lost, 0
			for _, j := range w.component {
				x := w.members[j]
				all += x.weight
				if j != i && x.runs && !x.cut {
					have += x.weight
					if !x.arbitrator && x.phase == Synced {
						copies++
					}
				}
			}
			if !slices.Contains(w.component, i) {
				continue // it leaves no component that is
			}
			require.Greater(t, 2*have, all, "seed %d: db-%d goes: %+v\n%+v", seed, i, w.members, o)
			require.Positive(t, copies, "seed %d", seed)
			require.NotEqual(t, Donor, w.members[i].phase, "seed %d", seed)
		}
	}
	require.Greater(t, left, 1000, "some may go")
	require.Greater(t, held, 1000)
}

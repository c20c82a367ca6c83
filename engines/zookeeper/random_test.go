package zookeeper

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/test/race"
)

// trueServer is a server as it is, whatever anybody knows. What servers do is as ZooKeeper's
// documents have it: a leader is one that a majority has accepted for an epoch; a server looks for a
// leader, follows it once it has all of its data, and looks again when it notices that it has lost it.
type trueServer struct {
	runs, cut bool
	mode      Mode // ModeUnknown while it looks for a leader
	epoch     int
	leader    int
	// receives means that it is connected to the leader and does not have all of its data yet.
	receives bool
	// connected are the servers that it takes for connected while it leads.
	connected map[int]bool
	// wide means that its configuration is the newer one, which has all servers.
	wide bool
}

// trueWorld is an ensemble whose servers notice late what has become of others. While it is enlarged,
// some have the newer configuration.
type trueWorld struct {
	r       *rand.Rand
	servers []*trueServer
	old     int // how many servers the older configuration has
	epoch   int
	// empty is what has happened: a server that lost its data and has not received it again.
	empty map[int]bool
}

func newTrueWorld(r *rand.Rand) *trueWorld {
	w := &trueWorld{r: r, empty: map[int]bool{}}
	w.old = 2 + r.IntN(4)
	all := w.old + r.IntN(2)*(1+r.IntN(2))
	for i := range all {
		w.servers = append(w.servers, &trueServer{runs: true, connected: map[int]bool{}, wide: i >= w.old || r.IntN(2) == 0})
	}
	w.elect()
	return w
}

func (w *trueWorld) voters(s *trueServer) int {
	if s.wide {
		return len(w.servers)
	}
	return w.old
}

// majority reports whether those are a majority by the configuration of each of the servers.
func (w *trueWorld) majority(of []*trueServer, are func(i int) bool) bool {
	for _, s := range of {
		n := 0
		for i := range w.voters(s) {
			if are(i) {
				n++
			}
		}
		if 2*n <= w.voters(s) {
			return false
		}
	}
	return true
}

// elect has those that look and reach each other accept a leader, if they are a majority.
func (w *trueWorld) elect() {
	looks := func(i int) bool {
		s := w.servers[i]
		return s.runs && !s.cut && s.mode == ModeUnknown && !s.receives
	}
	var they []*trueServer
	leader := -1
	for i, s := range w.servers {
		if looks(i) {
			they = append(they, s)
			if leader < 0 || w.empty[leader] || !w.empty[i] && w.r.IntN(3) == 0 { // the newest data win
				leader = i
			}
		}
	}
	if leader < 0 || !w.majority(they, looks) {
		return
	}
	w.epoch++
	for i, s := range w.servers {
		if looks(i) && i != leader {
			s.mode, s.epoch, s.leader = Following, w.epoch, leader
			w.servers[leader].connected[i] = true
			delete(w.empty, i) // it follows once it has the leader's data
		}
	}
	s := w.servers[leader]
	delete(w.empty, leader)
	s.mode, s.epoch, s.leader = Leading, w.epoch, leader
}

// leads is the leader of the present epoch, as long as it reaches the others.
func (w *trueWorld) leads() (int, bool) {
	for i, s := range w.servers {
		if s.mode == Leading && s.epoch == w.epoch && s.runs && !s.cut {
			return i, true
		}
	}
	return 0, false
}

// step lets something happen.
func (w *trueWorld) step() {
	i := w.r.IntN(len(w.servers))
	s := w.servers[i]
	look := func() { s.mode, s.receives, s.connected = ModeUnknown, false, map[int]bool{} }
	switch w.r.IntN(8) {
	case 0: // a crash: who leads does not see it yet
		s.runs = false
	case 1: // it is cut off, which it notices, and the others do not yet
		if s.cut = !s.cut; s.cut {
			look()
		}
	case 2: // a start, perhaps without its data
		if !s.runs {
			look()
			s.runs, s.cut = true, false
			w.empty[i] = w.empty[i] || w.r.IntN(4) == 0
		}
	case 3:
		w.elect()
	case 4: // who looks connects to the leader
		if leader, ok := w.leads(); ok && s.runs && !s.cut && s.mode == ModeUnknown {
			s.receives, s.leader, w.servers[leader].connected[i] = true, leader, true
		}
	case 5: // it has all of the leader's data
		if leader, ok := w.leads(); ok && s.receives && s.runs && w.servers[leader].connected[i] {
			s.receives, s.mode, s.epoch, s.leader = false, Following, w.epoch, leader
			delete(w.empty, i)
		}
	default: // it notices what is so
		w.notice(s, look)
	}
	// A connection that one end has closed, or its kernel, is closed at the other one as soon as they reach each other.
	for j, x := range w.servers {
		if leader := w.servers[x.leader]; (x.mode == Following || x.receives) && !leader.cut && !x.cut && (!leader.runs || leader.mode != Leading || !leader.connected[j]) {
			x.mode, x.receives = ModeUnknown, false
		}
	}
}

func (w *trueWorld) notice(s *trueServer, look func()) {
	leader, ok := w.leads()
	switch {
	case s.mode == Leading:
		for j := range s.connected {
			if other := w.servers[j]; !other.runs || other.cut || other.epoch > s.epoch || other.mode == ModeUnknown && !other.receives {
				delete(s.connected, j)
			}
		}
		if !w.majority([]*trueServer{s}, func(j int) bool { return w.servers[j] == s || s.connected[j] && !w.servers[j].receives }) {
			look()
		}
	case (s.mode == Following || s.receives) && (!ok || s.leader != leader && !s.receives || !w.servers[leader].connected[w.index(s)]):
		look()
	}
}

func (w *trueWorld) index(s *trueServer) int {
	for i, other := range w.servers {
		if other == s {
			return i
		}
	}
	return -1
}

// state is what a server says.
func (w *trueWorld) state(i int, now time.Time) State {
	s := w.servers[i]
	out := State{Node: nodeOf(int64(i + 1)), Looked: now, Learners: -1, Observing: -1, Synced: -1}
	switch {
	case !s.runs:
		out.Down, out.Problem = true, "nobody listens"
	case s.mode == ModeUnknown:
		out.Looking, out.Problem = true, "it looks for a leader"
	default:
		out.Serving, out.Mode, out.Leader, out.Config = true, s.mode, nodeOf(int64(s.leader+1)), lines(w.voters(s), 0)
		if s.mode == Leading { // it forwards to who still receives a snapshot, too
			out.Learners, out.Observing, out.Synced = len(s.connected), 0, len(s.connected)
		}
	}
	return out
}

// view is what the agent of a server knows when it asks all. Some agents are silent, and some of
// their servers answer themselves.
func (w *trueWorld) view(i int) View {
	now := time.Unix(1000, 0)
	v := View{Now: now, Self: Member{State: w.state(i, now), Known: true, Peer: engines.Peer{Alive: true}}, Asked: map[string]Answer{}}
	for j := range w.servers {
		if j == i {
			continue
		}
		s := w.state(j, now)
		other := Member{Peer: engines.Peer{Pod: fmt.Sprint("zk-", j), Node: s.Node, Alive: true}, State: s, Known: true}
		if w.r.IntN(6) == 0 {
			other = Member{Peer: other.Peer, Why: "its agent is unavailable"}
			if w.r.IntN(2) == 0 {
				v.Asked[s.Node] = Answer{Mode: s.Mode, Looking: s.Looking}
			}
		}
		v.Others = append(v.Others, other)
	}
	return v
}

// TestNoDepartureTakesTheQuorum lets servers crash, be cut off, start, lose their data, elect and
// notice late. A cut is what the server that is cut off has noticed: before that nobody knows.
// Whenever a drain says that a server may leave, those that have the data of the present epoch are a
// majority, by each configuration that an agent tells, if it is killed at that moment.
func TestNoDepartureTakesTheQuorum(t *testing.T) {
	race.Heavy(t)
	left, held, forGood := 0, 0, 0
	for seed := range uint64(3000) {
		w := newTrueWorld(rand.New(rand.NewPCG(seed, 1)))
		for range 40 {
			w.step()
			i := w.r.IntN(len(w.servers))
			if !w.servers[i].runs {
				continue
			}
			v := w.view(i)
			d := departure{assessment: assess(v), node: v.Self.Name(), forGood: w.r.IntN(3) == 0}
			p := d.decide()
			o := Observe(v)
			if w.empty[i] {
				require.False(t, o.Settled, "seed %d: server.%d has not received its data", seed, i+1)
			}
			if p.State != engines.ProgressDone || p.Detail == "it is no member" {
				held++
				continue
			}
			left++
			has := func(j int) bool {
				x := w.servers[j]
				return j != i && x.runs && !x.cut && x.mode != ModeUnknown && x.epoch == w.epoch && !w.empty[j]
			}
			var they []*trueServer
			for j, x := range w.servers {
				if x.runs && x.mode != ModeUnknown && (j == i || x.epoch == w.epoch && toldIn(v, j)) {
					they = append(they, x)
				}
			}
			if i >= w.old { // it votes by the newer configuration only
				they = wide(they)
			}
			require.True(t, w.majority(they, has), "seed %d: server.%d goes: %+v\n%s", seed, i+1, o, w)
			if d.forGood {
				forGood++
				for j := range w.servers {
					require.True(t, j == i || j >= w.old || has(j), "seed %d: server.%d goes with its data, and server.%d may lack what it has voted for", seed, i+1, j+1)
				}
			}
		}
	}
	t.Logf("%d went, of those %d for good; %d were held", left, forGood, held)
	require.Greater(t, left, 1000, "some may go")
	require.Greater(t, forGood, 100)
	require.Greater(t, held, 1000)
}

// String shows the world as it is.
func (w *trueWorld) String() (out string) {
	for i, s := range w.servers {
		out += fmt.Sprintf("server.%d of %d: %+v empty %v\n", i+1, w.voters(s), *s, w.empty[i])
	}
	return fmt.Sprintf("epoch %d\n%s", w.epoch, out)
}

// toldIn reports whether a server's agent has told. Of one whose agent has not the configuration is
// taken to be that of another one.
func toldIn(v View, i int) bool {
	for _, m := range v.Others {
		if m.Known && m.State.Node == nodeOf(int64(i+1)) {
			return true
		}
	}
	return false
}

func wide(of []*trueServer) (out []*trueServer) {
	for _, s := range of {
		if s.wide {
			out = append(out, s)
		}
	}
	return out
}

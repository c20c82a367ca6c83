package run

import (
	"math"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"google.golang.org/protobuf/proto"

	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func staleCache(w *world, f Fault) func() {
	w.behind = w.loop.Between(500*time.Millisecond, 6*time.Second)
	if f.Pick%2 == 0 && w.leader != nil && !w.leader.dead {
		w.leader.watch.Rewind(f.Pick/2, 1+int(f.Pick/8%30))
	}
	return func() { w.behind = 0 }
}

// crash ends the leader, and again as long as the fault lasts. Another is elected
// once the lease has run out, or soon after a graceful end.
func crash(w *world, f Fault) func() {
	over := false
	var again func()
	again = func() {
		if over || w.leader == nil || w.leader.dead {
			return
		}
		w.leader.crash()
		wait := w.loop.Between(200*time.Millisecond, 2*time.Second)
		if f.Pick%3 == 0 {
			wait = w.loop.Between(10*time.Second, 17*time.Second)
		}
		w.loop.In(wait, func() {
			if over {
				return // somebody else was elected
			}
			w.lead(int(f.Pick / 3 % 20))
			w.loop.In(w.loop.Between(50*time.Millisecond, 8*time.Second), again)
		})
	}
	again()
	return func() { over = true }
}

func twoLeaders(w *world, f Fault) func() {
	old := w.leader
	w.late = w.loop.Between(500*time.Millisecond, 9*time.Second)
	w.lead(int(f.Pick % 10))
	return func() {
		w.late = 0
		if f.Pick%2 == 0 && old != nil && old != w.leader {
			old.crash()
			return
		}
		w.leader.crash()
		if old == nil || old.dead {
			w.lead(0)
			return
		}
		w.leader = old
	}
}

func partition(w *world, f Fault) func() {
	var ways []string
	pod := w.pick(f)
	switch f.Pick % 6 {
	case 0:
		ways = []string{"*>" + pod, pod + ">*"}
	case 1:
		ways = []string{"*>" + pod}
	case 2:
		ways = []string{pod + ">*"}
	case 3:
		ways = []string{"*>api"}
	case 4:
		ways = []string{"api>" + w.leader.name} // what is asked for is done, and nobody hears of it
	case 5:
		ways = []string{w.leader.name + ">*"}
	}
	return w.close(ways...)
}

// close cuts ways until what it answers is called.
func (w *world) close(ways ...string) func() {
	w.loop.Log("fault", "cut: %s", strings.Join(ways, " "))
	for _, way := range ways {
		w.cut[way] = true
	}
	return func() {
		for _, way := range ways {
			delete(w.cut, way)
		}
	}
}

func loss(w *world, f Fault) func() {
	w.lose, w.double, w.late = 5+int(f.Pick%20), 20, w.loop.Between(0, 2*time.Second)
	return func() { w.lose, w.double, w.late = 0, 0, 0 }
}

// rotation has all connections to the agents end at once, and none begin for a while.
func rotation(w *world, f Fault) func() {
	var ways []string
	for _, pod := range w.pods() {
		ways = append(ways, "*>"+pod.Name, pod.Name+">*")
	}
	open := w.close(ways...)
	w.loop.In(w.loop.Between(500*time.Millisecond, 5*time.Second), open)
	return nil
}

func throttling(w *world, f Fault) func() {
	readOnly, often := f.Pick%2 == 0, 30+int(f.Pick/2%60)
	w.server.Refuse = func(user, verb string, write bool) error {
		switch {
		case !w.server.Ours(user):
			return nil
		case readOnly && write:
			return apierrors.NewInternalError(errReadOnly)
		case !readOnly && w.loop.Chance(often):
			return apierrors.NewTooManyRequests("the server has received too many requests", 1)
		}
		return nil
	}
	return func() { w.server.Refuse = nil }
}

type simError string

func (e simError) Error() string { return string(e) }

const errReadOnly = simError("etcdserver: no leader")

// partReports has some reports come without some of their groups and nodes.
func partReports(w *world, f Fault) func() {
	pod := w.pick(f)
	return w.alter(func(from string, r *rollcallv1.Report) {
		if from == pod && len(r.Groups) > 0 {
			r.Groups = r.Groups[:len(r.Groups)-1]
			if f.Pick%2 == 0 {
				r.Nodes = r.Nodes[:len(r.Nodes)/2]
			}
		}
	})
}

// mixed has one agent speak as an older version would: without what came later.
func mixed(w *world, f Fault) func() {
	pod := w.pick(f)
	return w.alter(func(from string, r *rollcallv1.Report) {
		if from == pod {
			r.ObservedAt, r.Uptime, r.SettledFor, r.Rank, r.AllGroups = nil, nil, nil, 0, false
		}
	})
}

// malformed has one agent send numbers and names that mean nothing.
func malformed(w *world, f Fault) func() {
	pod := w.pick(f)
	return w.replaced(pod, w.alter(func(from string, r *rollcallv1.Report) {
		if from != pod {
			return
		}
		switch f.Pick % 4 {
		case 0:
			r.Member, r.Verdict, r.Drain = 77, -3, 99
		case 1:
			r.Node = strings.Repeat("x", 1<<12)
		case 2:
			for _, g := range r.Groups {
				g.MinAvailable, g.Kind = math.MaxInt32, 42
				for _, m := range g.Members {
					m.Progress, m.State = math.NaN(), 17
				}
			}
		case 3:
			r.Age.Seconds = math.MinInt64
		}
	}))
}

// replaced has an agent that spoke wrongly be replaced by a right one: what it says
// would stand for as long as there is nothing new to say.
func (w *world) replaced(pod string, end func()) func() {
	if w.scenario.Age == 0 {
		return end
	}
	return func() {
		end()
		if r := w.run(pod); r != nil {
			w.kubelets.KillAgent(r)
		}
	}
}

// alter has reports on their way changed.
func (w *world) alter(change func(from string, r *rollcallv1.Report)) func() {
	w.altered = func(from string, r *rollcallv1.Report) *rollcallv1.Report {
		r = proto.CloneOf(r)
		change(from, r)
		return r
	}
	return func() { w.altered = nil }
}

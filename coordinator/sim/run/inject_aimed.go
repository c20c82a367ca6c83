package run

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// moment in the life of a claim.
type moment uint8

const (
	noMoment moment = iota
	claimed         // it was written down
	stored          // and what its drain will change
	opened          // it is noted on the pod, whose guard is open
	gone            // the pod is gone
)

// blow is what happens at one of some moments, and how it is over.
type blow struct {
	name    string
	moments []moment
	what    func(w *world, f Fault, pod string) func()
}

// blows hit windows that a fault at any time hardly ever meets.
var blows = []blow{
	{"the first template again", []moment{claimed, stored, opened}, rollsBack},
	{"the leader dies", []moment{stored, opened, gone}, dies},
	{"the leader dies, and the first template again", []moment{stored, opened}, diesAndRollsBack},
	{"a veto", []moment{claimed}, vetoes},
	{"another pod is lost", []moment{claimed}, losesAnother},
	{"all others fall silent", []moment{claimed}, othersAreSilent},
}

// aimedFor is how long the moment is waited for, and what happens then lasts.
const aimedFor = 45 * time.Second

// aimed waits for a moment.
func aimed(w *world, f Fault) func() {
	all := blows
	if w.scenario.Galera {
		all = galeraBlows
	}
	b := all[f.Pick%uint64(len(all))]
	at := b.moments[f.Pick/8%uint64(len(b.moments))]
	var end func()
	w.moment = func(now moment, pod string) {
		if now != at {
			return
		}
		w.moment = nil
		w.loop.In(w.loop.Between(0, 20*time.Millisecond), func() {
			w.hits[Aimed] = true
			w.loop.Log("fault", "aimed at %s: %s", pod, b.name)
			end = b.what(w, f, pod)
		})
	}
	return func() {
		w.moment = nil
		if end != nil {
			end()
		}
	}
}

// notice tells a fault that waits for it of a moment.
func (w *world) notice(kind api.Kind, before, after api.Object) {
	if w.moment == nil {
		return
	}
	if now, pod := momentOf(before, after, w.server.Cluster(name)); now != noMoment {
		w.moment(now, pod)
	}
}

// momentOf a change of an object.
func momentOf(before, after metav1.Object, cluster *v1alpha1.DatabaseCluster) (moment, string) {
	switch after := after.(type) {
	case *v1alpha1.DatabaseCluster:
		var was []model.Claim
		if before, ok := before.(*v1alpha1.DatabaseCluster); ok {
			was = before.Status.Claims
		}
		for _, c := range after.Status.Claims {
			old := claimOf(was, c.UID)
			switch {
			case old == nil:
				return claimed, c.Pod
			case len(old.Undo) == 0 && len(c.Undo) > 0:
				return stored, c.Pod
			}
		}
	case *corev1.Pod:
		was, ok := before.(*corev1.Pod)
		if ok && was.Annotations[v1alpha1.AnnotationClaim] == "" && after.Annotations[v1alpha1.AnnotationClaim] != "" {
			return opened, after.Name
		}
	case nil:
		if was, ok := before.(*corev1.Pod); ok && cluster != nil && claimOf(cluster.Status.Claims, string(was.UID)) != nil {
			return gone, was.Name
		}
	}
	return noMoment, ""
}

func claimOf(claims []model.Claim, uid string) *model.Claim {
	for i := range claims {
		if claims[i].UID == uid {
			return &claims[i]
		}
	}
	return nil
}

func rollsBack(w *world, _ Fault, _ string) func() {
	w.editTo("v1")
	return nil
}

// dies ends the leader. The next one begins with a cache that may be behind.
func dies(w *world, f Fault, _ string) func() {
	w.leader.crash()
	w.loop.In(w.loop.Between(200*time.Millisecond, 2*time.Second), func() {
		if w.leader.dead {
			w.lead(int(f.Pick / 16 % 40))
		}
	})
	return nil
}

func diesAndRollsBack(w *world, f Fault, pod string) func() {
	dies(w, f, pod)
	return rollsBack(w, f, pod)
}

// vetoes has the claimed pod's member ask not to be disturbed, while its agent
// can say or do nothing for as long as it takes until that must be known.
func vetoes(w *world, _ Fault, pod string) func() {
	w.db.SetVeto(pod, "a backup runs")
	w.hangFor(pod)
	return func() { w.db.SetVeto(pod, "") }
}

// losesAnother has somebody take another pod, which finds no node afterwards.
func losesAnother(w *world, f Fault, pod string) func() {
	other := w.pick(f)
	for _, p := range w.pods() {
		if other == pod {
			other = p.Name
		}
	}
	w.unlucky[other] = workload.Unschedulable
	w.takeAway(other)
	w.hangFor(pod)
	return func() { delete(w.unlucky, other) }
}

// othersAreSilent cuts all agents but the claimed pod's off, for less time than
// it takes until what they have said is too old.
func othersAreSilent(w *world, _ Fault, pod string) func() {
	var ways []string
	for _, other := range w.pods() {
		if other.Name != pod {
			ways = append(ways, "*>"+other.Name, other.Name+">*")
		}
	}
	w.loop.In(w.loop.Between(8*time.Second, 12*time.Second), w.close(ways...))
	return nil
}

// hangFor has the database in a pod not answer its agent for a while.
func (w *world) hangFor(pod string) {
	if end := w.answer(pod, database.Hung); end != nil {
		w.loop.In(w.loop.Between(27*time.Second, 33*time.Second), end)
	}
}

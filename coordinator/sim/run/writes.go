package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

// Write is one write to the world, or one order to an agent.
type Write struct {
	At time.Duration
	// What names the object and what was written, without free text.
	What string
}

// writes records what is written, and changes nothing.
type writes struct {
	w    *world
	list []Write
	// ordered is the last order to the agent of each pod since any other write about
	// the pod: orders are repeated until they are carried out.
	ordered map[string]string
}

// record begins to record what is written.
func (w *world) record() *writes {
	r := &writes{w: w, ordered: map[string]string{}}
	removing, discarding, heard := w.server.Removing, w.server.Discarding, w.loop.Heard
	w.server.Removing = func(removal api.Removal) {
		removing(removal)
		if w.server.Ours(removal.User) {
			r.note(removal.Pod.Name, "%s by %s", removed(removal.Evict), removal.User)
		}
	}
	w.server.Discarding = func(volume *corev1.PersistentVolumeClaim) {
		discarding(volume)
		r.note(volume.Name, "volume deleted")
	}
	w.server.Changed = append(w.server.Changed, r.changed)
	w.loop.Heard = func(who, what string) {
		if heard != nil {
			heard(who, what)
		}
		r.answered(who, what)
	}
	return r
}

func (r *writes) note(name, format string, args ...any) {
	r.list = append(r.list, Write{r.w.loop.Now(), name + " " + fmt.Sprintf(format, args...)})
	delete(r.ordered, name)
}

func removed(evict bool) string {
	if evict {
		return "evicted"
	}
	return "deleted"
}

// answered records the orders that agents answer, but not the answers.
func (r *writes) answered(who, what string) {
	order, _, _ := strings.Cut(what, ":")
	verb, pod, ok := strings.Cut(order, " of ")
	if who[0] != 'c' || !ok || !slices.Contains([]string{"plan", "drain", "restore", "handoff"}, verb) || r.ordered[pod] == verb {
		return
	}
	r.note(pod, "ordered to %s by %s", verb, who)
	r.ordered[pod] = verb
}

func (r *writes) changed(_ api.Kind, before, after api.Object) {
	switch after := after.(type) {
	case *v1alpha1.DatabaseCluster:
		if before, ok := before.(*v1alpha1.DatabaseCluster); ok {
			r.cluster(before, after)
		}
	case *appsv1.StatefulSet:
		if before, ok := before.(*appsv1.StatefulSet); ok {
			r.set(before, after)
		}
	case *corev1.Pod:
		if before, ok := before.(*corev1.Pod); ok {
			r.metadata("", before, after)
		}
	}
}

func (r *writes) set(before, after *appsv1.StatefulSet) {
	if was, is := workload.Partition(before), workload.Partition(after); was != is {
		r.note(after.Name, "partition %d", is)
	}
	r.metadata("set ", before, after)
}

// metadata records changed labels with their values, and of changed annotations only
// whether they are there, as most hold times or texts.
func (r *writes) metadata(kind string, before, after metav1.Object) {
	for _, key := range keys(before.GetLabels(), after.GetLabels()) {
		r.note(after.GetName(), "%slabel %s=%s", kind, key, after.GetLabels()[key])
	}
	for _, key := range keys(before.GetAnnotations(), after.GetAnnotations()) {
		_, there := after.GetAnnotations()[key]
		r.note(after.GetName(), "%sannotation %s %t", kind, key, there)
	}
}

// keys returns the sorted keys whose values differ.
func keys(before, after map[string]string) []string {
	all := map[string]bool{}
	for key, value := range after {
		if was, ok := before[key]; !ok || was != value {
			all[key] = true
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			all[key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func (r *writes) cluster(before, after *v1alpha1.DatabaseCluster) {
	if is := after.Status.Epoch; is != before.Status.Epoch {
		r.note(after.Name, "epoch %d", is)
	}
	if !slices.Equal(before.Finalizers, after.Finalizers) {
		r.note(after.Name, "finalizers %v", after.Finalizers)
	}
	was := byID(before.Status.Claims)
	for _, c := range after.Status.Claims {
		old, had := was[c.ID]
		delete(was, c.ID)
		switch {
		case !had:
			r.note(c.Pod, "claimed: %s for %s, drain %s, before its turn %t, from %s to %s, phase %s", c.Action, c.Reason, c.Prepare, c.BeforeTurn, c.From, c.To, c.Phase)
		case old.Phase != c.Phase || old.Action != c.Action || old.Prepare != c.Prepare || old.Epoch != c.Epoch:
			r.note(c.Pod, "claim is %s, drain %s, in epoch %d, phase %s", c.Action, c.Prepare, c.Epoch, c.Phase)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		r.note(was[id].Pod, "released in phase %s", was[id].Phase)
	}
}

func byID(claims []model.Claim) map[string]model.Claim {
	out := make(map[string]model.Claim, len(claims))
	for _, c := range claims {
		out[c.ID] = c
	}
	return out
}

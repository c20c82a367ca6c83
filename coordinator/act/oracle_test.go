package act

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// judge is the oracle's look at a removal.
func (w *world) judge(pod *corev1.Pod) {
	cluster, _ := w.server.Cluster(namespace, name)
	ours := slices.ContainsFunc(cluster.Status.Claims, func(c model.Claim) bool {
		// By force all pods of a pool are handed over at once: the partition that is lowered for
		// one frees others, too, on which their claims are not noted yet.
		return c.UID == string(pod.UID) && (c.ID == pod.Annotations[v1alpha1.AnnotationClaim] || w.byForce)
	})
	if !ours {
		w.accuse("%s was removed without a claim", pod.Name)
	}
	if w.guard != "" && pod.Labels[v1alpha1.LabelGuard] != v1alpha1.GuardOpen {
		w.accuse("%s was removed with its guard %s", pod.Name, pod.Labels[v1alpha1.LabelGuard])
	}
	away := 0
	for _, other := range w.pods {
		if p, ok := w.server.Pod(namespace, other); !ok || p.UID == pod.UID || p.DeletionTimestamp != nil || !w.live[p.UID] {
			away++
		}
	}
	if away > max(1, w.maxUnavailable) && !w.broken[pod.Labels[revision]] {
		w.accuse("%d pods unavailable after %s", away, pod.Name)
	}
	if w.bare[pod.UID] && w.disks != nil {
		// Nobody in it could empty or drain it, and it keeps its volume.
		if w.disks.lost[w.disks.of[pod.UID]] {
			w.accuse("the volume of %s was deleted, which nobody could empty", pod.Name)
		}
		return
	}
	if w.disks != nil {
		w.disks.judge(pod)
	}
	if w.handed == string(pod.UID) {
		w.accuse("%s was removed while it led", pod.Name)
	}
	if !w.byForce && !w.drained[string(pod.UID)] && !w.broken[pod.Labels[revision]] {
		w.accuse("%s was removed unprepared", pod.Name)
	}
}

func (w *world) accuse(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// requireClean asks the oracle.
func (w *world) requireClean() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(w.t, w.wrong)
	require.Empty(w.t, w.applied, "left behind in the database")
}

func (w *world) requireRolled(times int) {
	w.t.Helper()
	w.requireClean()
	require.True(w.t, w.done(), "not rolled out: %s", w.describe())
	for _, pod := range w.pods {
		require.Equal(w.t, times, w.gone()[pod], pod)
		object, _ := w.server.Pod(namespace, pod)
		require.Empty(w.t, object.Annotations[v1alpha1.AnnotationClaim])
	}
}

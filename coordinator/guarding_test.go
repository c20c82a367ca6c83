package coordinator

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
	"github.com/rollcall-dev/rollcall/test/race"
)

// installGuard makes what the chart makes, and what Kubernetes has.
func (w *world) installGuard() {
	w.guarded = true
	k, ctx := w.admin.Kubernetes, w.t.Context()
	_, err := k.CoreV1().ServiceAccounts("kube-system").Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "generic-garbage-collector"}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = k.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(ctx,
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GuardPolicy}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = k.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GuardPolicy},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: v1alpha1.GuardPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// enforcing is what the newest decision says.
func (p *process) enforcing(name string) bool {
	d, ok := p.board.Newest(Key{Namespace: namespace, Name: name})
	return ok && d.Snapshot.Cluster.GuardEnforcing
}

func (w *world) guards() map[string]int {
	count := map[string]int{}
	list, err := w.admin.Kubernetes.CoreV1().Pods(namespace).List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for _, pod := range list.Items {
		count[pod.Labels[v1alpha1.LabelGuard]]++
	}
	return count
}

// A rollout goes through closed guards, each opened for its own removal only, and
// all are closed when it is over.
func TestRollsThroughGuards(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 3)
		p := w.start()
		defer p.end()
		require.False(t, p.enforcing("search"))
		time.Sleep(30 * time.Second)
		require.True(t, p.enforcing("search"))
		require.Equal(t, map[string]int{v1alpha1.GuardClosed: 3}, w.guards())
		w.server.Refuse = func(pod *corev1.Pod) error {
			require.Equal(t, v1alpha1.GuardOpen, pod.Labels[v1alpha1.LabelGuard])
			return nil
		}
		db.roll("v2")
		db.requireDone(3*time.Minute, "v2")
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"search-2 v1", "search-1 v1", "search-0 v1"}, w.gone())
		require.Equal(t, map[string]int{v1alpha1.GuardClosed: 3}, w.guards())
		require.True(t, p.enforcing("search"))
	})
}

func TestObservedPodsHaveNoGuard(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 2)
		db.edit(func(c *v1alpha1.DatabaseCluster) { c.Spec.Update.Mode = model.ModeObserve })
		p := w.start()
		defer p.end()
		time.Sleep(time.Minute)
		require.Equal(t, map[string]int{"": 2}, w.guards())
		require.False(t, p.enforcing("search"))
	})
}

// A coordinator that comes back to an expired guard closes it before it claims, however
// long that takes.
func TestArmsBeforeTheFirstClaim(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 3)
		p := w.start()
		time.Sleep(30 * time.Second)
		p.end()
		_, err := guard.Expire(t.Context(), guard.ExpireOptions{Client: w.admin.Kubernetes, Clusters: w.admin.Clusters, Namespace: "none", Lease: "none"})
		require.NoError(t, err)
		db.roll("v2")
		var answers atomic.Bool
		w.released = make(chan struct{})
		w.hangs = func(c kubetest.Call) bool {
			return c.Verb == "patch" && c.Resource == "validatingadmissionpolicybindings" && !answers.Load()
		}
		p = w.start()
		defer p.end()
		time.Sleep(time.Minute)
		require.Empty(t, db.status().Claims, "nothing refuses yet")
		require.Empty(t, w.gone())
		answers.Store(true)
		close(w.released)
		db.requireDone(3*time.Minute, "v2")
		p.mu.Lock()
		defer p.mu.Unlock()
		first := func(what string) int {
			return slices.IndexFunc(p.sequence, func(s string) bool { return strings.Contains(s, what) })
		}
		claimed := first(" while claimed")
		for _, what := range []string{"patch validatingadmissionpolicybindings", "poddisruptionbudgets"} {
			require.NotEqual(t, -1, first(what), "%s: %v", what, p.sequence)
			require.Less(t, first(what), claimed, "%s: %v", what, p.sequence)
		}
		require.LessOrEqual(t, claimed, first("patch pods"))
	})
}

// The condition tells of a foreign budget before anything is evicted.
func TestForeignBudgetIsReportedAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 2)
		_, err := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "charts"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "search"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		p := w.start()
		defer p.end()
		time.Sleep(time.Minute)
		condition := conditionOf(db.status(), v1alpha1.ConditionForeignBudget)
		require.Equal(t, metav1.ConditionTrue, condition.Status)
		require.Contains(t, condition.Message, "PodDisruptionBudget charts selects search-0")
		require.False(t, p.enforcing("search"))
	})
}

// Nobody is drained in vain for a budget of somebody else that is full, and all go as soon as it is
// not.
func TestFullBudgetHoldsBeforeADrain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 2)
		budgets := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace)
		pdb, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "charts"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "search"}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		p := w.start()
		defer p.end()
		time.Sleep(30 * time.Second)
		db.roll("v2")
		time.Sleep(15 * time.Minute)
		status := db.status()
		require.Empty(t, status.Claims)
		require.Equal(t, model.ClusterStalled, status.Phase)
		stalled := conditionOf(status, v1alpha1.ConditionStalled)
		require.Equal(t, string(model.RuleForeignBudget), stalled.Reason)
		require.Contains(t, stalled.Message, "a PodDisruptionBudget that is not Rollcall's refuses its eviction: PodDisruptionBudget charts, for ")
		require.Empty(t, w.gone())

		pdb.Status.DisruptionsAllowed = 1
		_, err = budgets.UpdateStatus(t.Context(), pdb, metav1.UpdateOptions{})
		require.NoError(t, err)
		db.requireDone(3*time.Minute, "v2")
	})
}

// What is tried again and again, and refused each time, is one stall.
func TestRefusalsAreOneStall(t *testing.T) {
	race.Heavy(t)
	inWorld(t, func(t *testing.T, w *world) {
		db := w.add("search", 2)
		w.server.Refuse = func(*corev1.Pod) error { return apiserver.BudgetRefusal() }
		p := w.start()
		defer p.end()
		time.Sleep(30 * time.Second)
		db.roll("v2")
		time.Sleep(20 * time.Minute)
		require.Equal(t, model.ClusterStalled, db.status().Phase)
		began := db.status().LastTransition
		time.Sleep(20 * time.Minute)
		require.Equal(t, model.ClusterStalled, db.status().Phase)
		require.Equal(t, began, db.status().LastTransition, "it never ended meanwhile")
		require.Empty(t, w.gone())

		w.server.Refuse = nil
		db.requireDone(30*time.Minute, "v2")
	})
}

// A RollingUpdate pool is held back by nothing but the guards of its pods. Its label vanishes for a second in mid
// rollout: the StatefulSet controller works on, and takes whatever outdated pod has no closed guard.
func TestGuardsSurviveAShortLossOfTheLabel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installGuard()
		db := w.add("search", 3)
		db.becomeRollingUpdate(0)
		p := w.start()
		defer p.end()
		time.Sleep(30 * time.Second)
		require.Equal(t, map[string]int{v1alpha1.GuardClosed: 3}, w.guards())
		db.roll("v2")
		db.observe("")
		for range 300 { // the first one is unavailable
			if time.Sleep(20 * time.Millisecond); len(w.gone()) == 1 && db.unavailable() == 1 {
				break
			}
		}
		require.Equal(t, []string{"search-2 v1"}, w.gone())
		sets := w.admin.Kubernetes.AppsV1().StatefulSets(namespace)
		relabel := func(cluster string) {
			set := db.set(db.pools[0])
			if delete(set.Labels, v1alpha1.LabelCluster); cluster != "" {
				set.Labels[v1alpha1.LabelCluster] = cluster
			}
			_, err := sets.Update(t.Context(), set, metav1.UpdateOptions{})
			require.NoError(t, err)
		}
		free := map[string]time.Duration{}
		relabel("")
		began := time.Now()
		for i := range 100 {
			time.Sleep(50 * time.Millisecond)
			if i == 20 {
				relabel("search")
			}
			for _, name := range []string{"search-1", "search-0"} {
				pod, ok := w.server.Pod(namespace, name)
				if ok && pod.DeletionTimestamp == nil && pod.Labels["controller-revision-hash"] == "v1" && pod.Labels[v1alpha1.LabelGuard] != v1alpha1.GuardClosed {
					if _, known := free[name]; !known {
						free[name] = time.Since(began)
					}
				}
			}
		}
		require.Empty(t, free, "nobody has let them go, and nobody has drained them; search-2 is unavailable")
	})
}

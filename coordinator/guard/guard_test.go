package guard

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const aWhile = 5 * time.Second

// Running pods are closed on sight, whoever made them, and recreated ones again.
func TestClosesOnSight(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		w.add("books", 1, guards(model.GuardAudit))
		w.add("shop", 1, guards(model.GuardOff))
		w.add("young", 1, neverHealthy)
		p := w.lead()
		defer p.end()
		require.Equal(t, "books-0=audit/books search-0=closed/search search-1=closed/search", w.labels())
		require.Equal(t, "search-rollcall!", w.budgets())
		require.Equal(t, State{Enforcing: true}, p.State(search))
		require.Equal(t, 1.0, testutil.ToFloat64(p.metrics.enforcing.WithLabelValues("prod/search")))
		require.Equal(t, 0.0, testutil.ToFloat64(p.metrics.enforcing.WithLabelValues("prod/books")))
		calls, told, _ := p.seen()
		require.NotZero(t, told[search])

		writes, lists := p.writes(), p.lists()
		require.Equal(t, 3, calls["patch pods"], "one for each pod: %v", calls)
		require.Equal(t, 1, calls["create poddisruptionbudgets"], "not again before the watch can have told: %v", calls)
		require.Equal(t, 4, writes, "%v", calls)
		time.Sleep(time.Hour)
		require.Equal(t, writes, p.writes())
		require.Equal(t, lists, p.lists())

		require.NoError(t, w.admin.Kubernetes.CoreV1().Pods("prod").Delete(t.Context(), "search-1", metav1.DeleteOptions{}))
		w.addPod("search", 1, nil)
		time.Sleep(aWhile)
		require.Contains(t, w.labels(), "search-1=closed/search")

		// The first time that it is healthy.
		w.healthy("young")
		time.Sleep(aWhile)
		require.Contains(t, w.labels(), "young-0=closed/young")
		require.Equal(t, "search-rollcall! young-rollcall!", w.budgets())
	})
}

func (w *world) healthy(name string) {
	cluster, _ := w.server.Cluster("prod", name)
	cluster.Status.Conditions[1].Status = metav1.ConditionTrue
	_, err := w.admin.Clusters.DatabaseClusters("prod").UpdateStatus(w.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

// What a person or a claim has opened is left open; and closed again only once
// that is asked for, or the label is gone.
func TestOpenedStaysOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		p := w.lead()
		defer p.end()
		w.label("search-0", v1alpha1.GuardOpen)
		time.Sleep(time.Hour)
		require.Equal(t, "search-0=open/search search-1=closed/search", w.labels())
		w.label("search-0", "")
		time.Sleep(aWhile)
		require.Equal(t, "search-0=closed/search search-1=closed/search", w.labels())
	})
}

// Every way in which a guard ends removes label and budget.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(*world){
		"Off": func(w *world) { w.edit("search", guards(model.GuardOff)) },
		"DatabaseCluster gone": func(w *world) {
			require.NoError(w.t, w.admin.Clusters.DatabaseClusters("prod").Delete(w.t.Context(), "search", metav1.DeleteOptions{}))
			time.Sleep(time.Second)
			// The garbage collector's part.
			require.NoError(w.t, w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("prod").Delete(w.t.Context(), "search-rollcall", metav1.DeleteOptions{}))
		},
		"DatabaseCluster being deleted": func(w *world) { w.edit("search", deleted) },
		"policy gone": func(w *world) {
			require.NoError(w.t, w.admin.Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(w.t.Context(), v1alpha1.GuardPolicy, metav1.DeleteOptions{}))
		},
		"binding gone": func(w *world) {
			require.NoError(w.t, w.bindings().Delete(w.t.Context(), v1alpha1.GuardPolicy, metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.installed()
				w.add("search", 2)
				w.add("other", 1, guards(model.GuardAudit))
				p := w.lead()
				defer p.end()
				require.Contains(t, w.labels(), "search-0=closed/search search-1=closed/search")
				end(w)
				time.Sleep(aWhile)
				require.NotContains(t, w.labels(), "search")
				require.Empty(t, w.budgets())
				require.False(t, p.State(search).Enforcing)
			})
		})
	}
}

// The StatefulSet was taken out of the database: its pods are nobody's.
func TestLeavesPodsThatBelongToNobody(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		p := w.lead()
		defer p.end()
		// Closed by hand, in a StatefulSet that Rollcall knows nothing of.
		w.addPod("stray", 0, map[string]string{v1alpha1.LabelGuard: v1alpha1.GuardClosed})
		sets := w.admin.Kubernetes.AppsV1().StatefulSets("prod")
		set, err := sets.Get(t.Context(), "search", metav1.GetOptions{})
		require.NoError(t, err)
		set.Labels = nil
		_, err = sets.Update(t.Context(), set, metav1.UpdateOptions{})
		require.NoError(t, err)
		// The fake's watch does not know that the object has left its selector.
		require.NoError(t, sets.Delete(t.Context(), "search", metav1.DeleteOptions{}))
		time.Sleep(strayFor - time.Second)
		require.Equal(t, "search-0=closed/search search-1=closed/search", w.labels(), "it may return, and what is of no database needs no guard")
		time.Sleep(time.Second + aWhile)
		require.Empty(t, w.labels())
	})
}

// A leader that comes later finds what was left behind while nobody led.
func TestSuccessorCleansUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		p := w.lead()
		p.end()
		require.Equal(t, State{}, p.State(search), "who does not lead knows nothing")
		require.NoError(t, w.admin.Clusters.DatabaseClusters("prod").Delete(t.Context(), "search", metav1.DeleteOptions{}))
		require.Equal(t, "search-0=closed/search", w.labels())
		p = w.watch()
		require.Equal(t, "search-0=closed/search", w.labels(), "a standby writes nothing")
		require.Zero(t, p.writes())
		p.end()
		w.lead().end()
		require.Empty(t, w.labels())
	})
}

func TestGivesWayToForeignBudgets(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		p := w.lead()
		defer p.end()
		w.create(charts(app("search")))
		time.Sleep(aWhile)
		require.Equal(t, "search-pdb", w.budgets())
		require.Equal(t, "search-0=closed/search", w.labels(), "deletes are refused all the same")
		require.False(t, p.State(search).Enforcing)
		require.Contains(t, p.State(search).ForeignBudget, "search-pdb selects search-0")

		require.NoError(t, w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("prod").Delete(t.Context(), "search-pdb", metav1.DeleteOptions{}))
		time.Sleep(aWhile)
		require.Equal(t, "search-rollcall!", w.budgets())
		require.Equal(t, State{Enforcing: true}, p.State(search))

		// Somebody makes ours lenient.
		pdbs := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("prod")
		own, err := pdbs.Get(t.Context(), "search-rollcall", metav1.GetOptions{})
		require.NoError(t, err)
		own.Spec.Selector = app("nothing")
		_, err = pdbs.Update(t.Context(), own, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(aWhile)
		require.Equal(t, "search-rollcall!", w.budgets())
	})
}

// Where the controllers act as one, nothing is guarded; and nothing as long as
// that is not known.
func TestOneUser(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		accounts := w.admin.Kubernetes.CoreV1().ServiceAccounts("kube-system")
		require.NoError(t, accounts.Delete(t.Context(), collectorAccount, metav1.DeleteOptions{}))
		p := w.lead()
		defer p.end()
		require.Empty(t, w.labels())
		require.Empty(t, w.budgets())
		require.False(t, p.Armed())
		require.Contains(t, p.State(search).Why, "act under one name")

		_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: collectorAccount}}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(userEvery + aWhile)
		require.Equal(t, "search-0=closed/search", w.labels())
		require.True(t, p.Armed())

		answer := func(err error) {
			p.refuses(func(c kubetest.Call) error {
				if c.Resource == "serviceaccounts" {
					return err
				}
				return nil
			})
			time.Sleep(userEvery + aWhile)
		}
		answer(errors.New("not now"))
		require.Equal(t, "search-0=closed/search", w.labels(), "no answer changes nothing")
		answer(errForbidden)
		require.Empty(t, w.labels(), "nobody may ask any more, so it is not known")
		require.Empty(t, w.budgets())
		require.False(t, p.Armed())
	})
}

// What fails is done later, and one database's failure is no other's.
func TestTriesAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		w.add("books", 1)
		p := w.watch()
		p.refuses(func(c kubetest.Call) error {
			if c.Name == "search-0" || c.Name == "search-rollcall" {
				return errors.New("not now")
			}
			return nil
		})
		p.leadToo(t.Context())
		defer p.end()
		time.Sleep(time.Minute)
		require.Equal(t, "books-0=closed/books search-1=closed/search", w.labels())
		require.Contains(t, p.State(search).Why, "PodDisruptionBudget is not there yet")
		p.refuses(nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, "books-0=closed/books search-0=closed/search search-1=closed/search", w.labels())
		require.True(t, p.State(search).Enforcing)
	})
}

// A pod that changed since it was seen is not written over.
func TestLabelsAreWrittenToWhatWasSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addPod("search", 0, nil)
		pod, _ := w.server.Pod("prod", "search-0")
		seen := LabelChange{Pod: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Guard: v1alpha1.GuardClosed, Cluster: "search"}
		w.label("search-0", v1alpha1.GuardOpen)
		require.Error(t, setLabels(t.Context(), w.admin.Kubernetes, "prod", seen))
		other := seen
		other.ResourceVersion, other.UID = "", "another"
		require.Error(t, setLabels(t.Context(), w.admin.Kubernetes, "prod", other))
		require.Equal(t, "search-0=open/", w.labels())
	})
}

// A budget of the same name that somebody has made since is not deleted.
func TestABudgetIsDeletedAsItWasSeen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1, guards(model.GuardOff))
		p := w.watch()
		defer p.end()
		w.create(shut())
		facts, ok := p.facts(search)
		require.True(t, ok)
		writes := newWriter(p.Guard, unbound)
		remove := func(seen *Budget) error {
			return writes.budget(t.Context(), facts, Decision{Budget: DeleteBudget, Own: seen})
		}
		require.Error(t, remove(&Budget{UID: "of before"}))
		require.Equal(t, "search-rollcall!", w.budgets())
		require.NoError(t, remove(budgetOf(shut())))
		require.Empty(t, w.budgets())
	})
}

func TestOptionsAreRequired(t *testing.T) {
	_, err := New(Options{})
	require.ErrorContains(t, err, "Kubernetes and Cache are required")
}

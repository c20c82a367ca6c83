package guard

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

func (w *world) expire(after time.Duration) Expired {
	done, err := Expire(w.t.Context(), ExpireOptions{Client: w.admin.Kubernetes, Clusters: w.admin.Clusters, Namespace: "rollcall-system", Lease: "rollcall-coordinator",
		After: after, Reporter: "job"})
	require.NoError(w.t, err)
	return done
}

// renewed is a Lease that was last renewed so long ago; nil = it has never been.
func (w *world) renewed(ago *time.Duration) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "rollcall-system", Name: "rollcall-coordinator", CreationTimestamp: metav1.Now()}}
	if ago != nil {
		at := metav1.NewMicroTime(time.Now().Add(-*ago))
		lease.Spec.RenewTime = &at
	}
	_, err := w.admin.Kubernetes.CoordinationV1().Leases("rollcall-system").Create(w.t.Context(), lease, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func TestExpiresWhenNobodyHasLed(t *testing.T) {
	const limit = time.Hour
	for name, c := range map[string]struct {
		renewed time.Duration // ago; 0 = there is no Lease
		passes  time.Duration
		want    bool
	}{
		"led just now":             {time.Second, 0, false},
		"led almost too long ago":  {limit - time.Second, 0, false},
		"led too long ago":         {limit, 0, true},
		"clock of the other ahead": {-time.Minute, 0, false},
		"never led, fresh":         {0, 0, false},
		"never led":                {0, limit, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.installed()
				w.create(shut())
				w.create(charts(app("search")))
				if c.renewed != 0 {
					w.renewed(&c.renewed)
				}
				time.Sleep(c.passes)
				done := w.expire(limit)
				require.Equal(t, c.want, done.Binding)
				if !c.want {
					require.Equal(t, "[Deny]map[]", w.actions())
					require.Equal(t, "search-pdb search-rollcall!", w.budgets())
					return
				}
				require.True(t, strings.HasPrefix(w.actions(), "[Audit]map[rollcall.dev/guard-expired:2"), w.actions())
				require.Equal(t, []string{"prod/search-rollcall"}, done.Budgets)
				pdb, err := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("prod").Get(t.Context(), "search-rollcall", metav1.GetOptions{})
				require.NoError(t, err)
				require.Nil(t, pdb.Spec.MinAvailable)
				require.Equal(t, 1, pdb.Spec.MaxUnavailable.IntValue())
				events, err := w.admin.Kubernetes.EventsV1().Events("prod").List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, events.Items, 1)
				require.Equal(t, status.EventGuardExpired, events.Items[0].Reason)
				require.Equal(t, "DatabaseCluster search", events.Items[0].Regarding.Kind+" "+events.Items[0].Regarding.Name)

				// Once is enough.
				again := w.expire(limit)
				require.False(t, again.Binding)
				require.Empty(t, again.Budgets)
			})
		})
	}
}

// A Lease that was made and never renewed counts from when it was made, and one that somebody
// deletes is made again at once.
func TestLeaseThatSaysLittle(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		time.Sleep(2 * time.Hour)
		time.AfterFunc(secondLook/2, func() { w.renewed(nil) })
		require.False(t, w.expire(time.Hour).Binding)
		time.Sleep(time.Hour)
		require.True(t, w.expire(time.Hour).Binding)
	})
}

// A coordinator leads and renews its Lease every two seconds. The clock of its node is two
// hours behind that of the node on which the guard's end is decided, or as much ahead.
func TestGuardDoesNotExpireBecauseOfAClock(t *testing.T) {
	for _, behind := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			w.installed()
			w.add("search", 2)
			w.renewed(&behind)
			ctx, cancel := context.WithCancel(t.Context())
			var leading sync.WaitGroup
			leading.Go(func() {
				leases := w.admin.Kubernetes.CoordinationV1().Leases("rollcall-system")
				for ctx.Err() == nil {
					time.Sleep(2 * time.Second)
					lease, err := leases.Get(t.Context(), "rollcall-coordinator", metav1.GetOptions{})
					require.NoError(t, err)
					at := metav1.NewMicroTime(time.Now().Add(-behind))
					lease.Spec.RenewTime = &at
					_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
					require.NoError(t, err)
				}
			})
			time.Sleep(time.Minute)
			for range 3 {
				done := w.expire(time.Hour)
				require.False(t, done.Binding, "somebody leads")
				require.Zero(t, done.Silent)
				time.Sleep(5 * time.Minute)
			}
			cancel()
			leading.Wait()
			time.Sleep(4 * time.Hour)
			require.True(t, w.expire(time.Hour).Binding, "nobody leads any more")
		})
	}
}

// A person who wants the guard to end is not made to wait, whatever the clocks say.
func TestAPersonEndsTheGuardAtOnce(t *testing.T) {
	for _, ago := range []time.Duration{time.Second, -2 * time.Hour} {
		inWorld(t, func(t *testing.T, w *world) {
			w.installed()
			w.renewed(&ago)
			asked := time.Now()
			require.True(t, w.expire(0).Binding)
			require.Zero(t, time.Since(asked))
		})
	}
}

// A coordinator that comes back has all of it refuse again; what a person has
// relaxed stays.
func TestRearms(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		w.lead().end()
		require.True(t, w.expire(0).Binding)
		require.Equal(t, "search-0=closed/search", w.labels(), "labels stay")
		require.Equal(t, "search-rollcall", w.budgets())

		standby := w.watch()
		require.Equal(t, 1.0, testutil.ToFloat64(standby.metrics.expired))
		require.Equal(t, "search-rollcall", w.budgets())
		p := w.lead()
		require.Equal(t, "[Deny]map[]", w.actions())
		require.Equal(t, "search-rollcall!", w.budgets())
		_, _, rearmed := p.seen()
		require.Equal(t, []string{"prod/search u-search"}, rearmed)
		require.Equal(t, State{Enforcing: true}, p.State(search))
		require.Zero(t, testutil.ToFloat64(standby.metrics.expired))
		require.Zero(t, standby.writes())
		standby.end()
		p.end()
	})
}

// What a person has relaxed is neither made to refuse again nor taken for expired.
func TestWhatAPersonHasRelaxedStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		bindings := w.admin.Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
		b, err := bindings.Get(t.Context(), v1alpha1.GuardPolicy, metav1.GetOptions{})
		require.NoError(t, err)
		b.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Warn}
		_, err = bindings.Update(t.Context(), b, metav1.UpdateOptions{})
		require.NoError(t, err)
		p := w.lead()
		require.NoError(t, p.Arm(t.Context(), unbound, search))
		time.Sleep(time.Hour)
		require.Equal(t, "[Warn]map[]", w.actions())
		require.False(t, p.State(search).Enforcing)
		p.end()
		require.False(t, w.expire(0).Binding)
		require.Equal(t, "[Warn]map[]", w.actions(), "else the next leader would take it for expired")
		w.lead().end()
		require.Equal(t, "[Warn]map[]", w.actions())
	})
}

// Arm has both written when it returns, before anything else is done.
func TestArm(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		w.lead().end()
		w.expire(0)
		p := w.watch()
		defer p.end()
		require.NoError(t, p.Arm(t.Context(), unbound, search))
		require.Equal(t, "[Deny]map[]", w.actions())
		require.Equal(t, "search-rollcall!", w.budgets())
		writes := p.writes()
		time.Sleep(aWhile)
		require.NoError(t, p.Arm(t.Context(), unbound, search))
		require.Equal(t, writes, p.writes(), "there is nothing to arm")
	})
}

func TestArmSaysWhatItMayNot(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1)
		w.lead().end()
		w.expire(0)
		p := w.watch()
		defer p.end()
		p.refuses(func(c kubetest.Call) error {
			if c.Resource == "validatingadmissionpolicybindings" && c.Write() {
				return errForbidden
			}
			return nil
		})
		require.ErrorIs(t, p.Arm(t.Context(), unbound, search), errForbidden)
		require.Equal(t, "search-rollcall!", w.budgets(), "one does not keep the other from being armed")
	})
}

func TestUninstall(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		w.create(charts(app("shop")))
		p := w.lead() // runs on, as while Helm removes the chart
		defer p.end()
		require.Equal(t, "search-pdb search-rollcall!", w.budgets())
		_, err := Uninstall(t.Context(), w.admin.Kubernetes, w.admin.Clusters, "rollcall-system")
		require.NoError(t, err)
		time.Sleep(aWhile)
		require.Equal(t, "search-pdb", w.budgets())
		require.Empty(t, w.labels())
		_, err = w.bindings().Get(t.Context(), v1alpha1.GuardPolicy, metav1.GetOptions{})
		require.Error(t, err)

		done, err := Uninstall(t.Context(), w.admin.Kubernetes, w.admin.Clusters, "rollcall-system")
		require.NoError(t, err)
		require.Equal(t, Uninstalled{}, done)
		time.Sleep(time.Hour)
		require.Empty(t, w.labels())
		require.Equal(t, "search-pdb", w.budgets())
	})
}

// They would put back what is removed, so it begins when none is left; one that does not end is
// named, and the rest is done all the same.
func TestUninstallStopsCoordinators(t *testing.T) {
	for _, ends := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w *world) {
			w.add("search", 1)
			replicas := int32(2)
			w.admin.Kubernetes.PrependReactor("get", "deployments/scale", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}, nil
			})
			w.admin.Kubernetes.PrependReactor("update", "deployments/scale", func(a k8stesting.Action) (bool, runtime.Object, error) {
				scale := a.(k8stesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
				replicas = scale.Spec.Replicas
				return true, scale, nil
			})
			pods := w.admin.Kubernetes.CoreV1().Pods("rollcall-system")
			_, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "coordinator-a", Labels: map[string]string{
				"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator",
			}}}, metav1.CreateOptions{})
			require.NoError(t, err)
			finalizer := func(list []string) { w.edit("search", func(c *v1alpha1.DatabaseCluster) { c.Finalizers = list }) }
			finalizer([]string{v1alpha1.Finalizer})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if !ends {
					return
				}
				time.Sleep(10 * time.Second)
				finalizer([]string{v1alpha1.Finalizer}) // its last act
				if err := pods.Delete(t.Context(), "coordinator-a", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}()
			done, err := Uninstall(t.Context(), w.admin.Kubernetes, w.admin.Clusters, "rollcall-system")
			<-ended
			if ends {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "stop the coordinators of namespace rollcall-system: still there after 1m0s, and may put back what is removed: coordinator-a")
			}
			require.Equal(t, Uninstalled{Stopped: 2, Freed: 1}, done)
			require.Zero(t, replicas)
			cluster, ok := w.server.Cluster("prod", "search")
			require.True(t, ok)
			require.Empty(t, cluster.Finalizers)
		})
	}
}

// Without a coordinator the command does all of it, and counts.
func TestUninstallAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 2)
		w.lead().end()
		w.edit("search", func(c *v1alpha1.DatabaseCluster) { c.Finalizers = []string{"other", v1alpha1.Finalizer} })
		w.addPod("stray", 0, map[string]string{v1alpha1.LabelGuard: v1alpha1.GuardOpen})
		pods := w.admin.Kubernetes.CoreV1().Pods("prod")
		_, err := pods.Patch(t.Context(), "stray-0", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"rollcall.dev/claim":"rc1","other":"kept"}}}`), metav1.PatchOptions{})
		require.NoError(t, err)
		w.partition("search", 1_000_000, "1000000")
		w.add("persons", 1)
		w.partition("persons", 1, "0")
		done, err := Uninstall(t.Context(), w.admin.Kubernetes, w.admin.Clusters, "rollcall-system")
		require.NoError(t, err)
		require.Equal(t, Uninstalled{Budgets: 1, Pods: 3, Freed: 1, Held: []string{"prod/search"}}, done)
		stray, err := pods.Get(t.Context(), "stray-0", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"other": "kept"}, stray.Annotations)
		require.Empty(t, w.labels())
		require.Empty(t, w.budgets())
		cluster, ok := w.server.Cluster("prod", "search")
		require.True(t, ok)
		require.Equal(t, []string{"other"}, cluster.Finalizers, "those of others are theirs")
	})
}

// A DatabaseCluster that was deleted in mid-rollout goes once nobody leads, and
// not before.
func TestExpiryFreesDatabaseClusters(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.installed()
		w.add("search", 1, func(c *v1alpha1.DatabaseCluster) { c.Finalizers = []string{v1alpha1.Finalizer} })
		require.NoError(t, w.admin.Clusters.DatabaseClusters("prod").Delete(t.Context(), "search", metav1.DeleteOptions{}))
		w.renewed(new(time.Minute))
		require.Zero(t, w.expire(time.Hour).Freed)
		_, there := w.server.Cluster("prod", "search")
		require.True(t, there)
		time.Sleep(time.Hour)
		require.Equal(t, 1, w.expire(time.Hour).Freed)
		_, there = w.server.Cluster("prod", "search")
		require.False(t, there)
	})
}

// partition puts a StatefulSet's partition somewhere, and notes one.
func (w *world) partition(set string, partition int32, noted string) {
	sets := w.admin.Kubernetes.AppsV1().StatefulSets("prod")
	s, err := sets.Get(w.t.Context(), set, metav1.GetOptions{})
	require.NoError(w.t, err)
	s.Annotations = map[string]string{v1alpha1.AnnotationPartition: noted}
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
	_, err = sets.Update(w.t.Context(), s, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

package guard

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
	"github.com/rollcall-dev/rollcall/coordinator/kubetest"
)

// world is an API server, on which somebody sets up databases and the policy.
type world struct {
	t      *testing.T
	server *kubetest.Server
	admin  *kubetest.Client
}

func inWorld(t *testing.T, f func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		server := kubetest.New()
		w := &world{t: t, server: server, admin: server.Client(nil)}
		_, err := w.admin.Kubernetes.CoreV1().ServiceAccounts("kube-system").Create(t.Context(),
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: collectorAccount}}, metav1.CreateOptions{})
		require.NoError(t, err)
		f(t, w)
	})
}

// installed makes the policy and its binding.
func (w *world) installed() {
	_, err := w.admin.Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(w.t.Context(),
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GuardPolicy}}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = w.bindings().Create(w.t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GuardPolicy, CreationTimestamp: metav1.Now()},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: v1alpha1.GuardPolicy, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) bindings() interface {
	Create(context.Context, *admissionv1.ValidatingAdmissionPolicyBinding, metav1.CreateOptions) (*admissionv1.ValidatingAdmissionPolicyBinding, error)
	Get(context.Context, string, metav1.GetOptions) (*admissionv1.ValidatingAdmissionPolicyBinding, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
} {
	return w.admin.Kubernetes.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
}

// actions of the binding.
func (w *world) actions() string {
	b, err := w.bindings().Get(w.t.Context(), v1alpha1.GuardPolicy, metav1.GetOptions{})
	require.NoError(w.t, err)
	return fmt.Sprintf("%v%v", b.Spec.ValidationActions, b.Annotations)
}

// add makes a DatabaseCluster, its StatefulSet and pods.
func (w *world) add(name string, pods int, edit ...func(*v1alpha1.DatabaseCluster)) {
	cluster := database(edit...)
	cluster.Name, cluster.UID = name, types.UID("u-"+name)
	_, err := w.admin.Clusters.DatabaseClusters("prod").Create(w.t.Context(), cluster, metav1.CreateOptions{})
	require.NoError(w.t, err)
	_, err = w.admin.Kubernetes.AppsV1().StatefulSets("prod").Create(w.t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID("set-" + name), Labels: map[string]string{v1alpha1.LabelCluster: name}},
		Spec:       appsv1.StatefulSetSpec{Selector: app(name)},
	}, metav1.CreateOptions{})
	require.NoError(w.t, err)
	for i := range pods {
		w.addPod(name, i, nil)
	}
}

func (w *world) addPod(set string, ordinal int, labels map[string]string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: fmt.Sprintf("%s-%d", set, ordinal), Labels: map[string]string{"app": set},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: types.UID("set-" + set), Controller: new(true)}}}}
	maps.Copy(pod.Labels, labels)
	_, err := w.admin.Kubernetes.CoreV1().Pods("prod").Create(w.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

// labels are those of all guards, such as "search-0=closed/search".
func (w *world) labels() string {
	pods, err := w.admin.Kubernetes.CoreV1().Pods("").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var all []string
	for _, p := range pods.Items {
		if guard, of := p.Labels[v1alpha1.LabelGuard], p.Labels[v1alpha1.LabelGuardCluster]; guard != "" || of != "" {
			all = append(all, p.Name+"="+guard+"/"+of)
		}
	}
	return strings.Join(all, " ")
}

// budgets are the names of all, with an exclamation mark for one that is closed.
func (w *world) budgets() string {
	list, err := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("").List(w.t.Context(), metav1.ListOptions{})
	require.NoError(w.t, err)
	var all []string
	for i := range list.Items {
		name := list.Items[i].Name
		if budgetOf(&list.Items[i]).Closed {
			name += "!"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

func (w *world) create(pdb *policyv1.PodDisruptionBudget) {
	_, err := w.admin.Kubernetes.PolicyV1().PodDisruptionBudgets("prod").Create(w.t.Context(), pdb, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) edit(name string, edit func(*v1alpha1.DatabaseCluster)) {
	cluster, err := w.admin.Clusters.DatabaseClusters("prod").Get(w.t.Context(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	edit(cluster)
	_, err = w.admin.Clusters.DatabaseClusters("prod").Update(w.t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) label(pod, value string) {
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1alpha1.LabelGuard, value)
	_, err := w.admin.Kubernetes.CoreV1().Pods("prod").Patch(w.t.Context(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(w.t, err)
}

// process is one coordinator's guard.
type process struct {
	*Guard
	client   *kubetest.Client
	registry *prometheus.Registry
	cache    *kube.Cache
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu    sync.Mutex
	calls map[string]int
	// refuse answers requests with an error.
	refuse  func(kubetest.Call) error
	told    map[kube.Key]int
	rearmed []string
}

func unbound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// watch begins to watch, and lead to write as well.
func (w *world) watch() *process {
	p := &process{calls: map[string]int{}, told: map[kube.Key]int{}, registry: prometheus.NewRegistry()}
	p.client = w.server.Client(func(c kubetest.Call) (func() error, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls[c.Verb+" "+c.Resource]++
		if p.refuse != nil {
			return nil, p.refuse(c)
		}
		return nil, nil
	})
	log := slog.New(slog.DiscardHandler)
	var err error
	p.cache, err = kube.New(kube.Options{Kubernetes: p.client.Kubernetes, Clusters: p.client.Clusters, Logger: log})
	require.NoError(w.t, err)
	p.Guard, err = New(Options{Kubernetes: p.client.Kubernetes, Cache: p.cache, Logger: log, Registerer: p.registry,
		Rearmed: func(key kube.Key, uid string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.rearmed = append(p.rearmed, key.String()+" "+uid)
		}})
	require.NoError(w.t, err)
	p.Subscribe(func(key kube.Key) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.told[key]++
	})
	ctx, stop := context.WithCancel(w.t.Context())
	p.stop = stop
	p.running.Go(func() { _ = p.cache.Run(ctx) })
	p.running.Go(func() { _ = p.Watch(ctx) })
	time.Sleep(5 * time.Second)
	return p
}

func (w *world) lead() *process {
	p := w.watch()
	p.leadToo(w.t.Context())
	time.Sleep(5 * time.Second)
	return p
}

func (p *process) leadToo(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	watching := p.stop
	p.stop = func() { stop(); watching() }
	p.running.Go(func() { p.Lead(ctx, unbound) })
}

func (p *process) refuses(refuse func(kubetest.Call) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

func (p *process) end() {
	p.stop()
	p.running.Wait()
}

// seen is a copy of what the process has done and was told so far.
func (p *process) seen() (calls map[string]int, told map[kube.Key]int, rearmed []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.calls), maps.Clone(p.told), slices.Clone(p.rearmed)
}

func (p *process) writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for call, count := range p.calls {
		if !strings.HasPrefix(call, "get ") && !strings.HasPrefix(call, "list ") && !strings.HasPrefix(call, "watch ") {
			n += count
		}
	}
	return n
}

func (p *process) lists() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for call, count := range p.calls {
		if strings.HasPrefix(call, "list ") {
			n += count
		}
	}
	return n
}

var search = kube.Key{Namespace: "prod", Name: "search"}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "", nil)

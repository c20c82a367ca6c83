package siege

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

const (
	rollingName = "rolling"
	rollingPods = 4
)

// rolling is the database of an honest tenant, with a new template as soon as it has the
// one before. It plays the StatefulSet controller and the kubelet: what the coordinator
// has removed comes back. Whether it did so the API server says, which has a pod with a
// time of deletion; nobody but the coordinator deletes pods that have none.
type rolling struct {
	world *world
	ended sync.WaitGroup

	mu          sync.Mutex
	uid         string
	certificate tls.Certificate
	revision    int
	addresses   int
	leader      string
	members     map[string]*member
	departures  []time.Time
	problem     error // the last one
}

// newRolling makes the database, and starts to roll it. A coordinator must lead.
func (w *world) newRolling(t *testing.T, c *coordinator) *rolling {
	t.Helper()
	ctx := t.Context()
	w.namespace(t, honestNamespace)
	for i := range rollingPods {
		w.node(t, i)
	}
	w.account(t, honestNamespace)
	r := &rolling{world: w, members: map[string]*member{}, revision: 1}
	cluster, err := w.clusters(honestNamespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rollcall.dev/v1alpha1", "kind": "DatabaseCluster",
		"metadata": map[string]any{"name": rollingName, "namespace": honestNamespace},
		"spec": map[string]any{
			"engine": "Solr", "policy": map[string]any{"maxUnavailable": int64(1)},
			"overrides": []any{map[string]any{
				"rule": "failure-detection", "pods": []any{"*"}, "expires": "2100-01-01T00:00:00Z", "reason": "each second of an attack is to see goes",
			}},
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	r.uid = string(cluster.GetUID())
	certificate, ok := w.stolen(t, c, honestNamespace, rollingName)
	require.True(t, ok, "the coordinator ended")
	r.certificate = certificate
	labels := map[string]string{"app": rollingName, v1alpha1.LabelCluster: rollingName}
	_, err = w.admin.AppsV1().StatefulSets(honestNamespace).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: rollingName, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(rollingPods)), ServiceName: rollingName, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": rollingName}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, r.roll(ctx))
	for i := range rollingPods {
		require.NoError(t, r.come(ctx, i))
	}
	run, cancel := context.WithCancel(context.Background())
	r.ended.Go(func() {
		for run.Err() == nil {
			if err := r.turn(run); err != nil && run.Err() == nil {
				r.mu.Lock()
				r.problem = err
				r.mu.Unlock()
			}
			pause(run, 200*time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		r.ended.Wait()
		for _, m := range r.members {
			m.server.Stop()
		}
	})
	return r
}

// node makes one that takes pods.
func (w *world) node(t *testing.T, number int) {
	t.Helper()
	nodes := w.admin.CoreV1().Nodes()
	made, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%d", number), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", number)},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	// The API server gives each new one the taint not-ready, which a controller takes off.
	made.Spec.Taints = nil
	_, err = nodes.Update(t.Context(), made, metav1.UpdateOptions{})
	require.NoError(t, err)
}

func (w *world) account(t *testing.T, namespace string) {
	t.Helper()
	_, err := w.admin.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	require.True(t, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
}

// podSpec is that of a pod which has an agent.
func podSpec(node string) corev1.PodSpec {
	return corev1.PodSpec{
		AutomountServiceAccountToken: new(false), NodeName: node,
		InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer, Image: "agent", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
		Containers:     []corev1.Container{{Name: "database", Image: "solr:9"}},
	}
}

// createPod makes a pod of a StatefulSet, of which nothing runs yet.
func (w *world) createPod(ctx context.Context, set *appsv1.StatefulSet, ordinal int, revision, node string) (*corev1.Pod, error) {
	pods := w.admin.CoreV1().Pods(set.Namespace)
	name := set.Name + "-" + strconv.Itoa(ordinal)
	// The label follows later: no Service leads to the webhook here.
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app": set.Name, "controller-revision-hash": revision},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))},
		},
		Spec: podSpec(node),
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1alpha1.LabelCluster, set.Name)
	return pods.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
}

// readyPod says what the kubelet says of a pod that runs and is ready.
func (w *world) readyPod(ctx context.Context, pod *corev1.Pod, ip string) error {
	now := metav1.Now()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
		},
		InitContainerStatuses: []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, Ready: true, Started: new(true), State: running}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "database", Ready: true, Started: new(true), State: running}},
	}
	_, err := w.admin.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (r *rolling) set(ctx context.Context) (*appsv1.StatefulSet, error) {
	return r.world.admin.AppsV1().StatefulSets(honestNamespace).Get(ctx, rollingName, metav1.GetOptions{})
}

func (r *rolling) update() string { return fmt.Sprintf("%s-%d", rollingName, r.revision) }

// roll is what the controller writes about the newest template.
func (r *rolling) roll(ctx context.Context) error {
	set, err := r.set(ctx)
	if err != nil {
		return err
	}
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: rollingPods, ReadyReplicas: rollingPods,
		CurrentRevision: fmt.Sprintf("%s-%d", rollingName, max(1, r.revision-1)), UpdateRevision: r.update(),
	}
	_, err = r.world.admin.AppsV1().StatefulSets(honestNamespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

// come makes a pod on the update revision, with its agent.
func (r *rolling) come(ctx context.Context, ordinal int) error {
	set, err := r.set(ctx)
	if err != nil {
		return err
	}
	pod, err := r.world.createPod(ctx, set, ordinal, r.update(), fmt.Sprintf("node-%d", ordinal))
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.addresses++
	ip := fmt.Sprintf("127.200.%d.%d", r.addresses/250, r.addresses%250+1)
	m := &member{db: r, pod: pod.Name, uid: string(pod.UID), began: time.Now(), incarnation: uint64(100 + r.addresses)}
	r.mu.Unlock()
	if err := m.listen(net.JoinHostPort(ip, strconv.Itoa(config.PortGRPC))); err != nil {
		return err
	}
	r.mu.Lock()
	r.members[pod.Name] = m
	r.lead()
	r.mu.Unlock()
	return r.world.readyPod(ctx, pod, ip)
}

func (m *member) listen(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	m.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{m.db.certificate}, MinVersion: tls.VersionTLS13})))
	m.register()
	go func() { _ = m.server.Serve(listener) }()
	return nil
}

// turn does what there is to do for pods that were removed, and for a rollout that is done.
func (r *rolling) turn(ctx context.Context) error {
	pods := r.world.admin.CoreV1().Pods(honestNamespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=" + rollingName})
	if err != nil {
		return err
	}
	there, current := map[string]bool{}, 0
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			there[pod.Name] = true
			if pod.Labels["controller-revision-hash"] == r.update() {
				current++
			}
			continue
		}
		r.leave(pod.Name)
		err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	for i := range rollingPods {
		if !there[rollingName+"-"+strconv.Itoa(i)] {
			return r.come(ctx, i)
		}
	}
	if current == rollingPods {
		r.revision++
		return r.roll(ctx)
	}
	return nil
}

// leave notes that the API server has a pod which goes.
func (r *rolling) leave(pod string) {
	r.mu.Lock()
	m := r.members[pod]
	if m == nil {
		r.mu.Unlock()
		return
	}
	delete(r.members, pod)
	r.departures = append(r.departures, time.Now())
	r.lead()
	r.mu.Unlock()
	m.server.Stop()
}

// lead chooses a leader where there is none. mu is held.
func (r *rolling) lead() {
	if r.members[r.leader] != nil {
		return
	}
	if names := slices.Sorted(maps.Keys(r.members)); len(names) > 0 {
		r.leader = names[0]
	}
}

// since is how many pods the coordinator has let go after a time, and the last problem here.
func (r *rolling) since(begin time.Time) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, at := range r.departures {
		if at.After(begin) {
			count++
		}
	}
	return count, r.problem
}

// why is what the coordinator says about it, for people.
func (r *rolling) why(t *testing.T) string {
	object, err := r.world.clusters(honestNamespace).Get(t.Context(), rollingName, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(object.Object["status"])
	return string(text)
}

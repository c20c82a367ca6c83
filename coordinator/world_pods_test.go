package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

func podSpec(node string) corev1.PodSpec {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.PodSpec{NodeName: node,
		InitContainers: []corev1.Container{{Name: v1alpha1.AgentContainer, Image: "agent:dev", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: "db", Image: "db:9.9.0"}},
	}
}

// create makes a pod on the update revision and its agent. mu is held.
func (db *database) create(p *pool, pod string) *member {
	w := db.w
	w.nextIP++
	ip := fmt.Sprintf("10.0.%d.%d", w.nextIP/250, w.nextIP%250+1)
	ordinal := int(pod[len(pod)-1] - '0')
	yes := true
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod, CreationTimestamp: metav1.Now(),
			Labels: map[string]string{"app": db.name, "pool": p.name, v1alpha1.LabelCluster: db.name, "controller-revision-hash": p.update},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: p.name,
				UID: types.UID("set-" + p.name), Controller: &yes}}},
		Spec:   podSpec(fmt.Sprintf("node%d", ordinal%3)),
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip},
	}
	if db.bare {
		object.Spec.InitContainers = nil
		delete(object.Labels, v1alpha1.LabelCluster)
	}
	setState(object, db.broken[p.update], false)
	made, err := w.admin.Kubernetes.CoreV1().Pods(namespace).Create(context.Background(), object, metav1.CreateOptions{})
	if err != nil {
		w.t.Errorf("create %s: %v", pod, err)
		return nil
	}
	m := &member{db: db, pool: p, pod: pod, uid: made.UID, revision: p.update, drain: rollcallv1.Drain_DRAIN_NONE, changed: map[chan struct{}]struct{}{}}
	m.listen(!db.bare)
	db.members[pod], w.byIP[ip] = m, m
	return m
}

// listen is the start of the pod's agent, if it has one. mu is held.
func (m *member) listen(agent bool) {
	server, listener := grpc.NewServer(), bufconn.Listen(64<<10)
	if agent {
		rollcallv1.RegisterAgentServiceServer(server, m)
	}
	go func() { _ = server.Serve(listener) }()
	m.server, m.listener = server, listener
}

// strand takes a pod's node away: nothing of it runs any more.
func (db *database) strand(name string) {
	w := db.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := db.members[name]
	pod, _ := w.server.Pod(namespace, name)
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Now()}}}
	pods := w.admin.Kubernetes.CoreV1().Pods(namespace)
	made, err := pods.Update(context.Background(), pod, metav1.UpdateOptions{})
	if err == nil {
		made.Status = pod.Status
		_, err = pods.UpdateStatus(context.Background(), made, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Errorf("strand %s: %v", name, err)
	}
	m.live, db.stranded = false, map[string]types.UID{name: m.uid}
	if db.leader == name {
		db.leader = ""
	}
	go m.server.Stop()
	db.told()
}

// setState writes what the kubelet would: running, or crashing again and again; ready or not.
func setState(pod *corev1.Pod, broken, ready bool) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	db := corev1.ContainerStatus{Name: "db", State: running, Ready: ready, Started: &ready}
	if broken {
		db.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		db.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
		db.RestartCount = 3
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{db}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1alpha1.AgentContainer, State: running, Ready: true, Started: new(true)}}
	is := corev1.ConditionFalse
	if ready {
		is = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: is, LastTransitionTime: metav1.Now()},
	}
}

// goLive makes a pod Ready and a member of its database. mu is held.
func (db *database) goLive(m *member) {
	m.live, m.settled = true, time.Now()
	if db.leader == "" && db.mayLead(m) {
		db.leader = m.pod
	}
	if pod, ok := db.w.server.Pod(namespace, m.pod); ok && pod.UID == m.uid {
		setState(pod, false, m.revision != db.unreadyOn)
		if _, err := db.w.admin.Kubernetes.CoreV1().Pods(namespace).UpdateStatus(context.Background(), pod, metav1.UpdateOptions{}); err != nil {
			db.w.t.Errorf("%s Ready: %v", m.pod, err)
		}
	}
	db.told()
}

// mayLead reports whether managers lead where there are any, else who holds data.
func (db *database) mayLead(m *member) bool {
	if db.fixed != "" {
		return m.pod == db.fixed
	}
	return m.pool.manages || !m.pool.empty && !slices.ContainsFunc(db.pools, func(p *pool) bool { return p.manages })
}

// told wakes all report streams. mu is held.
func (db *database) told() {
	for _, m := range db.members {
		for c := range m.changed {
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}
}

// removed is the kubelet and the StatefulSet controller.
func (w *world) removed(pod *corev1.Pod) {
	w.mu.Lock()
	db := w.dbs[pod.Labels["app"]]
	m := db.members[pod.Name]
	w.removals = append(w.removals, pod.Name+" "+m.revision)
	m.stopping = true
	w.mu.Unlock()
	go func() {
		time.Sleep(2 * time.Second)
		w.mu.Lock()
		m.live = false
		if db.leader == m.pod {
			db.leader = ""
			for _, name := range slices.Sorted(keys(db.members)) {
				if other := db.members[name]; other.live && db.mayLead(other) && db.leader == "" {
					db.leader = name
				}
			}
		}
		db.told()
		delete(db.members, m.pod)
		w.mu.Unlock()
		m.server.Stop()
		if w.stuck[pod.Name] {
			return
		}
		w.server.EndPod(namespace, pod.Name, pod.UID)
		time.Sleep(time.Second)
		w.mu.Lock()
		next := db.create(m.pool, pod.Name)
		w.mu.Unlock()
		time.Sleep(db.start)
		w.mu.Lock()
		defer w.mu.Unlock()
		if next != nil && db.members[next.pod] == next && !next.stopping && !db.broken[next.revision] {
			db.goLive(next)
		}
	}()
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

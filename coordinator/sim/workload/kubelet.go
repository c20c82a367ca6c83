package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/network"
)

// Fate of the pods of a revision, or of one pod.
type Fate uint8

const (
	Well Fate = iota
	// Crashes means that the database's process ends again and again.
	Crashes
	// NoImage means that its image cannot be pulled.
	NoImage
	// Unschedulable means that no node takes it.
	Unschedulable
	// Mute means that it runs and never becomes a member.
	Mute
)

func (f Fate) String() string {
	return [...]string{"well", "crashes", "has no image", "finds no node", "never joins"}[f]
}

// Kubelets runs the pods of all nodes.
type Kubelets struct {
	loop   *clock.Loop
	server *api.Server
	db     *database.Database
	hub    *network.Hub
	// Fate of a pod that starts.
	Fate func(pod *corev1.Pod) Fate
	// StateDir is where pods have their empty directories.
	StateDir string
	// Token is a secret of all pods, which nobody may ever print.
	Token string
	// Age of the pods that are Running from the beginning.
	Age time.Duration
	// Ephemeral is true if the data of a pod is gone with it.
	Ephemeral bool
	// ReuseIP is true if a new pod gets the address that was given back last.
	ReuseIP bool

	skews  map[string]time.Duration
	nodes  []string
	zones  map[string]string
	pods   map[types.UID]*Run
	down   map[string]bool
	nextIP int
	freed  []string
}

// Run is a pod on its node.
type Run struct {
	Agent    *network.Agent
	pod      string
	uid      types.UID
	node, ip string
	crashes  int32
	stopping bool
	started  bool
}

// NewKubelets begins to watch a server. Pods land on the nodes in turn.
func NewKubelets(loop *clock.Loop, server *api.Server, db *database.Database, hub *network.Hub, zones map[string]string, nodes []string) *Kubelets {
	k := &Kubelets{
		loop: loop, server: server, db: db, hub: hub, nodes: nodes, zones: zones, pods: map[types.UID]*Run{}, down: map[string]bool{}, skews: map[string]time.Duration{},
		Fate: func(*corev1.Pod) Fate { return Well },
	}
	server.Changed = append(server.Changed, func(kind api.Kind, before, after api.Object) {
		if kind != api.Pods || after == nil {
			return
		}
		pod := after.(*corev1.Pod)
		switch was, _ := before.(*corev1.Pod); {
		case was == nil && pod.Spec.NodeName == "":
			k.loop.In(k.loop.Between(20*time.Millisecond, 400*time.Millisecond), func() { k.schedule(pod.Name, pod.UID) })
		case was != nil && was.DeletionTimestamp == nil && pod.DeletionTimestamp != nil:
			k.loop.In(k.loop.Between(5*time.Millisecond, 100*time.Millisecond), func() { k.terminate(pod.Name, pod.UID) })
		}
	})
	return k
}

// Run of a pod, nil when it has none.
func (k *Kubelets) Run(uid types.UID) *Run { return k.pods[uid] }

// Running makes the pods of sets that have been running for a while.
func (k *Kubelets) Running(sets ...*appsv1.StatefulSet) error {
	var agents []func()
	for _, set := range sets {
		for n := First(set); n < First(set)+int(*set.Spec.Replicas); n++ {
			start, err := k.running(newPod(set, n, Template(set), true))
			if err != nil {
				return err
			}
			agents = append(agents, start)
		}
	}
	for _, start := range agents { // which look at all members at once
		start()
	}
	return nil
}

// running puts a pod on its node, and answers what starts its agent.
func (k *Kubelets) running(pod *corev1.Pod) (func(), error) {
	provide(k.server, pod)
	r := &Run{pod: pod.Name, node: k.Node(pod.Name), ip: k.address(), started: true}
	pod.Spec.NodeName = r.node
	born := metav1.NewTime(now().Add(-k.Age))
	pod.CreationTimestamp = born
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: r.ip, ContainerStatuses: []corev1.ContainerStatus{{
		Name: Database, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: born}},
	}}}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: born})
	}
	pod.UID = types.UID(pod.Name + "-uid0")
	r.uid = pod.UID
	k.pods[r.uid] = r
	if err := k.server.Create(api.Pods, pod); err != nil {
		return nil, err
	}
	k.db.AddLive(pod.Name, "9.9.0")
	return func() { k.startAgent(pod, r) }, nil
}

// Node is where a pod's volume is.
func (k *Kubelets) Node(pod string) string { return k.nodes[Ordinal(pod)%len(k.nodes)] }

// pod is the pod of that UID, as long as it is there.
func (k *Kubelets) pod(name string, uid types.UID) *corev1.Pod {
	if pod := k.server.Pod(name); pod != nil && pod.UID == uid {
		return pod
	}
	return nil
}

// write changes a pod's status.
func (k *Kubelets) write(name string, uid types.UID, change func(pod *corev1.Pod)) {
	pod := k.pod(name, uid)
	if pod == nil {
		return
	}
	next := *pod
	next.Status = *pod.Status.DeepCopy()
	change(&next)
	k.server.Put(api.Pods, &next)
}

// schedule finds a node; a pod comes back to the node of its volume.
func (k *Kubelets) schedule(name string, uid types.UID) {
	pod := k.pod(name, uid)
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	node := k.Node(name)
	if k.Fate(pod) == Unschedulable || k.down[node] || k.cordoned(node) {
		k.write(name, uid, func(pod *corev1.Pod) {
			setCondition(&pod.Status, corev1.PodScheduled, false)
			pod.Status.Conditions[len(pod.Status.Conditions)-1].Reason = corev1.PodReasonUnschedulable
		})
		k.loop.In(5*time.Second, func() { k.schedule(name, uid) })
		return
	}
	r := &Run{pod: name, uid: uid, node: node, ip: k.address()}
	k.pods[uid] = r
	k.write(name, uid, func(pod *corev1.Pod) {
		pod.Spec.NodeName = node
		pod.Status.PodIP = r.ip
		pod.Status.Conditions = nil
		setCondition(&pod.Status, corev1.PodScheduled, true)
		setCondition(&pod.Status, corev1.PodReady, false)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: Database, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		}}
	})
	k.loop.In(k.loop.Between(200*time.Millisecond, time.Second), func() { k.start(r) })
}

func (k *Kubelets) cordoned(node string) bool {
	n := k.server.Node(node)
	return n == nil || n.Spec.Unschedulable
}

func (k *Kubelets) address() string {
	if n := len(k.freed); k.ReuseIP && n > 0 {
		ip := k.freed[n-1]
		k.freed = k.freed[:n-1]
		return ip
	}
	k.nextIP++
	return fmt.Sprintf("10.0.%d.%d", k.nextIP/250, k.nextIP%250+1)
}

// start runs the agent, and then the database.
func (k *Kubelets) start(r *Run) {
	pod := k.pod(r.pod, r.uid)
	if pod == nil || r.stopping || k.down[r.node] {
		return
	}
	k.startAgent(pod, r)
	fate := k.Fate(pod)
	if fate == NoImage {
		k.write(r.pod, r.uid, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
		})
		k.loop.In(10*time.Second, func() { k.retry(r) })
		return
	}
	k.run(r)
}

// retry is for a pod whose image was missing.
func (k *Kubelets) retry(r *Run) {
	if pod := k.pod(r.pod, r.uid); pod != nil && !r.stopping && !r.started {
		if k.Fate(pod) == NoImage {
			k.loop.In(10*time.Second, func() { k.retry(r) })
			return
		}
		k.run(r)
	}
}

func (k *Kubelets) startAgent(pod *corev1.Pod, r *Run) {
	if len(pod.Spec.InitContainers) == 0 || r.Agent != nil {
		return
	}
	dir := ""
	if k.StateDir != "" {
		dir = filepath.Join(k.StateDir, string(r.uid))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			panic(err)
		}
	}
	r.Agent = k.hub.Start(network.Options{
		Namespace: pod.Namespace, Cluster: pod.Labels[v1alpha1.LabelCluster], Pod: r.pod, UID: string(r.uid), IP: r.ip,
		Zone: k.zones[r.node], Grace: Grace, StateDir: dir, Engine: k.db.Engine(r.pod), Token: k.Token,
	})
	r.Agent.Skew = k.skews[r.node]
}

// Skew moves the clock of a node, for the agents on it and those that come.
func (k *Kubelets) Skew(node string, by time.Duration) {
	k.skews[node] += by
	for _, r := range k.pods {
		if r.node == node && r.Agent != nil {
			r.Agent.Skew += by
		}
	}
}

// KillAgent ends an agent's process; the kubelet starts it again.
func (k *Kubelets) KillAgent(r *Run) {
	if r.Agent == nil {
		return
	}
	k.hub.Stop(r.Agent, true)
	r.Agent = nil
	k.loop.In(k.loop.Between(time.Second, 3*time.Second), func() {
		if pod := k.pod(r.pod, r.uid); pod != nil && k.pods[r.uid] == r && !k.down[r.node] {
			k.startAgent(pod, r)
		}
	})
}

// run starts the database's process.
func (k *Kubelets) run(r *Run) {
	pod := k.pod(r.pod, r.uid)
	if pod == nil || r.stopping || k.down[r.node] {
		return
	}
	r.started = true
	k.write(r.pod, r.uid, func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		c := &pod.Status.ContainerStatuses[0]
		c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now()}}
		c.RestartCount = r.crashes
	})
	crashes := r.crashes
	switch k.Fate(pod) {
	case Crashes:
		k.loop.In(k.loop.Between(500*time.Millisecond, 2*time.Second), func() {
			if !r.stopping && r.crashes == crashes {
				k.crashed(r)
			}
		})
	case Mute:
	default:
		k.db.Start(r.pod, "9.9.0", func() { k.probe(r, crashes) })
	}
}

// probe finds a member ready.
func (k *Kubelets) probe(r *Run, crashes int32) {
	k.loop.In(k.loop.Between(100*time.Millisecond, 2*time.Second), func() {
		if !r.stopping && !k.down[r.node] && r.crashes == crashes && k.db.Up(r.pod) {
			k.write(r.pod, r.uid, func(pod *corev1.Pod) {
				pod.Status.ContainerStatuses[0].Ready = true
				setCondition(&pod.Status, corev1.PodReady, true)
			})
		}
	})
}

// crashed notes the end of the database's process and starts another, at once
// the first time and later each time.
func (k *Kubelets) crashed(r *Run) {
	r.crashes++
	k.loop.Log("kubelet", "%s crashed, %d times", r.pod, r.crashes)
	last := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: now(), FinishedAt: now()}}
	wait := min(time.Second<<min(r.crashes, 6), time.Minute)
	k.write(r.pod, r.uid, func(pod *corev1.Pod) {
		c := &pod.Status.ContainerStatuses[0]
		c.Ready, c.LastTerminationState, c.State = false, last, last
		if r.crashes > 1 {
			c.RestartCount = r.crashes - 1
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}
		setCondition(&pod.Status, corev1.PodReady, false)
	})
	if r.crashes == 1 {
		wait = 200 * time.Millisecond
	}
	k.loop.In(wait, func() {
		if !r.stopping {
			k.run(r)
		}
	})
}

package run

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/sim/api"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
	"github.com/rollcall-dev/rollcall/coordinator/sim/database"
	"github.com/rollcall-dev/rollcall/coordinator/sim/network"
	"github.com/rollcall-dev/rollcall/coordinator/sim/oracle"
	"github.com/rollcall-dev/rollcall/coordinator/sim/workload"
)

const (
	namespace = api.Namespace
	name      = "db" // of the DatabaseCluster and of its StatefulSet
	secret    = "s3cr3t-t0ken"
)

var (
	nodes = []string{"node0", "node1", "node2"}
	zones = map[string]string{"node0": "z0", "node1": "z1", "node2": "z2"}
)

// world is everything that one seed makes.
type world struct {
	scenario   Scenario
	loop       *clock.Loop
	server     *api.Server
	db         *database.Database
	hub        *network.Hub
	controller *workload.Controller
	kubelets   *workload.Kubelets
	oracle     *oracle.Oracle

	processes []*process
	leader    *process
	started   int // processes so far
	claims    int
	rolling   bool
	revisions int
	// maxPods and maxShard are the limits that people ask for now, first how many pods of
	// the first pool they want.
	maxPods, maxShard, first int
	// wanted is the template that was asked for last, though its StatefulSets may not exist then.
	wanted string
	// bad are the fates of revisions, unlucky those of pods.
	bad     map[string]workload.Fate
	unlucky map[string]workload.Fate
	bug     *Bug
	// moment is told of moments in the lives of claims. It is nil if no fault waits for one.
	moment func(now moment, pod string)
	hits   map[Class]bool
	// observer looks on. It is nil if nobody does.
	observer *Observer
	tally    Tally
	traffic
}

func newWorld(s Scenario, configDir, stateDir string) *world {
	loop := clock.New(s.Seed)
	w := &world{
		scenario: s, loop: loop, server: api.New(loop), db: database.New(loop, database.DefaultTimes()), hub: network.New(loop, configDir),
		maxPods: s.MaxPods, maxShard: s.MaxShard, first: s.pools()[0].Replicas,
		hits: map[Class]bool{}, bad: map[string]workload.Fate{}, unlucky: map[string]workload.Fate{},
	}
	if s.Shared {
		w.db.Share()
	}
	if s.Replace || s.Ephemeral {
		w.db.Move(s.Hollow)
	}
	w.traffic = traffic{w: w, cut: map[string]bool{}}
	w.hub.Blocked, w.hub.Slow, w.hub.Tamper = w.blocked, w.slow, w.tamper
	w.server.Enforce = s.Guarded
	w.server.Ours = func(user string) bool { return user[0] == 'c' }
	names := s.names()
	for i, shard := range s.Shards {
		var pods []string
		for _, place := range shard {
			pods = append(pods, names[place])
		}
		if s.Galera {
			w.db.Galera(s.Arbitrator, s.Keeps, pods...)
			continue
		}
		if s.Acks > 0 {
			w.db.Replicate(s.Acks, pods...)
			if s.Fixed {
				w.db.Fix()
			}
			continue
		}
		w.db.AddShard(fmt.Sprintf("books/s%d", i+1), pods...)
	}
	if len(s.Voters) > 0 {
		var voters []string
		for _, place := range s.Voters {
			voters = append(voters, names[place])
		}
		w.db.Vote(voters...)
	}
	for _, node := range nodes {
		w.mustCreate(api.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: node, Labels: map[string]string{"topology.kubernetes.io/zone": zones[node]},
		}})
	}
	if s.Veto > 0 {
		w.db.SetVeto(w.vetoing(), "a backup runs")
	}
	w.mustCreate(api.Clusters, w.cluster())
	w.kubelets = workload.NewKubelets(loop, w.server, w.db, w.hub, zones, nodes)
	w.kubelets.Fate, w.kubelets.StateDir, w.kubelets.Token, w.kubelets.Age = w.fate, stateDir, secret, s.Age
	w.kubelets.Ephemeral = s.Ephemeral
	for i, p := range s.pools() {
		w.mustCreate(api.Sets, w.set(i, p))
		for n := range p.Replicas {
			w.db.Rank(fmt.Sprintf("%s-%d", poolName(i), p.Start+n), p.Rank)
		}
	}
	if err := w.kubelets.Running(w.sets()...); err != nil {
		panic(err)
	}
	w.revisions, w.wanted = 1, "v1"
	if s.Galera {
		w.db.Tell(w.tells)
		w.person(0)
	}
	w.controller = workload.NewController(loop, w.server)
	w.oracle = oracle.New(loop, w.server, w.db, oracle.Limits{
		Cluster: name, Sets: s.setNames(), Pods: s.maxUnavailable(w.maxPods, w.first), Shard: s.MaxShard, ByPartition: s.Rolls == model.RollingUpdateByPartition, Zones: s.MaxZones, Ephemeral: s.Ephemeral, Replaced: s.Replace, Quiet: len(s.Faults) == 0,
	})
	w.oracle.Tells = func(pod string) bool { return w.tells(pod, w.leader.name) }
	w.oracle.Zone = func(pod string) string { return zones[w.kubelets.Node(pod)] }
	w.server.Changed = append(w.server.Changed, w.labelled, w.notice)
	w.oracle.Seen, w.oracle.Secret, w.oracle.Broken = w.hub.Seen, secret, w.kubelets.Broken
	loop.After = w.oracle.Look
	return w
}

// vetoing is the pod whose member asks not to be disturbed.
func (w *world) vetoing() string {
	names := w.scenario.names()
	return names[w.scenario.Seed%uint64(len(names))]
}

func (w *world) mustCreate(kind api.Kind, object api.Object) {
	if err := w.server.Create(kind, object); err != nil {
		panic(err)
	}
}

// clusterUID is the same in every run, so that all agents can read one file.
const clusterUID = "dbc-uid"

func (w *world) cluster() *v1alpha1.DatabaseCluster {
	c := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: clusterUID, Generation: 1}}
	pods, shard := model.Count(int64(w.scenario.MaxPods)), model.Count(int64(w.scenario.MaxShard))
	c.Spec.Engine = model.Solr
	c.Spec.Policy.MaxUnavailable, c.Spec.Policy.MaxShardUnavailable = &pods, &shard
	c.Spec.Update.Method = w.scenario.Method
	c.Spec.Update.RollingUpdate = w.scenario.Rolls
	if !w.scenario.Guarded {
		c.Spec.Guard = model.GuardOff
	}
	c.Spec = c.Spec.WithDefaults()
	c.Spec.Policy.SoakSeconds = int64(w.scenario.Soak)
	c.Spec.Update.Adopt = model.AdoptAllow
	c.Spec.Policy.StartSeconds, c.Spec.Policy.ProgressSeconds = 60, 60
	c.Spec.Drain.TimeoutSeconds = 40
	if w.scenario.Age > 0 {
		c.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue}}
	}
	switch w.scenario.Kind {
	case Members:
		c.Spec.Engine = model.Galera
		c.Spec.Policy.StartSeconds, c.Spec.Policy.ProgressSeconds = galeraStarts, galeraStarts
	case ByZone:
		c.Spec.Policy.Unit = model.UnitZone
	case AtOnce:
		c.Spec.Policy.Unit = model.UnitAll
	}
	if w.scenario.MaxZones > 0 {
		zones := model.Count(int64(w.scenario.MaxZones))
		c.Spec.Policy.MaxZonesUnavailable = &zones
	}
	if w.scenario.Ephemeral {
		c.Spec.Drain.Data.Restart = model.DataLose
	}
	if w.scenario.Replace {
		c.Spec.Replacement.UpdateStrategy = model.UpdateReplace
	}
	return c
}

// set is a pool's StatefulSet. A line rests where the coordinator puts it at rest.
func (w *world) set(i int, p Pool) *appsv1.StatefulSet {
	set := workload.NewSet(namespace, poolName(i), name, "v1", int32(p.Replicas))
	if p.Start > 0 {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(p.Start)}
	}
	if w.scenario.Replace {
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}
	if w.scenario.Ordered {
		set.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	if w.scenario.Rolls != "" {
		set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
		line := int32(0)
		if w.scenario.Rolls == model.RollingUpdateByPartition {
			line = model.FirstOrdinalNone
			set.Annotations = map[string]string{v1alpha1.AnnotationPartition: fmt.Sprint(line)}
		}
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &line}
	}
	return set
}

// labelled is what the guard does with a pod that has come without its label.
func (w *world) labelled(kind api.Kind, before, after api.Object) {
	pod, ok := after.(*corev1.Pod)
	if !ok || kind != api.Pods || before != nil || !w.scenario.Guarded || pod.Labels[v1alpha1.LabelGuard] != "" {
		return
	}
	w.loop.In(w.loop.Between(100*time.Millisecond, time.Second), func() {
		if now := w.server.Pod(pod.Name); now != nil && now.UID == pod.UID {
			next := *now
			next.Labels = maps.Clone(now.Labels)
			next.Labels[v1alpha1.LabelGuard] = v1alpha1.GuardClosed
			w.server.Put(api.Pods, &next)
		}
	})
}

// fate of a pod: its own, else that of its revision.
func (w *world) fate(pod *corev1.Pod) workload.Fate {
	if f := w.unlucky[pod.Name]; f != workload.Well {
		return f
	}
	return w.bad[workload.Revision(pod)]
}

// pods are the set's pods that exist, in order.
func (w *world) pods() []*corev1.Pod {
	var out []*corev1.Pod
	for _, n := range w.server.Names(api.Pods) {
		out = append(out, w.server.Pod(n))
	}
	return out
}

// edit makes a new template.
func (w *world) edit() string {
	w.revisions++
	revision := fmt.Sprintf("v%d", w.revisions)
	w.editTo(revision)
	return revision
}

func (w *world) editTo(revision string) {
	w.loop.Log("user", "makes the template %s", revision)
	w.wanted = revision
	for _, had := range w.sets() {
		set := *had
		template := set.Spec.Template.DeepCopy()
		template.Labels["rev"] = revision
		set.Spec.Template = *template
		set.Generation++
		w.server.Put(api.Sets, &set)
	}
	w.rolling = true
}

// change edits the DatabaseCluster; its spec belongs to the caller.
func (w *world) change(what string, edit func(*v1alpha1.DatabaseCluster)) {
	c := w.server.Cluster(name).DeepCopy()
	edit(c)
	c.Generation++
	w.loop.Log("user", "%s", what)
	w.server.Put(api.Clusters, c)
}

// current reports whether all pods run the template, and a partition rests.
func (w *world) current() bool {
	for _, set := range w.sets() {
		if w.scenario.Rolls == model.RollingUpdateByPartition && (workload.Partition(set) != model.FirstOrdinalNone || set.Status.CurrentRevision != workload.Template(set)) {
			return false
		}
	}
	return !slices.ContainsFunc(w.pods(), func(pod *corev1.Pod) bool {
		set := w.server.Set(pod.Name[:strings.LastIndexByte(pod.Name, '-')])
		return set == nil || workload.Revision(pod) != workload.Template(set)
	})
}

// contented reports whether the leader has long said that it is done, whatever the pods run.
func (w *world) contented() bool {
	p := w.leader
	return p.finished > 0 && w.loop.Now()-p.finished > 40*time.Second
}

// done reports whether everybody is back, and nothing is open. A copy that has broken by itself on
// a pod that need not go is nobody's business: no rollout cures it.
func (w *world) done() bool {
	pods, wanted := w.pods(), 0
	for _, set := range w.sets() {
		wanted += int(*set.Spec.Replicas)
	}
	if !w.complete() || len(pods) != wanted || len(w.server.Cluster(name).Status.Claims) > 0 {
		return false
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || !workload.Ready(pod) || !w.db.There(pod.Name) {
			return false
		}
	}
	if w.scenario.Galera && !w.db.Component().Whole() {
		return false
	}
	return len(w.db.Marks()) == 0 && len(w.server.Cluster(name).Finalizers) == 0
}

// adopted reports whether all pods have agents.
func (w *world) adopted() bool {
	return !slices.ContainsFunc(w.pods(), func(pod *corev1.Pod) bool { return len(pod.Spec.InitContainers) == 0 })
}

// configure writes what all agents of all runs read.
func configure(dir string) error {
	file := fmt.Sprintf(`{"clusterUID":%q,"service":"db-rollcall","engine":"Solr","drain":{"timeoutSeconds":20}}`, clusterUID)
	return os.WriteFile(dir+"/agent.json", []byte(file), 0o600)
}

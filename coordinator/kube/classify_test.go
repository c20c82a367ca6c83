package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var birth = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) metav1.Time { return metav1.NewTime(birth.Add(d)) }

// change alters a pod that runs and is Ready.
type change func(*corev1.Pod)

func readyPod(changes ...change) *corev1.Pod {
	started := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "search-0", Namespace: "prod", UID: "u0", CreationTimestamp: after(0)},
		Spec: corev1.PodSpec{
			NodeName:       "node1",
			InitContainers: []corev1.Container{{Name: "rollcall-agent"}},
			Containers:     []corev1.Container{{Name: "solr", Image: "solr:9.9.0"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: after(time.Second)},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: after(time.Minute)},
			},
			InitContainerStatuses: []corev1.ContainerStatus{{
				Name: "rollcall-agent", Started: &started, State: running(2 * time.Second),
			}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "solr", Ready: true, Started: &started, State: running(5 * time.Second),
			}},
		},
	}
	for _, c := range changes {
		c(p)
	}
	return p
}

func running(d time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(d)}}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func ended(reason string, code int32, from, to time.Duration) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: reason, ExitCode: code, StartedAt: after(from), FinishedAt: after(to),
	}}
}

func unready(at time.Duration) change {
	return func(p *corev1.Pod) {
		p.Status.Conditions[1].Status = corev1.ConditionFalse
		p.Status.Conditions[1].LastTransitionTime = after(at)
	}
}

func database(state, last corev1.ContainerState, restarts int32) change {
	return func(p *corev1.Pod) {
		c := &p.Status.ContainerStatuses[0]
		c.State, c.LastTerminationState, c.RestartCount, c.Ready = state, last, restarts, false
	}
}

func sidecar(state corev1.ContainerState, restarts int32) change {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses[0].State = state
		p.Status.InitContainerStatuses[0].RestartCount = restarts
	}
}

func initContainer(state corev1.ContainerState) change {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses,
			corev1.ContainerStatus{Name: "clone", State: state})
	}
}

func TestClassify(t *testing.T) {
	none := corev1.ContainerState{}
	const s, m, h = time.Second, time.Minute, time.Hour
	tests := []struct {
		name    string
		changes []change
		want    state
	}{
		{"ready", nil, state{Ready, birth.Add(m), ""}},
		{"terminating counts from when it was asked", []change{func(p *corev1.Pod) {
			at, grace := after(130*s), int64(30)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
		}}, state{Terminating, birth.Add(100 * s), ""}},
		{"evicted by the kubelet", []change{unready(2 * m), func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		}}, state{Failed, birth.Add(2 * m), Ended}},
		{"no node yet", []change{func(p *corev1.Pod) { p.Spec.NodeName = "" }}, state{Pending, birth, ""}},
		{"no node fits", []change{func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = corev1.ConditionFalse, "Unschedulable"
		}}, state{Pending, birth, Unschedulable}},
		{"the kubelet has not said anything", []change{unready(s), func(p *corev1.Pod) {
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, nil
		}}, state{NotStarted, birth.Add(s), ""}},
		{"image cannot be pulled", []change{unready(s), database(waiting("ImagePullBackOff"), none, 0)},
			state{NotStarted, birth.Add(s), ImagePull}},
		{"configuration missing", []change{unready(s), database(waiting("CreateContainerConfigError"), none, 0)},
			state{NotStarted, birth.Add(s), Config}},
		{"the runtime refuses the command, again and again", []change{unready(s),
			database(waiting("CrashLoopBackOff"), ended("StartError", 128, 0, 0), 4)},
			state{NotStarted, birth.Add(s), Config}},
		{"an init container clones", []change{unready(s), initContainer(running(3 * s)),
			database(waiting("PodInitializing"), none, 0)}, state{NotStarted, birth.Add(s), ""}},
		{"an init container fails", []change{unready(s), initContainer(waiting("CrashLoopBackOff")),
			database(waiting("PodInitializing"), none, 0)}, state{NotStarted, birth.Add(s), Init}},
		{"an init container's image cannot be pulled", []change{unready(s), initContainer(waiting("ErrImagePull")),
			database(waiting("PodInitializing"), none, 0)}, state{NotStarted, birth.Add(s), ImagePull}},
		{"the agent's image cannot be pulled", []change{unready(s), sidecar(waiting("ErrImagePull"), 0),
			database(waiting("PodInitializing"), none, 0)}, state{NotStarted, birth.Add(s), Sidecar}},
		{"starts", []change{unready(s), database(running(5*s), none, 0)}, state{Started, birth.Add(5 * s), ""}},
		{"starts for the second time", []change{unready(s), database(running(20*s), ended("Error", 1, 5*s, 19*s), 1)},
			state{Started, birth.Add(s), ""}},
		{"has crashed once and waits a moment", []change{unready(s), database(ended("Error", 1, 5*s, 19*s), none, 0)},
			state{Started, birth.Add(s), ""}},
		{"was ready and is not any more", []change{unready(3 * h), database(running(5*s), none, 0)},
			state{Started, birth.Add(3 * h), ""}},
		{"crash loop, waiting", []change{unready(s), database(waiting("CrashLoopBackOff"), ended("Error", 1, 60*s, 61*s), 3)},
			state{Failed, birth.Add(s), CrashLoop}},
		{"crash loop, just exited", []change{unready(s), database(ended("Error", 1, 60*s, 61*s), ended("Error", 1, 30*s, 31*s), 3)},
			state{Failed, birth.Add(s), CrashLoop}},
		{"crash loop, trying again", []change{unready(s), database(running(90*s), ended("Error", 1, 60*s, 61*s), 3)},
			state{Failed, birth.Add(s), CrashLoop}},
		{"killed by its startup probe again and again", []change{unready(s), database(running(400*s), ended("Error", 137, 60*s, 390*s), 2)},
			state{Failed, birth.Add(s), CrashLoop}},
		{"crashed after long runs only", []change{unready(9 * h), database(running(9*h), ended("OOMKilled", 137, h, 9*h), 2)},
			state{Started, birth.Add(9 * h), ""}},
		{"killed once after a long run, long after another restart", []change{unready(9 * h), database(ended("OOMKilled", 137, h, 9*h), ended("Error", 1, 5*s, 19*s), 1)},
			state{Started, birth.Add(9 * h), ""}},
		{"the same, about to start again", []change{unready(9 * h), database(waiting("ContainerCreating"), ended("OOMKilled", 137, h, 9*h), 1)},
			state{Started, birth.Add(9 * h), ""}},
		{"the agent crashes beside a ready database", []change{sidecar(waiting("CrashLoopBackOff"), 9)},
			state{Ready, birth.Add(m), ""}},
		{"the agent's crashes make the pod unready, not failed", []change{unready(2 * m), sidecar(waiting("CrashLoopBackOff"), 9)},
			state{Started, birth.Add(2 * m), Sidecar}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := classify(readyPod(tt.changes...), "solr")
			require.Equal(t, tt.want.phase.String(), got.phase.String())
			require.Equal(t, tt.want.problem, got.problem)
			require.Equal(t, tt.want.since, got.since.UTC())
		})
	}
}

// spec alters what the pod was made from.
func spec(alter func(*corev1.PodSpec)) change { return func(p *corev1.Pod) { alter(&p.Spec) } }

// startup gives the database a startup probe of 30 tries, one in ten seconds.
var startup = spec(func(s *corev1.PodSpec) {
	grace := int64(60)
	s.TerminationGracePeriodSeconds = &grace
	s.Containers[0].StartupProbe = &corev1.Probe{InitialDelaySeconds: 20, PeriodSeconds: 10, FailureThreshold: 30, TimeoutSeconds: 5}
})

func started(yes bool) change {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Started = &yes }
}

// sandbox is what the kubelet says of volumes and network.
func sandbox(status corev1.ConditionStatus) change {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReadyToStartContainers, Status: status, LastTransitionTime: after(time.Second)})
	}
}

// The shapes in which a pod stays stuck, as a kubelet writes them: each has a
// name at every moment, not only between two tries.
func TestShapesOfStuckPods(t *testing.T) {
	none := corev1.ContainerState{}
	always := corev1.ContainerRestartPolicyAlways
	const s, m = time.Second, time.Minute
	helper := spec(func(s *corev1.PodSpec) {
		s.InitContainers = append(s.InitContainers, corev1.Container{Name: "clone", RestartPolicy: &always})
	})
	plain := spec(func(s *corev1.PodSpec) { s.InitContainers = append(s.InitContainers, corev1.Container{Name: "clone"}) })
	tries := func(state, last corev1.ContainerState, restarts int32) change {
		return func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses,
				corev1.ContainerStatus{Name: "clone", State: state, LastTerminationState: last, RestartCount: restarts})
		}
	}
	initializing := database(waiting("PodInitializing"), none, 0)
	tests := []struct {
		name    string
		changes []change
		phase   Phase
		want    Problem
	}{
		{"killed by its startup probe, starting again", []change{startup, started(false),
			database(running(700*s), ended("Error", 143, 330*s, 655*s), 2)}, Failed, StartupProbe},
		{"killed by its startup probe after the grace period", []change{startup, started(false),
			database(running(800*s), ended("Error", 137, 330*s, 710*s), 3)}, Failed, StartupProbe},
		{"killed by its startup probe, waiting", []change{startup, started(false),
			database(waiting("CrashLoopBackOff"), ended("Error", 137, 330*s, 655*s), 3)}, Failed, StartupProbe},
		{"killed by its startup probe, just now", []change{startup, started(false),
			database(ended("Error", 143, 330*s, 655*s), ended("Error", 143, 0, 325*s), 2)}, Failed, StartupProbe},
		{"a start that takes longer than a crash loop's", []change{spec(func(s *corev1.PodSpec) {
			s.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 15, FailureThreshold: 60}
		}), started(false), database(running(40*m), ended("Error", 143, 20*m, 35*m+10*s), 2)}, Failed, StartupProbe},
		{"killed by its startup probe once", []change{startup, started(false),
			database(running(400*s), ended("Error", 143, 30*s, 355*s), 1)}, Started, ""},
		{"it has started since", []change{startup, started(true),
			database(running(700*s), ended("Error", 143, 330*s, 655*s), 2)}, Failed, CrashLoop},
		{"it exits by itself before the probe could end it", []change{startup, started(false),
			database(running(700*s), ended("Error", 1, 650*s, 655*s), 2)}, Failed, CrashLoop},
		{"killed before the probe could end it", []change{startup, started(false),
			database(running(700*s), ended("Error", 137, 450*s, 655*s), 2)}, Failed, CrashLoop},
		{"killed long after it had started", []change{startup, started(false),
			database(waiting("CrashLoopBackOff"), ended("Error", 137, 5*m, 55*m), 2)}, Failed, CrashLoop},
		{"out of memory while it starts", []change{startup, started(false),
			database(running(700*s), ended("OOMKilled", 137, 330*s, 655*s), 2)}, Failed, CrashLoop},
		{"killed without a startup probe", []change{started(false),
			database(running(700*s), ended("Error", 137, 330*s, 655*s), 2)}, Failed, CrashLoop},
		{"a volume is not there", []change{sandbox(corev1.ConditionFalse), database(waiting("ContainerCreating"), none, 0)}, NotStarted, Volume},
		{"a volume is not there, beside init containers", []change{sandbox(corev1.ConditionFalse), plain,
			tries(waiting("PodInitializing"), none, 0), initializing}, NotStarted, Volume},
		{"the image is being pulled", []change{sandbox(corev1.ConditionTrue), database(waiting("ContainerCreating"), none, 0)}, NotStarted, ""},
		{"an init container has just failed", []change{plain, tries(ended("Error", 1, 3*s, 4*s), none, 0), initializing}, NotStarted, Init},
		{"an init container tries again", []change{plain, tries(running(60*s), ended("Error", 1, 30*s, 31*s), 2), initializing}, NotStarted, Init},
		{"an init container tries for the second time", []change{plain, tries(running(60*s), ended("Error", 1, 30*s, 31*s), 1), initializing}, NotStarted, ""},
		{"an init container's command is not there", []change{plain, tries(waiting("RunContainerError"), none, 0), initializing}, NotStarted, Config},
		{"a sidecar fails before the database starts", []change{helper, tries(waiting("CrashLoopBackOff"), none, 4), initializing}, NotStarted, Sidecar},
		{"a sidecar tries again", []change{helper, tries(running(60*s), ended("Error", 2, 30*s, 31*s), 4), initializing}, NotStarted, Sidecar},
		{"a sidecar's image cannot be pulled", []change{helper, tries(waiting("ImagePullBackOff"), none, 0), initializing}, NotStarted, ImagePull},
		{"the name of the image makes no sense", []change{database(waiting("InvalidImageName"), none, 0)}, NotStarted, ImagePull},
		{"a Secret is missing", []change{database(waiting("CreateContainerConfigError"), none, 0)}, NotStarted, Config},
		{"the container cannot be made", []change{database(waiting("CreateContainerError"), none, 0)}, NotStarted, Config},
		{"rejected by the node", []change{func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "OutOfcpu" }}, Failed, Ended},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := classify(readyPod(append([]change{unready(s)}, tt.changes...)...), "solr")
			require.Equal(t, tt.phase.String(), got.phase.String())
			require.Equal(t, tt.want, got.problem)
			require.Equal(t, birth.Add(s), got.since.UTC(), "the next try does not begin the phase again")
		})
	}
}

// TestTheDatabaseIsNotTheFirst checks that neither an agent nor what stands beside a database is taken
// for it.
func TestTheDatabaseIsNotTheFirst(t *testing.T) {
	spec := &corev1.PodSpec{Containers: []corev1.Container{
		{Name: "rollcall-agent"}, {Name: "exporter", Image: "exporter:1"}, {Name: "db", Image: "db:2"},
	}}
	name, image := databaseContainer(nil, spec)
	require.Equal(t, []string{"db", "db:2"}, []string{name, image})
	name, image = databaseContainer(nil, &corev1.PodSpec{Containers: spec.Containers[:1]})
	require.Equal(t, []string{"", ""}, []string{name, image})
	name, image = databaseContainer(map[string]string{"rollcall.dev/container": "db"}, spec)
	require.Equal(t, []string{"db", "db:2"}, []string{name, image})
	// A name that fits nothing runs nothing: the pod counts as not started.
	name, image = databaseContainer(map[string]string{"rollcall.dev/container": "none"}, spec)
	require.Equal(t, []string{"none", ""}, []string{name, image})
}

func TestOrdinalOf(t *testing.T) {
	for pod, want := range map[string]int{"search-0": 0, "search-12": 12, "search-x-1": -1, "search-": -1, "search-01": -1, "other-1": -1, "search--1": -1} {
		n, ok := ordinalOf(pod, "search")
		require.Equal(t, want >= 0, ok, pod)
		if ok {
			require.Equal(t, want, n, pod)
		}
	}
}

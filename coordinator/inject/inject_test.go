package inject

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares with a file, or writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	require.Equal(t, string(want), string(got))
}

// testOptions gives every injection another token, so that a second one shows.
func testOptions() Options {
	n := 0
	return Options{
		Image: "example.com/rollcall/agent:1",
		Token: func() string { n++; return fmt.Sprintf("token-%d", n) },
	}
}

func readPod(t *testing.T, path string) *corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var pod corev1.Pod
	require.NoError(t, yaml.UnmarshalStrict(text, &pod))
	return &pod
}

func TestPodGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/pod/*.in.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, inputs)
	for _, input := range inputs {
		name := strings.TrimSuffix(filepath.Base(input), ".in.yaml")
		t.Run(name, func(t *testing.T) {
			pod := readPod(t, input)
			before := pod.DeepCopy()
			opts := testOptions()
			got, warnings, err := Pod(pod, opts)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, before, pod, "the pod that was given is not changed")
			text, err := yaml.Marshal(got)
			require.NoError(t, err)
			golden(t, strings.Replace(input, ".in.", ".out.", 1), text)

			again, warnings, err := Pod(got, opts)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, got, again, "a second injection changes nothing")
		})
	}
}

// The sidecar has nothing by which it could keep the database from starting or serving, and nothing
// of the pod's own changes but the stop hook and a grace period that was too short.
func TestAgentCannotHurt(t *testing.T) {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	got, _, err := Pod(pod, testOptions())
	require.NoError(t, err)
	agent := got.Spec.InitContainers[0]
	require.Nil(t, agent.ReadinessProbe)
	require.Nil(t, agent.StartupProbe)
	require.Nil(t, agent.LivenessProbe)
	require.Nil(t, agent.Lifecycle)
	require.Equal(t, corev1.PullIfNotPresent, agent.ImagePullPolicy)
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *agent.RestartPolicy)
	for _, volume := range got.Spec.Volumes {
		if volume.Secret != nil {
			require.True(t, *volume.Secret.Optional, volume.Name)
		}
	}

	got.Spec.InitContainers = nil
	got.Spec.Volumes = got.Spec.Volumes[:len(pod.Spec.Volumes)]
	got.Spec.TerminationGracePeriodSeconds = pod.Spec.TerminationGracePeriodSeconds
	got.Spec.Containers[0].Lifecycle = nil
	require.Equal(t, pod, got)
}

// Something is mounted where a token would be, in the agent's container alone.
func TestAgentSeesNoToken(t *testing.T) {
	got, _, err := Pod(readPod(t, "testdata/pod/plain.in.yaml"), testOptions())
	require.NoError(t, err)
	at := func(c corev1.Container) (volumes []string) {
		for _, mount := range c.VolumeMounts {
			if mount.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount" {
				volumes = append(volumes, mount.Name)
			}
		}
		return volumes
	}
	require.Equal(t, []string{volumeNoToken}, at(got.Spec.InitContainers[0]))
	require.Equal(t, []string{"kube-api-access-x"}, at(got.Spec.Containers[0]))
	require.Nil(t, got.Spec.AutomountServiceAccountToken)
}

// The database's own program is mounted where the pod has it.
func TestClientVolume(t *testing.T) {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	mounted := func() bool {
		got, _, err := Pod(pod.DeepCopy(), testOptions())
		require.NoError(t, err)
		want := corev1.VolumeMount{Name: "rollcall-client", MountPath: "/opt/rollcall-client", ReadOnly: true}
		return slices.Contains(got.Spec.InitContainers[0].VolumeMounts, want)
	}
	require.False(t, mounted())
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "rollcall-client", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	require.True(t, mounted())
}

// An agent that could never work is not taken for one.
func TestHalfAnAgent(t *testing.T) {
	whole, _, err := Pod(readPod(t, "testdata/pod/plain.in.yaml"), testOptions())
	require.NoError(t, err)

	bare := whole.DeepCopy()
	bare.Spec.Volumes = nil
	_, _, err = Pod(bare, testOptions())
	require.ErrorContains(t, err, "init container rollcall-agent is there, but no volume rollcall-config with its configuration")

	unhooked := whole.DeepCopy()
	unhooked.Spec.Containers[0].Lifecycle = nil
	same, warnings, err := Pod(unhooked, testOptions())
	require.NoError(t, err)
	require.Equal(t, unhooked, same)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "has no preStop hook that would call it")
}

func TestLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*corev1.Pod){
		"no label":              func(p *corev1.Pod) { p.Labels = nil },
		"empty label":           func(p *corev1.Pod) { p.Labels[v1alpha1.LabelCluster] = "" },
		"no owner":              func(p *corev1.Pod) { p.OwnerReferences = nil },
		"owned by a Job":        func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" },
		"another StatefulSet":   func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "apps.example.com/v1" },
		"owned, not controlled": func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
	} {
		t.Run(name, func(t *testing.T) {
			pod := readPod(t, "testdata/pod/plain.in.yaml")
			change(pod)
			opts := testOptions()
			opts.CloseGuard = true
			got, warnings, err := Pod(pod, opts)
			require.NoError(t, err)
			require.Empty(t, warnings)
			require.Equal(t, pod, got)
		})
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		opts   func(*Options)
		want   []string
	}{
		"no image": {
			opts: func(o *Options) { o.Image = "" },
			want: []string{"no image of the agent"},
		},
		"bad pull policy": {
			opts: func(o *Options) { o.PullPolicy = "Sometimes" },
			want: []string{`"Sometimes"`, "IfNotPresent, Always or Never"},
		},
		"preStop": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
			},
			want: []string{"container solr has a preStop hook of its own", "rollcall.dev/prestop", "chain", "keep"},
		},
		"chain of another kind": {
			change: func(p *corev1.Pod) {
				p.Annotations = map[string]string{v1alpha1.AnnotationPreStop: "chain"}
				p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}}
			},
			want: []string{"container solr", "not of the kind exec"},
		},
		"bad prestop annotation": {
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationPreStop: "both"} },
			want:   []string{`rollcall.dev/prestop is "both"`, "must be chain or keep"},
		},
		"bad container annotation": {
			change: func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationContainer: "slor"} },
			want:   []string{`rollcall.dev/container is "slor"`, "one of the containers solr"},
		},
		"port taken": {
			change: func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: config.PortGRPC}}
			},
			want: []string{"container solr uses port 7947"},
		},
		"volume taken": {
			change: func(p *corev1.Pod) { p.Spec.Volumes[0].Name = volumeState },
			want:   []string{"volume rollcall-state exists already"},
		},
		"name taken by a container": {
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Name = v1alpha1.AgentContainer },
			want:   []string{"spec.containers[0] is named rollcall-agent"},
		},
		"name taken by an init container": {
			change: func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: v1alpha1.AgentContainer}} },
			want:   []string{"spec.initContainers[0] is named rollcall-agent but has no restartPolicy Always"},
		},
		"windows": {
			change: func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} },
			want:   []string{"spec.os.name is windows"},
		},
		"no containers": {
			change: func(p *corev1.Pod) { p.Spec.Containers = nil },
			want:   []string{"spec.containers is empty"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := readPod(t, "testdata/pod/plain.in.yaml")
			opts := testOptions()
			if c.change != nil {
				c.change(pod)
			}
			if c.opts != nil {
				c.opts(&opts)
			}
			_, _, err := Pod(pod, opts)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestGraceIsRaisedNeverLowered(t *testing.T) {
	for name, c := range map[string]struct {
		present *int64
		want    int64
	}{
		"default": {nil, 120},
		"short":   {new(int64(60)), 120},
		"zero":    {new(int64(0)), 120},
		"enough":  {new(int64(120)), 120},
		"long":    {new(int64(3600)), 3600},
	} {
		t.Run(name, func(t *testing.T) {
			pod := readPod(t, "testdata/pod/plain.in.yaml")
			pod.Spec.TerminationGracePeriodSeconds = c.present
			got, _, err := Pod(pod, testOptions())
			require.NoError(t, err)
			require.Equal(t, c.want, *got.Spec.TerminationGracePeriodSeconds)
			require.Contains(t, got.Spec.InitContainers[0].Env, corev1.EnvVar{Name: config.EnvGraceSeconds, Value: fmt.Sprint(c.want)})
		})
	}
}

func TestGuard(t *testing.T) {
	opts := testOptions()
	opts.CloseGuard = true
	got, _, err := Pod(readPod(t, "testdata/pod/plain.in.yaml"), opts)
	require.NoError(t, err)
	require.Equal(t, "closed", got.Labels[v1alpha1.LabelGuard])
	require.Equal(t, got.Labels[v1alpha1.LabelCluster], got.Labels[v1alpha1.LabelGuardCluster])

	// Also on a pod whose agent came from its manifest, but never over another value.
	got.Labels[v1alpha1.LabelGuard] = "open"
	again, _, err := Pod(got, opts)
	require.NoError(t, err)
	require.Equal(t, "open", again.Labels[v1alpha1.LabelGuard])
	delete(got.Labels, v1alpha1.LabelGuard)
	again, _, err = Pod(got, opts)
	require.NoError(t, err)
	require.Equal(t, "closed", again.Labels[v1alpha1.LabelGuard])

	// Never in a template.
	template, _, err := Template(&corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelCluster: "search"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "solr"}}},
	}, opts)
	require.NoError(t, err)
	require.NotContains(t, template.Labels, v1alpha1.LabelGuard)
	require.NotContains(t, template.Labels, v1alpha1.LabelGuardCluster)
	require.Len(t, template.Spec.InitContainers, 1)
}

func TestKeepPreStopWarns(t *testing.T) {
	pod := readPod(t, "testdata/pod/plain.in.yaml")
	hook := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 5}}
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: hook}
	opts := testOptions()
	opts.KeepPreStop = true
	got, warnings, err := Pod(pod, opts)
	require.NoError(t, err)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "container solr has a preStop hook of its own, which was kept")
	require.Equal(t, hook, got.Spec.Containers[0].Lifecycle.PreStop)
	require.Len(t, got.Spec.InitContainers, 1)
}

func TestCredentialsSecret(t *testing.T) {
	secretOf := func(annotation, option string) string {
		pod := readPod(t, "testdata/pod/plain.in.yaml")
		if annotation != "" {
			pod.Annotations = map[string]string{v1alpha1.AnnotationCredentialsSecret: annotation}
		}
		opts := testOptions()
		opts.CredentialsSecret = option
		got, _, err := Pod(pod, opts)
		require.NoError(t, err)
		for _, volume := range got.Spec.Volumes {
			if volume.Name == volumeCredentials {
				return volume.Secret.SecretName
			}
		}
		return ""
	}
	require.Equal(t, "search-rollcall-credentials", secretOf("", ""))
	require.Equal(t, "from-cluster", secretOf("", "from-cluster"))
	require.Equal(t, "from-pod", secretOf("from-pod", "from-cluster"))
}

// What a scheduler, a quota or a class of service asks of a pod is not harder to meet with an agent
// than without.
func TestNothingKeepsThePodFromANode(t *testing.T) {
	agentOf := func(change func(*corev1.PodSpec)) corev1.Container {
		pod := readPod(t, "testdata/pod/plain.in.yaml")
		change(&pod.Spec)
		got, _, err := Pod(pod, testOptions())
		require.NoError(t, err)
		return got.Spec.InitContainers[len(got.Spec.InitContainers)-1]
	}
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		if cpu != "" {
			out[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			out[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return out
	}
	require.Empty(t, agentOf(func(s *corev1.PodSpec) { s.HostNetwork = true }).Ports)

	for name, c := range map[string]struct {
		requests, limits corev1.ResourceList
		want             corev1.ResourceRequirements
	}{
		"none":           {nil, nil, corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("", "128Mi")}},
		"memory limited": {nil, list("", "1Gi"), corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("", "128Mi")}},
		"cpu limited":    {list("1", ""), list("2", ""), corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("500m", "128Mi")}},
		"burstable":      {list("1", "1Gi"), list("2", "1Gi"), corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("500m", "128Mi")}},
		"guaranteed":     {list("2", "1Gi"), list("2", "1Gi"), corev1.ResourceRequirements{Requests: list("100m", "128Mi"), Limits: list("100m", "128Mi")}},
		"by default so":  {nil, list("2", "1Gi"), corev1.ResourceRequirements{Requests: list("100m", "128Mi"), Limits: list("100m", "128Mi")}},
	} {
		t.Run(name, func(t *testing.T) {
			agent := agentOf(func(s *corev1.PodSpec) {
				s.Containers[0].Resources = corev1.ResourceRequirements{Requests: c.requests, Limits: c.limits}
			})
			require.Equal(t, c.want, agent.Resources)
		})
	}
}

func TestAnotherAgentStays(t *testing.T) {
	got, _, err := Pod(readPod(t, "testdata/pod/plain.in.yaml"), testOptions())
	require.NoError(t, err)
	opts := testOptions()
	opts.Image = "example.com/rollcall/agent:2"
	again, warnings, err := Pod(got, opts)
	require.NoError(t, err)
	require.Equal(t, got, again)
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], "with the image example.com/rollcall/agent:1 instead of example.com/rollcall/agent:2")
}

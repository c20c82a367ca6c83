package kube

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

func claimed(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}
}

// Only what a StatefulSet has made for this very pod is the pod's own.
func TestOwnVolumes(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "fdb-3"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		claimed("data", "data-fdb-3"), claimed("logs", "logs-fdb-3"), claimed("backup", "backup"), claimed("other", "other-fdb-4"),
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}}}
	require.Equal(t, []string{"data-fdb-3", "logs-fdb-3"}, OwnVolumes(pod))
	require.Empty(t, OwnVolumes(&corev1.Pod{}))
}

// A pod that was made from a template has the template's shape, with or without an
// agent, and each change that matters shows.
func TestShapes(t *testing.T) {
	requests := func(cpu, memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}
	}
	template := corev1.PodSpec{
		NodeSelector:    map[string]string{"disk": "ssd", "arch": "amd64"},
		SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64(3)), RunAsUser: new(int64(1))},
		InitContainers:  []corev1.Container{{Name: "init", Resources: requests("100m", "10Mi")}},
		Containers:      []corev1.Container{{Name: "db", Resources: requests("1", "1Gi")}, {Name: "exporter", Resources: requests("200m", "100Mi")}},
	}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{
		Template:             corev1.PodTemplateSpec{Spec: template},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "logs"}}, {ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
	}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "fdb-0"}, Spec: *template.DeepCopy()}
	pod.Spec.Volumes = []corev1.Volume{claimed("data", "data-fdb-0"), claimed("logs", "logs-fdb-0"), claimed("shared", "shared")}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "rollcall-agent", Resources: requests("50m", "64Mi")})
	was := shapeOfPod(pod)
	require.Equal(t, shapeOfSet(set), was)
	require.Equal(t, "arch=amd64,disk=ssd", was.NodeSelector)
	require.Equal(t, "data,logs", was.Volumes)
	require.Equal(t, Requests{1200, 1124 << 20}, was.Requests)

	for name, change := range map[string]func(*corev1.PodSpec){
		"node selector":         func(s *corev1.PodSpec) { s.NodeSelector["disk"] = "nvme" },
		"group of the files":    func(s *corev1.PodSpec) { s.SecurityContext.FSGroup = new(int64(4)) },
		"when they are changed": func(s *corev1.PodSpec) { s.SecurityContext.FSGroupChangePolicy = new(corev1.FSGroupChangeAlways) },
		"user of the pod":       func(s *corev1.PodSpec) { s.SecurityContext.RunAsUser = nil },
		"user of a container": func(s *corev1.PodSpec) {
			s.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(7))}
		},
		"group of a container": func(s *corev1.PodSpec) {
			s.Containers[1].SecurityContext = &corev1.SecurityContext{RunAsGroup: new(int64(7))}
		},
		"memory": func(s *corev1.PodSpec) { s.Containers[0].Resources = requests("1", "2Gi") },
		"another container": func(s *corev1.PodSpec) {
			s.Containers = append(s.Containers, corev1.Container{Name: "x", Resources: requests("1", "0")})
		},
	} {
		other := set.DeepCopy()
		change(&other.Spec.Template.Spec)
		require.NotEqual(t, was, shapeOfSet(other), name)
	}
	same := set.DeepCopy()
	same.Spec.Template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(1))}
	require.Equal(t, was, shapeOfSet(same), "as the pod has it, said again")
}

func TestRequestsGrow(t *testing.T) {
	was := Requests{MilliCPU: 1000, Memory: 1000}
	for is, want := range map[Requests]bool{{1000, 1000}: false, {1001, 1000}: true, {1, 1001}: true, {999, 1000}: false, {}: false} {
		require.Equal(t, want, is.Grew(was), "%v", is)
	}
}

func TestWhatIsNotedAboutReplacements(t *testing.T) {
	born := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	pool := Pool{Name: "fdb", UID: "set"}
	of := func(annotations map[string]string, message string) *Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "fdb-0", Annotations: annotations, CreationTimestamp: metav1.NewTime(born),
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}}}}
		if message != "" {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
		}
		return podOf(pod, pool)
	}
	for value, want := range map[string]time.Time{"2026-11-20T12:00:00Z": born.Add(3 * time.Hour), "true": born, "": born, "never": {}} {
		pod := of(map[string]string{"rollcall.dev/replace": value}, "")
		require.True(t, want.Equal(pod.Replace), value)
		require.Equal(t, value == "never", pod.NeverReplace)
	}
	require.Zero(t, of(nil, "").Replace)
	require.False(t, of(nil, "").Restart)
	require.True(t, of(map[string]string{"rollcall.dev/restart": "2026-11-20T12:00:00Z"}, "").Restart)
	require.False(t, of(nil, "").NeverReplace)

	require.True(t, of(nil, `0/3 nodes are available: persistentvolumeclaim "data-fdb-0" not found.`).NoVolume)
	require.False(t, of(nil, `0/3 nodes are available: 3 Insufficient cpu.`).NoVolume)
	require.False(t, of(nil, `pod has unbound immediate PersistentVolumeClaims`).NoVolume)
}

func TestOtherOwner(t *testing.T) {
	for name, c := range map[string]struct {
		pod, template string
		want          bool
	}{
		"the same":               {"fsGroup 1 -, db 1:1", "fsGroup 1 -, db 1:1", false},
		"another group":          {"fsGroup 1 -, db 1:1", "fsGroup 2 -, db 1:1", true},
		"another user":           {"fsGroup 1 -, db 1:1", "fsGroup 1 -, db 2:1", true},
		"a container was added":  {"fsGroup 1 -, db 1:1, proxy 7:7", "fsGroup 1 -, db 1:1", false},
		"a container is new":     {"fsGroup 1 -, db 1:1", "fsGroup 1 -, db 1:1, proxy 7:7", false},
		"nothing is known of it": {"", "", false},
	} {
		require.Equal(t, c.want, Shape{Security: c.pod}.OtherOwner(Shape{Security: c.template}), name)
	}
}

// What Kubernetes adds to every pod is for some minutes only, and is no toleration of a taint that
// stays.
func TestTolerations(t *testing.T) {
	minutes := int64(300)
	p := &Pod{Tolerations: tolerations([]corev1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &minutes},
		{Key: "team", Operator: corev1.TolerationOpEqual, Value: "data", Effect: corev1.TaintEffectNoSchedule},
	})}
	for taint, want := range map[Taint]bool{
		{Key: "team", Value: "data", Effect: corev1.TaintEffectNoSchedule}:         true,
		{Key: "team", Value: "web", Effect: corev1.TaintEffectNoSchedule}:          false,
		{Key: "team", Value: "data", Effect: corev1.TaintEffectNoExecute}:          false,
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}: false,
	} {
		require.Equal(t, want, p.Tolerates(taint), taint)
	}
	require.Empty(t, tolerations(nil))
	all := &Pod{Tolerations: tolerations([]corev1.Toleration{{Operator: corev1.TolerationOpExists}})}
	require.True(t, all.Tolerates(Taint{Key: "any", Effect: corev1.TaintEffectNoExecute}))
}

func TestCredentialsOf(t *testing.T) {
	secret := corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "accounts"}}
	require.Empty(t, credentialsOf(&corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: secret}}}))
	require.Equal(t, "accounts", credentialsOf(&corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data"}, {Name: v1alpha1.CredentialsVolume, VolumeSource: secret}}}))
}

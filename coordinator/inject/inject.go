package inject

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/workload"
)

// Pod returns the pod with an agent, without changing the given one. A pod without the label
// rollcall.dev/cluster, or without a StatefulSet as its owner, is returned unchanged. The stop
// token is the pod's own: a token that came with the template, and so is the same in all its pods,
// is replaced.
func Pod(pod *corev1.Pod, opts Options) (*corev1.Pod, []Warning, error) {
	if !ownedByStatefulSet(pod) {
		return pod, nil, nil
	}
	out := pod.DeepCopy()
	opts.Token = tokenOf(pod.Name, opts.Token)
	warnings, err := inject(&out.ObjectMeta, &out.Spec, opts)
	if err != nil {
		return nil, nil, err
	}
	giveToken(out, opts.Token)
	return out, warnings, nil
}

// Template returns the pod template with an agent, without changing the given one. A template
// without the label rollcall.dev/cluster is returned unchanged. All pods of a template have one
// stop token, and CloseGuard has no effect: only the template's owner could open a guard in a
// template.
func Template(template *corev1.PodTemplateSpec, opts Options) (*corev1.PodTemplateSpec, []Warning, error) {
	opts.CloseGuard = false
	out := template.DeepCopy()
	warnings, err := inject(&out.ObjectMeta, &out.Spec, opts)
	if err != nil {
		return nil, nil, err
	}
	return out, warnings, nil
}

func ownedByStatefulSet(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "StatefulSet" && strings.HasPrefix(owner.APIVersion, "apps/")
}

// inject changes meta and spec, unless it returns an error.
func inject(meta *metav1.ObjectMeta, spec *corev1.PodSpec, opts Options) ([]Warning, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	cluster := meta.Labels[v1alpha1.LabelCluster]
	if cluster == "" {
		return nil, nil
	}
	if problems := validation.IsDNS1035Label(cluster); len(problems) > 0 {
		return nil, fmt.Errorf("label %s is %q, which cannot be the name of a DatabaseCluster: %s", v1alpha1.LabelCluster, cluster, problems[0])
	}
	if spec.OS != nil && spec.OS.Name == corev1.Windows {
		return nil, errors.New("spec.os.name is windows: the agent runs on Linux only")
	}
	present, err := findAgent(spec)
	if err != nil {
		return nil, err
	}
	if opts.CloseGuard {
		closeGuard(meta, cluster)
	}
	database, err := databaseContainer(meta, spec)
	if err != nil {
		return nil, err
	}
	if present != nil {
		return alreadyThere(present, spec, database, opts)
	}
	if err := checkRoom(spec); err != nil {
		return nil, err
	}
	token := opts.Token()
	grace := raiseGrace(spec)
	warnings, err := addStopHook(database, meta.Annotations[v1alpha1.AnnotationPreStop], token, grace, opts.KeepPreStop)
	if err != nil {
		return nil, err
	}
	secrets := secretNames{
		config:      v1alpha1.DerivedName(cluster),
		credentials: credentialsSecret(meta, cluster, opts),
	}
	if opts.Withheld != nil {
		if why := opts.Withheld(secrets.credentials); why != "" {
			secrets.credentials = ""
			warnings = append(warnings, Warning("the agent starts without username and password: "+why))
		}
	}
	// It is the last of the init containers: existing ones start as before, and sidecars are
	// stopped in reverse order, so that a network proxy among them is still there while the agent
	// hands off.
	spec.InitContainers = append(spec.InitContainers, agentContainer(spec, secrets.credentials, token, grace, opts))
	spec.Volumes = append(spec.Volumes, volumes(secrets)...)
	return warnings, nil
}

// findAgent returns the agent that already exists, or nil.
func findAgent(spec *corev1.PodSpec) (*corev1.Container, error) {
	for i := range spec.Containers {
		if spec.Containers[i].Name == v1alpha1.AgentContainer {
			return nil, fmt.Errorf("spec.containers[%d] is named %s: that name is taken by the agent, which runs as an init container with restartPolicy Always; rename or remove it",
				i, v1alpha1.AgentContainer)
		}
	}
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		if container.Name != v1alpha1.AgentContainer {
			continue
		}
		if container.RestartPolicy == nil || *container.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			return nil, fmt.Errorf("spec.initContainers[%d] is named %s but has no restartPolicy Always: remove it, and the agent is added again",
				i, v1alpha1.AgentContainer)
		}
		return container, nil
	}
	return nil, nil
}

// alreadyThere leaves an agent as it is, unless it could never work.
func alreadyThere(agent *corev1.Container, spec *corev1.PodSpec, database *corev1.Container, opts Options) ([]Warning, error) {
	configured := func(v corev1.Volume) bool { return v.Name == volumeConfig }
	if !slices.ContainsFunc(spec.Volumes, configured) {
		return nil, fmt.Errorf("init container %s is there, but no volume %s with its configuration: remove it, and the agent is added again",
			agent.Name, volumeConfig)
	}
	var warnings []Warning
	if agent.Image != opts.Image {
		warnings = append(warnings, Warning(fmt.Sprintf("an agent is there already, with the image %s instead of %s; it was left as it is", agent.Image, opts.Image)))
	}
	if database.Lifecycle == nil || database.Lifecycle.PreStop == nil {
		warnings = append(warnings, Warning(fmt.Sprintf("an agent is there already, but container %s has no preStop hook that would call it; both were left as they are", database.Name)))
	}
	return warnings, nil
}

// closeGuard makes Kubernetes refuse to remove the pod from its creation. An existing label stays.
func closeGuard(meta *metav1.ObjectMeta, cluster string) {
	if _, there := meta.Labels[v1alpha1.LabelGuard]; !there {
		meta.Labels[v1alpha1.LabelGuard], meta.Labels[v1alpha1.LabelGuardCluster] = v1alpha1.GuardClosed, cluster
	}
}

// broughtGuard returns the warning about a guard's label that a pod has at its creation, or an
// empty one. Such a label is the template's: a person who may patch a pod opens its guard, and a
// template would open those of all pods. A label that this webhook has set before, when it is
// called again, does not count.
func broughtGuard(meta *metav1.ObjectMeta, cluster string) Warning {
	value, there := meta.Labels[v1alpha1.LabelGuard]
	if !there || value == v1alpha1.GuardClosed && meta.Labels[v1alpha1.LabelGuardCluster] == cluster {
		return ""
	}
	return Warning(fmt.Sprintf("the label %s: %s of the pod template was ignored, and must be taken out of it: a guard is opened on a single pod (kubectl label pod)",
		v1alpha1.LabelGuard, value))
}

// broughtRole returns the warning about a label that says what the pod's member is although the pod
// has never run, or an empty one. It is the template's, and would make primaries of all pods.
func broughtRole(meta *metav1.ObjectMeta) Warning {
	value, there := meta.Labels[v1alpha1.LabelRole]
	if !there {
		return ""
	}
	return Warning(fmt.Sprintf("the label %s: %s of the pod template was ignored, and must be taken out of it: Rollcall labels each pod with what its member is",
		v1alpha1.LabelRole, value))
}

// removeLabels removes labels, and returns the operations.
func removeLabels(meta *metav1.ObjectMeta, labels ...string) []operation {
	var removals []operation
	for _, label := range labels {
		if _, there := meta.Labels[label]; there {
			delete(meta.Labels, label)
			removals = append(removals, operation{Op: "remove", Path: "/metadata/labels/" + escape.Replace(label)})
		}
	}
	return removals
}

// databaseContainer returns the container that the annotation names, or else the one that looks like
// the database's, which need not be the first: a mesh's proxy often is.
func databaseContainer(meta *metav1.ObjectMeta, spec *corev1.PodSpec) (*corev1.Container, error) {
	if len(spec.Containers) == 0 {
		return nil, errors.New("spec.containers is empty")
	}
	name, named := meta.Annotations[v1alpha1.AnnotationContainer]
	if !named {
		container, _ := workload.Container(nil, spec)
		return container, nil
	}
	var names []string
	for i := range spec.Containers {
		if spec.Containers[i].Name == name {
			return &spec.Containers[i], nil
		}
		names = append(names, spec.Containers[i].Name)
	}
	return nil, fmt.Errorf("annotation %s is %q: must be one of the containers %s", v1alpha1.AnnotationContainer, name, strings.Join(names, ", "))
}

func credentialsSecret(meta *metav1.ObjectMeta, cluster string, opts Options) string {
	if name := meta.Annotations[v1alpha1.AnnotationCredentialsSecret]; name != "" {
		return name
	}
	if opts.CredentialsSecret != "" {
		return opts.CredentialsSecret
	}
	return v1alpha1.CredentialsSecretName(cluster)
}

// raiseGrace makes the pod's grace period long enough for a handoff, and returns it.
func raiseGrace(spec *corev1.PodSpec) int64 {
	const kubernetesDefault = 30
	grace := int64(kubernetesDefault)
	if spec.TerminationGracePeriodSeconds != nil {
		grace = *spec.TerminationGracePeriodSeconds
	}
	if grace < MinGraceSeconds {
		grace = MinGraceSeconds
		spec.TerminationGracePeriodSeconds = &grace
	}
	return grace
}

// checkRoom refuses pods whose own containers or volumes collide with ours.
func checkRoom(spec *corev1.PodSpec) error {
	for _, volume := range spec.Volumes {
		if ours[volume.Name] {
			return fmt.Errorf("volume %s exists already: that name is the agent's; rename it", volume.Name)
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, container := range containers {
			for _, port := range container.Ports {
				switch port.ContainerPort {
				case config.PortGossip, config.PortGRPC, config.PortHTTP:
					return fmt.Errorf("container %s uses port %d, which the agent needs", container.Name, port.ContainerPort)
				}
			}
		}
	}
	return nil
}

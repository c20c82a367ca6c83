package inject

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Volumes that injection adds.
const (
	volumeConfig      = "rollcall-config"
	volumeCredentials = v1alpha1.CredentialsVolume
	volumeState       = "rollcall-state"
	volumeNoToken     = "rollcall-no-token"
)

var ours = map[string]bool{volumeConfig: true, volumeCredentials: true, volumeState: true, volumeNoToken: true}

// tokenDir is where the ServiceAccount admission plugin mounts a token into
// every container that mounts nothing there. The plugin runs before webhooks
// and, when one changed the pod, once more; so the agent's container brings
// an empty directory for that place and never sees a token, while the pod's
// other containers keep theirs.
const tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// userID of the agent: nonroot, as in distroless images.
const userID = 65532

// secretNames are the Secrets that a pod's agent reads. Without the name of one with
// credentials none is mounted.
type secretNames struct{ config, credentials string }

// agentContainer is the sidecar. No probe is on purpose: an agent that fails
// must neither take traffic from the database nor keep it from starting.
func agentContainer(spec *corev1.PodSpec, credentials, token string, grace int64, opts Options) corev1.Container {
	return corev1.Container{
		Name:            v1alpha1.AgentContainer,
		Image:           opts.Image,
		ImagePullPolicy: opts.PullPolicy,
		RestartPolicy:   new(corev1.ContainerRestartPolicyAlways),
		Env:             environment(credentials, token, grace),
		Ports:           ports(spec),
		Resources:       Resources(spec),
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot:             new(true),
			RunAsUser:                new(int64(userID)),
			RunAsGroup:               new(int64(userID)),
			Privileged:               new(false),
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             append(mounts(credentials), client(spec)...),
	}
}

func mounts(credentials string) []corev1.VolumeMount {
	list := []corev1.VolumeMount{{Name: volumeConfig, MountPath: config.Dir, ReadOnly: true}}
	if credentials != "" {
		list = append(list, corev1.VolumeMount{Name: volumeCredentials, MountPath: config.CredentialsDir, ReadOnly: true})
	}
	return append(list,
		corev1.VolumeMount{Name: volumeState, MountPath: config.StateDir},
		corev1.VolumeMount{Name: volumeNoToken, MountPath: tokenDir, ReadOnly: true})
}

// client is the mount of the database's own client program, where the pod has a
// volume with it.
func client(spec *corev1.PodSpec) []corev1.VolumeMount {
	if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == config.ClientVolume }) {
		return nil
	}
	return []corev1.VolumeMount{{Name: config.ClientVolume, MountPath: config.ClientDir, ReadOnly: true}}
}

// ports are named for people only. On the node's own network they are left
// out: there they would keep the scheduler from placing the database.
func ports(spec *corev1.PodSpec) []corev1.ContainerPort {
	if spec.HostNetwork {
		return nil
	}
	return []corev1.ContainerPort{
		{Name: "rc-gossip", ContainerPort: config.PortGossip, Protocol: corev1.ProtocolTCP},
		{Name: "rc-gossip-udp", ContainerPort: config.PortGossip, Protocol: corev1.ProtocolUDP},
		{Name: "rc-grpc", ContainerPort: config.PortGRPC, Protocol: corev1.ProtocolTCP},
		{Name: "rc-http", ContainerPort: config.PortHTTP, Protocol: corev1.ProtocolTCP},
	}
}

func environment(credentials, token string, grace int64) []corev1.EnvVar {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
		}}
	}
	list := []corev1.EnvVar{
		field(config.EnvNamespace, "metadata.namespace"),
		field(config.EnvCluster, "metadata.labels['"+v1alpha1.LabelCluster+"']"),
		field(config.EnvPod, "metadata.name"),
		field(config.EnvPodUID, "metadata.uid"),
		field(config.EnvPodIP, "status.podIP"),
		field(config.EnvNode, "spec.nodeName"),
		field(config.EnvNodeIPs, "status.hostIPs"),
		// Kubernetes 1.35 and later copy this label from the node.
		field(config.EnvZone, "metadata.labels['"+corev1.LabelTopologyZone+"']"),
		{Name: config.EnvStopToken, Value: token},
		{Name: config.EnvGraceSeconds, Value: strconv.FormatInt(grace, 10)},
		// A little below the memory limit, so that the runtime collects before the kernel kills.
		{Name: "GOMEMLIMIT", Value: "100MiB"},
	}
	if credentials != "" {
		list = append(list, corev1.EnvVar{Name: config.EnvCredentialsSecret, Value: credentials})
	}
	return list
}

// Resources are those of the agent in a pod, several times what was measured (deploy/docs/measured.md,
// What it costs). A pod of the class Guaranteed stays in it: the agent then asks for
// all that it may use. Where all other containers have a limit for the processor the
// agent has one too, since a quota of the namespace may refuse pods in which one has
// none. Else it has none: a throttled agent is late with what a database waits for.
func Resources(spec *corev1.PodSpec) corev1.ResourceRequirements {
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
	if guaranteed(spec) {
		limits[corev1.ResourceCPU] = resource.MustParse("100m")
		return corev1.ResourceRequirements{Requests: limits.DeepCopy(), Limits: limits}
	}
	if all(spec, func(r corev1.ResourceRequirements) bool { return limited(r, corev1.ResourceCPU) }) {
		limits[corev1.ResourceCPU] = resource.MustParse("500m")
	}
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("32Mi"),
		},
		Limits: limits,
	}
}

// guaranteed reports whether every container has limits for processor and memory and requests no
// less. Requests that are left out are as large as the limits.
func guaranteed(spec *corev1.PodSpec) bool {
	return all(spec, func(r corev1.ResourceRequirements) bool {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if !limited(r, name) {
				return false
			}
			if request, requested := r.Requests[name]; requested && request.Cmp(r.Limits[name]) != 0 {
				return false
			}
		}
		return true
	})
}

func limited(r corev1.ResourceRequirements, name corev1.ResourceName) bool {
	limit, there := r.Limits[name]
	return there && !limit.IsZero()
}

// all reports whether something holds for the resources of every container.
func all(spec *corev1.PodSpec, holds func(corev1.ResourceRequirements) bool) bool {
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for _, container := range containers {
			if !holds(container.Resources) {
				return false
			}
		}
	}
	return true
}

// volumes of the agent. The Secrets are optional, so that a pod never waits
// for them. The empty directories are in memory, because the cluster
// autoscaler takes a pod with one on disk for one that has data on its node.
func volumes(secrets secretNames) []corev1.Volume {
	secret := func(name, secretName string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: secretName, DefaultMode: new(int32(0o444)), Optional: new(true),
		}}}
	}
	empty := func(name, size string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse(size)),
		}}}
	}
	list := []corev1.Volume{secret(volumeConfig, secrets.config)}
	if secrets.credentials != "" {
		list = append(list, secret(volumeCredentials, secrets.credentials))
	}
	return append(list, empty(volumeState, "1Mi"), empty(volumeNoToken, "4Ki"))
}

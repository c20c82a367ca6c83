package enroll

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// trialImage stands for the agent's image where the webhook adds no agent: which one it would be is
// for the coordinator to say.
const trialImage = "rollcall-agent"

// Trial is what the API server said of a pod with an agent, of which it made nothing.
type Trial struct {
	Set *appsv1.StatefulSet
	// Made is the pod as it would be; nil where it was refused.
	Made *corev1.Pod
	// Injected means that the webhook added the agent.
	Injected bool
	// Refused is why Kubernetes refuses it, and Bare why it refuses the same pod without an agent.
	Refused, Bare error
}

// TrialPod returns the next pod of a StatefulSet as its controller would make it, with the label that
// brings the agent, or without.
func (p *Plan) TrialPod(set *appsv1.StatefulSet, labelled bool) *corev1.Pod {
	ordinal := int32(1)
	if set.Spec.Replicas != nil {
		ordinal = *set.Spec.Replicas
	}
	if set.Spec.Ordinals != nil {
		ordinal += set.Spec.Ordinals.Start
	}
	template := set.Spec.Template.DeepCopy()
	pod := &corev1.Pod{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, ordinal), Labels: map[string]string{}, Annotations: template.Annotations,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: new(true)}},
	}}
	maps.Copy(pod.Labels, template.Labels)
	pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.PodIndexLabel] = pod.Name, fmt.Sprint(ordinal)
	if delete(pod.Labels, v1alpha1.LabelCluster); labelled {
		pod.Labels[v1alpha1.LabelCluster] = p.Name
	}
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	for _, claim := range set.Spec.VolumeClaimTemplates {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + pod.Name},
		}})
	}
	return pod
}

// WithAgent returns the pod with an agent, as the webhook would add it.
func (p *Plan) WithAgent(pod *corev1.Pod) (*corev1.Pod, error) {
	with, _, err := inject.Pod(pod, inject.Options{Image: trialImage, KeepPreStop: true, CredentialsSecret: p.Cluster.Spec.Connection.CredentialsSecret})
	return with, err
}

// remedies by words of the API server.
var remedies = []struct{ said, fix string }{
	{"violates PodSecurity", "the agent keeps to the level restricted: mend the securityContext of the containers that are named, by the chart's values, or the label pod-security.kubernetes.io/enforce of the namespace"},
	{"security context constraint", "the agent runs as user 65532, which is not in the range of the namespace: give the pods' ServiceAccount the constraint nonroot-v2 (oc adm policy add-scc-to-user nonroot-v2 -z ACCOUNT), or one of your own that allows that user"},
	{"failed quota", "the agent has requests and limits for memory and requests for the processor, and a limit for that where all other containers of the pod have one: give all of them one, or have the quota ask for none"},
	{"per Container is", "have the LimitRange allow containers of the agent's size: requests of 10m and 32Mi, a limit of 128Mi"},
	{"ValidatingAdmissionPolicy", "have that policy let through the container rollcall-agent (an init container with restartPolicy Always) and its volumes"},
	{"admission webhook", "have that webhook's policy let through the container rollcall-agent (an init container with restartPolicy Always) and its volumes"},
}

// Admission judges what the API server said. Pods and quotas are those of the namespace, as far as
// they could be read.
func (p *Plan) Admission(trials []Trial, quotas []corev1.ResourceQuota, pods []corev1.Pod) (out []doctor.Finding) {
	add := func(set *appsv1.StatefulSet, s doctor.Severity, found, fix string) {
		out = append(out, doctor.Finding{Severity: s, Object: "StatefulSet " + p.Namespace + "/" + set.Name, Found: found, Fix: fix})
	}
	var agent *corev1.Container
	for _, t := range trials {
		switch {
		case t.Made != nil:
			if agent == nil {
				agent = kube.AgentOf(&t.Made.Spec)
			}
			if !t.Injected {
				add(t.Set, doctor.Warning, "in a dry run the webhook added no agent to a pod with the label; Kubernetes admits one with an agent that was added here, and what policies say of the agent's image was not tried",
					"see that the coordinator runs, and that the API server reaches its webhook (deploy/docs/install.md#see-that-it-runs); nothing where rollcall inject brings the agents")
			}
		case exceeds(t.Refused):
			// The pod that is replaced has gone then: only what agents add is new.
			if len(quotas) == 0 {
				add(t.Set, doctor.Warning, "in a dry run Kubernetes has no room for one more pod, and whether it has for the agents could not be read: "+words(t.Refused), "give the ResourceQuota room for them: "+need(nil, p.agents(pods)))
			}
		case t.Bare != nil:
			add(t.Set, doctor.Error, "Kubernetes refuses its pods, also without an agent: one that restarts now does not come back (tried by a dry run): "+words(t.Refused), remedyOf(t.Refused))
		default:
			add(t.Set, doctor.Error, "Kubernetes refuses its pods once they have an agent (tried by a dry run): "+words(t.Refused), remedyOf(t.Refused))
		}
	}
	return append(out, p.quotas(quotas, agent, pods)...)
}

func exceeds(err error) bool { return err != nil && strings.Contains(err.Error(), "exceeded quota") }

// words are those of the API server.
func words(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

func remedyOf(err error) string {
	for _, r := range remedies {
		if strings.Contains(err.Error(), r.said) {
			return r.fix
		}
	}
	return "whoever has set this up says what it takes; the agent is the init container rollcall-agent (deploy/docs/doctor.md#what-kubernetes-may-refuse)"
}

// agents are how many pods have none yet.
func (p *Plan) agents(pods []corev1.Pod) int64 {
	var n int64
	for i := range p.Sets {
		set := &p.Sets[i]
		want := int64(1)
		if set.Spec.Replicas != nil {
			want = int64(*set.Spec.Replicas)
		}
		for j := range pods {
			if doctor.Owned(&pods[j], set) && kube.HasAgent(&pods[j].Spec) {
				want--
			}
		}
		n += max(want, 0)
	}
	return n
}

// quotas finds ResourceQuotas that have no room for an agent in each pod.
func (p *Plan) quotas(quotas []corev1.ResourceQuota, agent *corev1.Container, pods []corev1.Pod) (out []doctor.Finding) {
	agents := p.agents(pods)
	for i := range quotas {
		q := &quotas[i]
		if agents == 0 || len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		var short []string
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			more, counts := resourceOf(agent)[name]
			if !counts {
				continue
			}
			hard, then := q.Status.Hard[name], q.Status.Used[name]
			for range agents {
				then.Add(more)
			}
			if then.Cmp(hard) > 0 {
				used := q.Status.Used[name]
				short = append(short, fmt.Sprintf("of %s %s of %s are used, and %d agents take %s each", name, used.String(), hard.String(), agents, more.String()))
			}
		}
		if len(short) > 0 {
			out = append(out, doctor.Finding{Severity: doctor.Error, Object: "ResourceQuota " + p.Namespace + "/" + q.Name,
				Found: "it has no room for an agent in each pod, so that Kubernetes refuses the last pods that come back: " + strings.Join(short, "; "), Fix: "give it room: " + need(agent, agents)})
		}
	}
	return out
}

// resourceOf is what an agent adds to what a quota counts; without one, what it usually does.
func resourceOf(agent *corev1.Container) corev1.ResourceList {
	if agent == nil {
		agent = &corev1.Container{Resources: inject.Resources(&corev1.PodSpec{})}
	}
	list := corev1.ResourceList{}
	for name, quantity := range agent.Resources.Requests {
		list[name], list["requests."+name] = quantity, quantity
	}
	for name, quantity := range agent.Resources.Limits {
		list["limits."+name] = quantity
	}
	return list
}

func need(agent *corev1.Container, agents int64) string {
	list := resourceOf(agent)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if strings.Contains(string(name), ".") {
			quantity := list[name]
			parts = append(parts, fmt.Sprintf("%s %s", name, quantity.String()))
		}
	}
	return fmt.Sprintf("%s for each of %d agents", strings.Join(parts, ", "), agents)
}

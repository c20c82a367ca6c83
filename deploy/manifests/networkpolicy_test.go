package manifests

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/agent/config"
)

func labelSet(l map[string]string) labels.Set { return labels.Set(l) }

// policies renders the NetworkPolicies: the coordinators', and the guard's where
// there is a guard.
func policies(t *testing.T, args ...string) []networkingv1.NetworkPolicy {
	t.Helper()
	text, err := helm(t, "templates/networkpolicy.yaml", append([]string{"--set", "networkPolicy.enabled=true"}, args...)...)
	require.NoError(t, err, "%s", text)
	var all []networkingv1.NetworkPolicy
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		var p networkingv1.NetworkPolicy
		require.NoError(t, yaml.UnmarshalStrict(document, &p))
		require.Equal(t, metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, p.TypeMeta)
		require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, p.Spec.PolicyTypes)
		all = append(all, p)
	}
	return all
}

func TestNetworkPolicyOfCoordinators(t *testing.T) {
	all := policies(t)
	require.Len(t, all, 2)
	p := all[0]
	var deployment appsv1.Deployment
	load(t, "Deployment", "rollcall-coordinator", &deployment)
	requireSelects(t, &p.Spec.PodSelector, deployment.Spec.Template.Labels)

	require.Equal(t, []networkingv1.NetworkPolicyIngressRule{
		{Ports: tcp(intstr.FromString("webhook"))},
		{Ports: tcp(intstr.FromString("http"))},
	}, p.Spec.Ingress, "nobody dials gRPC but through a port-forward")
	for _, rule := range p.Spec.Ingress {
		require.True(t, slices.ContainsFunc(deployment.Spec.Template.Spec.Containers[0].Ports, func(c corev1.ContainerPort) bool {
			return c.Name == rule.Ports[0].Port.StrVal
		}), "the name of a port that is there")
	}
	require.Equal(t, []networkingv1.NetworkPolicyEgressRule{
		names53, {Ports: tcp(intstr.FromInt32(443), intstr.FromInt32(6443))}, {Ports: tcp(intstr.FromInt32(config.PortGRPC))},
	}, p.Spec.Egress)

	guard := all[1]
	var job batchv1.CronJob
	load(t, "CronJob", "rollcall-guard-expire", &job)
	requireSelects(t, &guard.Spec.PodSelector, job.Spec.JobTemplate.Spec.Template.Labels)
	require.Empty(t, guard.Spec.Ingress)
	require.Equal(t, p.Spec.Egress[:2], guard.Spec.Egress)
}

func TestNetworkPolicyTakesPeers(t *testing.T) {
	all := policies(t, "--set", "guard.enabled=false,webhook.enabled=false",
		"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"a":"b"}},"podSelector":{}}]`,
		"--set-json", `networkPolicy.grpcFrom=[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]`,
		"--set-json", `networkPolicy.apiServerPorts=[16443]`)
	require.Len(t, all, 1)
	require.Equal(t, []networkingv1.NetworkPolicyIngressRule{
		{Ports: tcp(intstr.FromString("http")), From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, PodSelector: &metav1.LabelSelector{},
		}}},
		{Ports: tcp(intstr.FromString("grpc")), From: []networkingv1.NetworkPolicyPeer{{
			IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}},
		}}},
	}, all[0].Spec.Ingress)
	require.Equal(t, tcp(intstr.FromInt32(16443)), all[0].Spec.Egress[1].Ports)
}

// TestNetworkPolicyOfTheWebhook: from anywhere, unless it is said from where.
func TestNetworkPolicyOfTheWebhook(t *testing.T) {
	p := policies(t, "--set-json", `networkPolicy.webhookFrom=[{"ipBlock":{"cidr":"10.0.0.0/24"}}]`)[0]
	require.Equal(t, []networkingv1.NetworkPolicyIngressRule{
		{Ports: tcp(intstr.FromString("webhook")), From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/24"}}}},
		{Ports: tcp(intstr.FromString("http"))},
	}, p.Spec.Ingress)
}

// TestNetworkPolicyReachesTheCollector: its port, or that which gRPC takes.
func TestNetworkPolicyReachesTheCollector(t *testing.T) {
	for url, port := range map[string]int32{
		"http://otel.monitoring:4317": 4317, "https://otel.example.com": 443, "http://10.0.0.9": 443, "http://[fd00::9]:4318": 4318,
	} {
		egress := policies(t, "--set", "tracing.endpoint="+url)[0].Spec.Egress
		require.Equal(t, networkingv1.NetworkPolicyEgressRule{Ports: tcp(intstr.FromInt32(port))}, egress[len(egress)-1], url)
	}
}

func tcp(ports ...intstr.IntOrString) (all []networkingv1.NetworkPolicyPort) {
	for _, p := range ports {
		all = append(all, networkingv1.NetworkPolicyPort{Protocol: new(corev1.ProtocolTCP), Port: &p})
	}
	return all
}

var names53 = networkingv1.NetworkPolicyEgressRule{Ports: []networkingv1.NetworkPolicyPort{
	{Protocol: new(corev1.ProtocolUDP), Port: new(intstr.FromInt32(53))},
	{Protocol: new(corev1.ProtocolTCP), Port: new(intstr.FromInt32(53))},
}}

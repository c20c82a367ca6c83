package manifests

import (
	"bytes"
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

// policies renders the NetworkPolicies: the coordinators', and with egress the guard's
// where there is a guard.
func policies(t *testing.T, args ...string) []networkingv1.NetworkPolicy {
	t.Helper()
	text, err := helm(t, "templates/networkpolicy.yaml", args...)
	require.NoError(t, err, "%s", text)
	var all []networkingv1.NetworkPolicy
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var p networkingv1.NetworkPolicy
		require.NoError(t, yaml.UnmarshalStrict(document, &p))
		require.Equal(t, metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, p.TypeMeta)
		all = append(all, p)
	}
	return all
}

// TestNetworkPolicyClosesTwoPorts: on by default, in the plain manifest too. Whoever may have
// a reason to come gets through, from wherever that is: API servers, kubelets, Prometheus, and
// the proxies of a service mesh at ports of their own. gRPC and the page are closed to all but
// port-forwards, and nothing that leaves is restricted.
func TestNetworkPolicyClosesTwoPorts(t *testing.T) {
	var deployment appsv1.Deployment
	load(t, "Deployment", "rollcall-coordinator", &deployment)
	ports := map[string]int32{}
	for _, c := range deployment.Spec.Template.Spec.Containers[0].Ports {
		ports[c.Name] = c.ContainerPort
	}
	require.Len(t, ports, 4, "whether a port is closed has to be decided for each")

	var plain networkingv1.NetworkPolicy
	load(t, "NetworkPolicy", "rollcall-coordinator", &plain)
	requireSelects(t, &plain.Spec.PodSelector, deployment.Spec.Template.Labels)
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, plain.Spec.PolicyTypes)
	require.Empty(t, plain.Spec.Egress)

	open := fromAnywhere(&plain, ports)
	for port := int32(1); port <= 65535; port++ {
		closed := port == ports["grpc"] || port == ports["page"]
		require.Equal(t, !closed, open[port], "port %d", port)
	}
	all := policies(t)
	require.Len(t, all, 1)
	require.Equal(t, plain.Spec, all[0].Spec)
}

// fromAnywhere are the ports that a policy lets everybody reach over TCP.
func fromAnywhere(p *networkingv1.NetworkPolicy, names map[string]int32) map[int32]bool {
	open := map[int32]bool{}
	for _, rule := range p.Spec.Ingress {
		for _, port := range rule.Ports {
			first := port.Port.IntVal
			if port.Port.Type == intstr.String {
				first = names[port.Port.StrVal]
			}
			last := first
			if port.EndPort != nil {
				last = *port.EndPort
			}
			for n := first; n <= last && len(rule.From) == 0 && *port.Protocol == corev1.ProtocolTCP; n++ {
				open[n] = true
			}
		}
	}
	return open
}

// TestNetworkPolicyOfTheWebhook: from anywhere, unless it is said from where.
func TestNetworkPolicyOfTheWebhook(t *testing.T) {
	p := policies(t, "--set-json", `networkPolicy.webhookFrom=[{"ipBlock":{"cidr":"10.0.0.0/24"}}]`)[0]
	require.Equal(t, networkingv1.NetworkPolicyIngressRule{
		Ports: tcp(intstr.FromString("webhook")), From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/24"}}},
	}, p.Spec.Ingress[0])
	open := fromAnywhere(&p, map[string]int32{"http": 7951})
	require.False(t, open[9443])
	require.True(t, open[7951])
}

// TestNetworkPolicyIsSwitchedOff: by one value.
func TestNetworkPolicyIsSwitchedOff(t *testing.T) {
	_, err := helm(t, "templates/networkpolicy.yaml", "--set", "networkPolicy.enabled=false")
	require.ErrorContains(t, err, "exit status", "there is no object")
}

// TestNetworkPolicyTakesPeers: each port of the coordinator is for those only who are named, and
// no other rule lets anybody else through to it.
func TestNetworkPolicyTakesPeers(t *testing.T) {
	all := policies(t, "--set", "guard.enabled=false",
		"--set-json", `networkPolicy.metricsFrom=[{"namespaceSelector":{"matchLabels":{"a":"b"}},"podSelector":{}}]`,
		"--set-json", `networkPolicy.webhookFrom=[{"ipBlock":{"cidr":"10.0.0.0/24"}}]`,
		"--set-json", `networkPolicy.pageFrom=[{"podSelector":{"matchLabels":{"c":"d"}}}]`,
		"--set-json", `networkPolicy.grpcFrom=[{"ipBlock":{"cidr":"10.0.0.0/8","except":["10.1.0.0/16"]}}]`)
	require.Len(t, all, 1)
	require.Equal(t, []networkingv1.NetworkPolicyIngressRule{
		{Ports: tcp(intstr.FromString("webhook")), From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/24"}}}},
		{Ports: tcp(intstr.FromString("http")), From: []networkingv1.NetworkPolicyPeer{{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, PodSelector: &metav1.LabelSelector{},
		}}},
		{Ports: tcp(intstr.FromString("grpc")), From: []networkingv1.NetworkPolicyPeer{{
			IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.0/8", Except: []string{"10.1.0.0/16"}},
		}}},
		{Ports: tcp(intstr.FromString("page")), From: []networkingv1.NetworkPolicyPeer{{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"c": "d"}},
		}}},
	}, all[0].Spec.Ingress[:4])
	open := fromAnywhere(&all[0], nil)
	for _, port := range []int32{7950, 7951, 7952, 9443} {
		require.False(t, open[port], "port %d", port)
	}
	require.True(t, open[15008], "the tunnel of a service mesh")

	for _, rule := range policies(t, "--set", "webhook.enabled=false,page.enabled=false", "--set-json", `networkPolicy.pageFrom=[{"podSelector":{}}]`)[0].Spec.Ingress {
		require.NotContains(t, []string{"webhook", "page"}, rule.Ports[0].Port.StrVal, "nobody serves it")
	}
}

// TestNetworkPolicyOfEgress: what leaves is restricted only where that is asked for.
func TestNetworkPolicyOfEgress(t *testing.T) {
	egress := []string{"--set", "networkPolicy.egress=true"}
	both := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	all := policies(t, egress...)
	require.Len(t, all, 2)
	require.Equal(t, both, all[0].Spec.PolicyTypes)
	require.Equal(t, []networkingv1.NetworkPolicyEgressRule{
		names53, {Ports: tcp(intstr.FromInt32(443), intstr.FromInt32(6443))}, {Ports: tcp(intstr.FromInt32(config.PortGRPC))},
	}, all[0].Spec.Egress)

	guard := all[1]
	var job batchv1.CronJob
	load(t, "CronJob", "rollcall-guard-expire", &job)
	requireSelects(t, &guard.Spec.PodSelector, job.Spec.JobTemplate.Spec.Template.Labels)
	require.Equal(t, both, guard.Spec.PolicyTypes)
	require.Empty(t, guard.Spec.Ingress)
	require.Equal(t, all[0].Spec.Egress[:2], guard.Spec.Egress)

	all = policies(t, append(egress, "--set", "guard.enabled=false", "--set-json", `networkPolicy.apiServerPorts=[16443]`)...)
	require.Len(t, all, 1)
	require.Equal(t, tcp(intstr.FromInt32(16443)), all[0].Spec.Egress[1].Ports)
}

// TestNetworkPolicyReachesTheCollector: its port, or that which gRPC takes.
func TestNetworkPolicyReachesTheCollector(t *testing.T) {
	for url, port := range map[string]int32{
		"http://otel.monitoring:4317": 4317, "https://otel.example.com": 443, "http://10.0.0.9": 443, "http://[fd00::9]:4318": 4318,
	} {
		egress := policies(t, "--set", "networkPolicy.egress=true,tracing.endpoint="+url)[0].Spec.Egress
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

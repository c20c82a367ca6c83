package enroll

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
)

func withPorts(ports ...corev1.ContainerPort) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Ports = ports }
}

// offered is what NetworkPolicy answers, and the facts as they are once it is applied.
func offered(t *testing.T, f *doctor.Facts, metricsFrom ...string) (*networkingv1.NetworkPolicy, error) {
	t.Helper()
	p, err := Decide(f, Options{Namespace: "prod", Sets: []string{f.Sets[0].Name}, Name: "search", Engine: "Solr"})
	require.NoError(t, err)
	policy, err := p.NetworkPolicy(f, metricsFrom)
	if err != nil {
		return nil, err
	}
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes)
	require.Equal(t, map[string]string{"rollcall.dev/cluster": "search"}, policy.Spec.PodSelector.MatchLabels)
	after := p.Facts(f)
	after.Policies = append(after.Policies, *policy)
	for _, found := range doctor.Examine(after) {
		require.NotEqual(t, "network-policy", found.Check, "the doctor says that it closes what agents need: %s", found.Found)
	}
	return policy, nil
}

// to tells who reaches a port, in order: the peers of each rule that names it.
func to(p *networkingv1.NetworkPolicy, protocol corev1.Protocol, number int32, ranges bool) (from []networkingv1.NetworkPolicyPeer, anybody bool) {
	for _, rule := range p.Spec.Ingress {
		for _, port := range rule.Ports {
			last := port.Port.IntVal
			if port.EndPort != nil && ranges {
				last = *port.EndPort
			}
			if *port.Protocol == protocol && port.Port.IntVal <= number && number <= last {
				from, anybody = append(from, rule.From...), anybody || len(rule.From) == 0
			}
		}
	}
	return from, anybody
}

// TestNetworkPolicyClosesNothingOfTheDatabase checks that the policy restricts only the agents'
// ports, which the agents of this database and the coordinators reach. Where the network plugin
// knows no ranges, the ports that containers name stay open.
func TestNetworkPolicyClosesNothingOfTheDatabase(t *testing.T) {
	f := facts(
		set("solr", "solr:9", withPorts(corev1.ContainerPort{ContainerPort: 8983}, corev1.ContainerPort{ContainerPort: 7947, Name: "agent"},
			corev1.ContainerPort{ContainerPort: 8125, Protocol: corev1.ProtocolUDP}, corev1.ContainerPort{ContainerPort: 9000, Protocol: corev1.ProtocolSCTP})),
		set("solr-more", "solr:9", labelled("search"), withPorts(corev1.ContainerPort{ContainerPort: 8985})), // the policy selects it, too
	)
	// Another database's, and one about what leaves.
	f.Policies = []networkingv1.NetworkPolicy{
		{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "prod"}, Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}},
	}
	policy, err := offered(t, f)
	require.NoError(t, err)
	for _, protocol := range []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP} {
		for number := int32(1); number <= 65535; number++ {
			_, anybody := to(policy, protocol, number, true)
			closed := number == 7946 || protocol == corev1.ProtocolTCP && (number == 7947 || number == 7948)
			require.Equal(t, !closed, anybody, "%s %d", protocol, number)
		}
	}
	for number, protocol := range map[int32]corev1.Protocol{8983: corev1.ProtocolTCP, 8985: corev1.ProtocolTCP, 8125: corev1.ProtocolUDP, 9000: corev1.ProtocolSCTP} {
		_, anybody := to(policy, protocol, number, false)
		require.True(t, anybody, "%s %d", protocol, number)
	}
	_, anybody := to(policy, corev1.ProtocolTCP, 7947, false)
	require.False(t, anybody, "the agents' own, though a container names it")

	own := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"rollcall.dev/cluster": "search"}}}
	coordinators := networkingv1.NetworkPolicyPeer{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": "rollcall-system"}},
		PodSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator"}},
	}
	from := func(protocol corev1.Protocol, number int32) []networkingv1.NetworkPolicyPeer {
		peers, _ := to(policy, protocol, number, true)
		return peers
	}
	require.Equal(t, []networkingv1.NetworkPolicyPeer{own}, from(corev1.ProtocolTCP, 7946))
	require.Equal(t, []networkingv1.NetworkPolicyPeer{own}, from(corev1.ProtocolUDP, 7946))
	require.Equal(t, []networkingv1.NetworkPolicyPeer{own, coordinators}, from(corev1.ProtocolTCP, 7947))
	require.Empty(t, from(corev1.ProtocolTCP, 7948), "the kubelet of the node needs no rule")

	policy, err = offered(t, f, "monitoring", "ops")
	require.NoError(t, err)
	require.Len(t, from(corev1.ProtocolTCP, 7948), 2)
	require.Equal(t, "ops", from(corev1.ProtocolTCP, 7948)[1].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
}

// TestNetworkPolicyOpensNothing checks that policies add up. Where another one says who reaches the
// database, this one says nothing about the database's ports, and where that cannot be known there
// is none.
func TestNetworkPolicyOpensNothing(t *testing.T) {
	f := facts(set("solr", "solr:9"), set("solr-more", "solr:9", labelled("search")))
	f.Policies = []networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "deny", Namespace: "prod"}}} // of all pods
	policy, err := offered(t, f)
	require.NoError(t, err)
	for number := int32(1); number <= 65535; number++ {
		_, anybody := to(policy, corev1.ProtocolTCP, number, true)
		require.False(t, anybody, "%d", number)
	}
	require.Len(t, policy.Spec.Ingress, 2)

	// Its own from an earlier time is none.
	f.Policies[0].Name = "search-rollcall"
	policy, err = offered(t, f)
	require.NoError(t, err)
	_, anybody := to(policy, corev1.ProtocolTCP, 8983, true)
	require.True(t, anybody)

	// One of two StatefulSets of the database.
	f.Sets[0].Spec.Template.Labels = map[string]string{"app": "solr"}
	f.Policies[0] = networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "solr", Namespace: "prod"},
		Spec: networkingv1.NetworkPolicySpec{PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "solr"}}}}
	_, err = offered(t, f)
	require.ErrorContains(t, err, "a NetworkPolicy selects the pods of StatefulSet solr (by solr), and none those of solr-more")

	f.Live.Unread = []string{"NetworkPolicies: forbidden"}
	_, err = offered(t, f)
	require.ErrorContains(t, err, "these could not be read: NetworkPolicies: forbidden")
}

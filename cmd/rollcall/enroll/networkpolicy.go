package enroll

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// NetworkPolicy restricts the agents' ports to each other and the coordinators, and 7948 also to
// metricsFrom, the namespaces of a Prometheus. The kubelet of the pod's own node needs no rule. The
// policy closes and opens nothing else: policies add up, and one that selects a pod closes all
// ports that it does not name. So if no other policy selects the pods, it allows all other ports
// for everybody; if one does, it does not mention them.
func (p *Plan) NetworkPolicy(f *doctor.Facts, metricsFrom []string) (*networkingv1.NetworkPolicy, error) {
	name := v1alpha1.DerivedName(p.Name)
	// All StatefulSets of the database, as the policy selects the pods of all of them.
	sets := p.Facts(f).Sets
	isolated, err := isolated(f, sets, name)
	if err != nil {
		return nil, err
	}
	agents := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: p.Name}}
	policy := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *agents,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{
					From:  []networkingv1.NetworkPolicyPeer{{PodSelector: agents}},
					Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, config.PortGossip), port(corev1.ProtocolUDP, config.PortGossip), port(corev1.ProtocolTCP, config.PortGRPC)},
				},
				{
					From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: namespace(p.Install), PodSelector: &metav1.LabelSelector{MatchLabels: doctor.CoordinatorLabels()}}},
					Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, config.PortGRPC)},
				},
			},
		},
	}
	if len(metricsFrom) > 0 {
		rule := networkingv1.NetworkPolicyIngressRule{Ports: []networkingv1.NetworkPolicyPort{port(corev1.ProtocolTCP, config.PortHTTP)}}
		for _, ns := range metricsFrom {
			rule.From = append(rule.From, networkingv1.NetworkPolicyPeer{NamespaceSelector: namespace(ns)})
		}
		policy.Spec.Ingress = append(policy.Spec.Ingress, rule)
	}
	if !isolated {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{Ports: allOtherPorts(sets)})
	}
	return policy, nil
}

// isolated reports whether another policy selects the pods.
func isolated(f *doctor.Facts, sets []appsv1.StatefulSet, own string) (bool, error) {
	for _, unread := range f.Live.Unread {
		if strings.HasPrefix(unread, "NetworkPolicies:") {
			return false, fmt.Errorf("--network-policy: what it may say about the database's own ports depends on the policies that there are, and these could not be read: %s", unread)
		}
	}
	var by, without []string
	for i := range sets {
		set := &sets[i]
		names := slices.DeleteFunc(f.IngressPolicies(set), func(name string) bool { return name == own })
		if len(names) > 0 {
			by = append(by, fmt.Sprintf("%s (by %s)", set.Name, strings.Join(names, ", ")))
		} else {
			without = append(without, set.Name)
		}
	}
	if len(by) > 0 && len(without) > 0 {
		return false, fmt.Errorf("--network-policy: a NetworkPolicy selects the pods of StatefulSet %s, and none those of %s: one for all of them would either open ports of the former, or close those of the latter; "+
			"see deploy/docs/network.md, and write one for each", strings.Join(by, ", "), strings.Join(without, ", "))
	}
	return len(by) > 0, nil
}

// allOtherPorts returns the ports at which no agent listens, as ranges, and also those that the
// containers name: a network plugin that does not support ranges opens only their first port.
func allOtherPorts(sets []appsv1.StatefulSet) []networkingv1.NetworkPolicyPort {
	all := []networkingv1.NetworkPolicyPort{
		ports(corev1.ProtocolTCP, 1, config.PortGossip-1), ports(corev1.ProtocolTCP, config.PortHTTP+1, 65535),
		ports(corev1.ProtocolUDP, 1, config.PortGossip-1), ports(corev1.ProtocolUDP, config.PortGossip+1, 65535),
	}
	type at struct {
		protocol corev1.Protocol
		port     int32
	}
	seen := map[at]bool{
		{corev1.ProtocolTCP, config.PortGossip}: true, {corev1.ProtocolUDP, config.PortGossip}: true,
		{corev1.ProtocolTCP, config.PortGRPC}: true, {corev1.ProtocolTCP, config.PortHTTP}: true,
	}
	for i := range sets {
		spec := &sets[i].Spec.Template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			for _, named := range c.Ports {
				one := at{named.Protocol, named.ContainerPort}
				if one.protocol == "" {
					one.protocol = corev1.ProtocolTCP
				}
				if !seen[one] {
					seen[one] = true
					all = append(all, port(one.protocol, one.port))
				}
			}
		}
	}
	return all
}

func port(protocol corev1.Protocol, number int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(number))}
}

func ports(protocol corev1.Protocol, first, last int32) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: new(intstr.FromInt32(first)), EndPort: &last}
}

func namespace(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}}
}

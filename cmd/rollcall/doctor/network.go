package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/rollcall-dev/rollcall/agent/config"
)

// way is a connection that Rollcall needs.
type way struct {
	port     int32
	protocol corev1.Protocol
	what     string
	// coordinator means that the other end is the coordinator, not another pod of the database.
	coordinator bool
	egress      bool
}

var ways = []way{
	{port: config.PortGossip, protocol: corev1.ProtocolTCP, what: "gossip between the agents"},
	{port: config.PortGossip, protocol: corev1.ProtocolUDP, what: "gossip between the agents"},
	{port: config.PortGRPC, protocol: corev1.ProtocolTCP, what: "steps of a handover between the agents"},
	{port: config.PortGRPC, protocol: corev1.ProtocolTCP, what: "orders of the coordinator", coordinator: true},
	{port: config.PortGossip, protocol: corev1.ProtocolTCP, what: "gossip between the agents", egress: true},
	{port: config.PortGossip, protocol: corev1.ProtocolUDP, what: "gossip between the agents", egress: true},
	{port: config.PortGRPC, protocol: corev1.ProtocolTCP, what: "steps of a handover between the agents", egress: true},
}

// portNames are those of the agent's container.
var portNames = map[int32]string{config.PortGossip: "rc-gossip", config.PortGRPC: "rc-grpc"}

func (w way) String() string {
	direction := "from other pods of the database"
	switch {
	case w.coordinator:
		direction = "from the coordinator"
	case w.egress:
		direction = "to other pods of the database"
	}
	return fmt.Sprintf("%s %d %s (%s)", w.protocol, w.port, direction, w.what)
}

// networkPolicy checks that the policies allow Rollcall's connections. Policies add up, and a pod
// that none selects can be reached by everybody.
func networkPolicy(f *Facts) []Finding {
	return f.eachSet(func(set *appsv1.StatefulSet) []Finding {
		pod := labels.Set(template(set).Labels)
		var in, out []*networkingv1.NetworkPolicy
		var names []string
		for i := range f.Policies {
			p := &f.Policies[i]
			if !sameNamespace(p.Namespace, set.Namespace) || !matches(&p.Spec.PodSelector, pod) {
				continue
			}
			if has(p, networkingv1.PolicyTypeIngress) {
				in = append(in, p)
			}
			if has(p, networkingv1.PolicyTypeEgress) {
				out = append(out, p)
			}
			names = append(names, p.Name)
		}
		var closed []string
		for _, w := range ways {
			policies := in
			if w.egress {
				policies = out
			}
			if len(policies) > 0 && !slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool { return f.allows(p, w, pod) }) {
				closed = append(closed, w.String())
			}
		}
		if len(closed) == 0 {
			return nil
		}
		slices.Sort(names)
		fix := "let these ports through in the chart's policy, or apply another one beside it: rollcall enroll --network-policy --dry-run prints one"
		if slices.ContainsFunc(ways, func(w way) bool { return w.egress && slices.Contains(closed, w.String()) }) {
			fix += "; what leaves the pods needs the second one of deploy/docs/network.md#in-the-namespaces-of-databases"
		}
		return one(Error, fmt.Sprintf("NetworkPolicy %s does not let through %s", strings.Join(names, ", "), strings.Join(closed, "; ")),
			fix)
	})
}

// IngressPolicies are the names of those that say who reaches the pods of a StatefulSet.
func (f *Facts) IngressPolicies(set *appsv1.StatefulSet) (names []string) {
	for i := range f.Policies {
		p := &f.Policies[i]
		if sameNamespace(p.Namespace, set.Namespace) && matches(&p.Spec.PodSelector, labels.Set(template(set).Labels)) && has(p, networkingv1.PolicyTypeIngress) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// has reports whether a policy is about a direction; without types it is about ingress, and about
// egress where it has such rules.
func has(p *networkingv1.NetworkPolicy, t networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) == 0 {
		return t == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, t)
}

func (f *Facts) allows(p *networkingv1.NetworkPolicy, w way, pod labels.Set) bool {
	if w.egress {
		return slices.ContainsFunc(p.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool {
			return w.through(r.Ports) && f.isThere(r.To, w, pod)
		})
	}
	return slices.ContainsFunc(p.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
		return w.through(r.Ports) && f.isThere(r.From, w, pod)
	})
}

func (w way) through(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if protocol != w.protocol {
			return false
		}
		switch {
		case p.Port == nil:
			return true
		case p.Port.StrVal != "": // the agent's ports have these names
			return p.Port.StrVal == portNames[w.port] || p.Port.StrVal == portNames[w.port]+"-udp" && w.protocol == corev1.ProtocolUDP
		case p.EndPort != nil:
			return p.Port.IntVal <= w.port && w.port <= *p.EndPort
		}
		return p.Port.IntVal == w.port
	})
}

// isThere reports whether one of the peers may be the other end. Address blocks count, because they
// may contain it.
func (f *Facts) isThere(peers []networkingv1.NetworkPolicyPeer, w way, pod labels.Set) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		switch {
		case p.IPBlock != nil:
			return true
		case w.coordinator:
			return p.NamespaceSelector != nil && matches(p.NamespaceSelector, f.installLabels()) && (p.PodSelector == nil || matches(p.PodSelector, coordinatorLabels))
		}
		// The namespace of the pods is not known by its labels: an own selector may be it.
		return p.PodSelector == nil || matches(p.PodSelector, pod)
	})
}

// gossip checks from which networks agents accept gossip, as the coordinator has configured.
func gossip(f *Facts) (out []Finding) {
	if f.Live == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(f.Live.GossipFrom)) {
		fix := "the chart's value agent.gossipCIDRs, once it names the network that all nodes have their podCIDRs from, has agents hear nobody else"
		if from := f.Live.GossipFrom[name]; !strings.HasPrefix(from, "anywhere") {
			fix = "nothing, where all pods of databases have addresses in there; the chart's value agent.gossipCIDRs says it"
		}
		out = append(out, Finding{Severity: Info, Object: "DatabaseCluster " + name, Found: "agents take gossip from " + f.Live.GossipFrom[name], Fix: fix})
	}
	return out
}

// coordinatorLabels are those of the chart.
var coordinatorLabels = labels.Set{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator"}

// CoordinatorLabels returns the labels of the coordinator's pods.
func CoordinatorLabels() map[string]string { return maps.Clone(coordinatorLabels) }

func (f *Facts) installLabels() labels.Set {
	out := labels.Set{corev1.LabelMetadataName: "rollcall-system"}
	if f.Live != nil {
		out[corev1.LabelMetadataName] = f.Live.Install
		out = labels.Merge(out, f.Live.InstallLabels)
	}
	return out
}

func matches(s *metav1.LabelSelector, set labels.Set) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(set)
}

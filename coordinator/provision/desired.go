package provision

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// gossipKeyBytes is the length of one gossip key.
const gossipKeyBytes = 32

// labels of the objects of a cluster.
func labels(cluster *v1alpha1.DatabaseCluster) map[string]string {
	return map[string]string{pki.LabelPartOf: pki.PartOf, v1alpha1.LabelCluster: cluster.Name}
}

// own gives an object our labels and its DatabaseCluster as the owner, and
// says whether that changed anything. Labels of others stay.
func own(object *metav1.ObjectMeta, cluster *v1alpha1.DatabaseCluster) bool {
	changed := false
	for name, value := range labels(cluster) {
		if object.Labels[name] != value {
			if object.Labels == nil {
				object.Labels = map[string]string{}
			}
			object.Labels[name] = value
			changed = true
		}
	}
	owner := metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       v1alpha1.Kind,
		Name:       cluster.Name,
		UID:        cluster.UID,
		Controller: new(true),
	}
	// Another owner is a DatabaseCluster of the same name that is gone.
	if len(object.OwnerReferences) != 1 || object.OwnerReferences[0].UID != owner.UID {
		object.OwnerReferences = []metav1.OwnerReference{owner}
		changed = true
	}
	return changed
}

// applyService makes a Service what it should be, and says whether it was not.
func applyService(service *corev1.Service, cluster *v1alpha1.DatabaseCluster, gossip string) bool {
	changed := own(&service.ObjectMeta, cluster)
	if gossip != "" && service.Annotations[v1alpha1.AnnotationGossipFrom] != gossip {
		if service.Annotations == nil {
			service.Annotations = map[string]string{}
		}
		service.Annotations[v1alpha1.AnnotationGossipFrom] = gossip
		changed = true
	}
	spec := &service.Spec
	if spec.ClusterIP != corev1.ClusterIPNone {
		spec.ClusterIP = corev1.ClusterIPNone
		changed = true
	}
	if !spec.PublishNotReadyAddresses {
		// Agents must find each other especially while pods are not ready.
		spec.PublishNotReadyAddresses = true
		changed = true
	}
	if selector := map[string]string{v1alpha1.LabelCluster: cluster.Name}; !maps.Equal(spec.Selector, selector) {
		spec.Selector = selector
		changed = true
	}
	if ports := servicePorts(); !slices.EqualFunc(spec.Ports, ports, samePort) {
		spec.Ports = ports
		changed = true
	}
	return changed
}

func servicePorts() []corev1.ServicePort {
	port := func(name string, number int32, protocol corev1.Protocol) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: number, Protocol: protocol, TargetPort: intstr.FromInt32(number)}
	}
	return []corev1.ServicePort{
		port("gossip", config.PortGossip, corev1.ProtocolTCP),
		port("gossip-udp", config.PortGossip, corev1.ProtocolUDP),
		port("grpc", config.PortGRPC, corev1.ProtocolTCP),
		port("http", config.PortHTTP, corev1.ProtocolTCP),
	}
}

func samePort(a, b corev1.ServicePort) bool {
	return a.Name == b.Name && a.Port == b.Port && a.Protocol == b.Protocol && a.TargetPort == b.TargetPort
}

// secretInput is what the data of the Secret depends on, beside the cluster.
type secretInput struct {
	authority     pki.Authority
	gossip        gossip
	stopHookCIDRs []netip.Prefix
	ca            []byte // certificates that the database's is verified with, PEM
	client        clientPair
	copied        copied
	allowed       consented
	key           func() []byte
	now           time.Time
}

// secretData is data as it should be, and whether that differs. The gossip key is made once and
// never changed here: an agent without it could not talk to the others.
func secretData(data map[string][]byte, cluster *v1alpha1.DatabaseCluster, in secretInput) (map[string][]byte, bool, error) {
	profile := pki.AgentProfile(cluster.Namespace, cluster.Name)
	out, changed, err := pki.Renew(data, in.authority, profile, in.now)
	if err != nil {
		return nil, false, err
	}
	switch n := len(out[config.KeyGossip]); {
	case n == 0:
		out[config.KeyGossip] = in.key()
		changed = true
	case n%gossipKeyBytes != 0:
		return nil, false, fmt.Errorf("key %s has %d bytes: must be %d, or a multiple during a rotation; restore it, or remove the key and restart all pods of the database",
			config.KeyGossip, n, gossipKeyBytes)
	}
	for name, value := range in.private() {
		if string(out[name]) == string(value) {
			continue
		}
		changed = true
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	file, err := json.MarshalIndent(agentFile(cluster, in), "", "  ")
	if err != nil {
		return nil, false, err
	}
	if string(out[config.KeyConfig]) != string(file) {
		out[config.KeyConfig] = file
		changed = true
	}
	return out, changed, nil
}

// agentFile returns what the agents are told about their DatabaseCluster.
func agentFile(cluster *v1alpha1.DatabaseCluster, in secretInput) config.File {
	spec := cluster.Spec.WithDefaults()
	connection := spec.Connection
	file := config.File{
		ClusterUID: string(cluster.UID),
		Service:    v1alpha1.DerivedName(cluster.Name) + "." + cluster.Namespace + ".svc",
		Engine:     string(spec.Engine),
		Connection: config.Connection{
			Host: in.allowed.host,
			Port: int(in.allowed.port),
			TLS: config.ConnectionTLS{
				Enabled:            connection.Scheme == "https" || (connection.Scheme == "" && connection.TLS.Enabled),
				CA:                 string(in.ca),
				ServerName:         connection.TLS.ServerName,
				InsecureSkipVerify: connection.TLS.InsecureSkipVerify,
				Cert:               string(in.client.cert),
			},
			AdminPort:   int(connection.AdminPort),
			ClusterFile: connection.ClusterFile,
			Client:      connection.Client,
			Failover:    in.allowed.failover,

			MaxLagSeconds: connection.MaxLagSeconds,
			Primary:       string(spec.Update.Primary),
		},
		Drain: config.Drain{
			Evacuate:       spec.Drain.Data.Restart == model.DataLose,
			TimeoutSeconds: int(spec.Drain.TimeoutSeconds),
		},
		Observe:       spec.Update.Mode == model.ModeObserve,
		Secrets:       in.allowed.secrets,
		Copied:        in.copied.from,
		GossipCIDRs:   in.gossip.only,
		PodNetworks:   in.gossip.first,
		StopHookCIDRs: in.stopHookCIDRs,
	}
	if file.Drain.Evacuate {
		file.Drain.TimeoutSeconds = int(spec.Drain.EvacuateTimeoutSeconds)
	}
	return file
}

// onlyCertificates keeps the certificates of a PEM text. Anybody who may create a DatabaseCluster
// can make the coordinator read a Secret of the same namespace; only certificates, which are
// public, ever leave it.
func onlyCertificates(text []byte) ([]byte, error) {
	certs, err := pki.ParseCertificates(text)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, cert := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return out, nil
}

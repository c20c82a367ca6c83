package siege

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// message is what a tenant's agents send to each question, with their identity before it.
type message struct {
	name string
	size int // of the unit, repeated
	unit []byte
	// pace is the time between two messages of a stream; 0 means as fast as they are taken.
	pace time.Duration
}

// largest is nearly half of what the coordinator reads of a connection without a whole
// message: each has two streams.
const largest = 4<<20 - 64<<10

// often is how long agents wait between two messages, as an agent with news does.
const often = 200 * time.Millisecond

// messages are cheap on the wire and dear in memory. A Roster's field 2 is its
// entries, of which 1 is the headline; a Report's 11 is roles, 24 groups, 26 nodes.
var messages = []message{
	{"empty entries", largest, []byte{0x12, 0x00}, often},
	{"entries with empty headlines", largest, []byte{0x12, 0x02, 0x0a, 0x00}, often},
	{"empty groups", largest, []byte{0xc2, 0x01, 0x00}, often},
	{"empty nodes", largest, []byte{0xd2, 0x01, 0x00}, often},
	{"empty roles", largest, []byte{0x5a, 0x00}, often},
	{"unknown fields", largest, []byte{0xf8, 0x07, 0x01}, often},
}

// flood is a tenant whose agents send 3.6 million small messages in 12 seconds, if
// they are taken: on two streams of each of ten pods.
func flood(t *testing.T, c *coordinator) {
	impostors(1, 10, message{"small ones", 0, nil, 0})(t, c)
}

// impostors is a tenant with databases whose agents are the tenant's own program:
// the certificate lies in the tenant's namespace.
func impostors(clusters, pods int, m message) func(*testing.T, *coordinator) {
	return func(t *testing.T, c *coordinator) {
		w := c.world
		w.namespace(t, hostileNamespace)
		var asked, sent atomic.Int64
		for i := range clusters {
			w.impostor(t, c, i, pods, m, &asked, &sent)
		}
		for begin := time.Now(); time.Since(begin) < lasts() && c.alive(); {
			time.Sleep(100 * time.Millisecond)
		}
		t.Logf("%d questions, %s sent", asked.Load(), mebibytes(sent.Load()))
		require.Positive(t, asked.Load(), "nobody asked the agents, so nothing was attacked")
	}
}

// impostor makes one database; none once the coordinator is gone, which makes certificates.
func (w *world) impostor(t *testing.T, c *coordinator, number, count int, m message, asked, sent *atomic.Int64) {
	t.Helper()
	if !c.alive() {
		return
	}
	ctx, name := t.Context(), fmt.Sprintf("db-%d", number)
	cluster, err := w.clusters(hostileNamespace).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rollcall.dev/v1alpha1", "kind": "DatabaseCluster",
		"metadata": map[string]any{"name": name, "namespace": hostileNamespace}, "spec": map[string]any{"engine": "Solr"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	labels := map[string]string{"app": name, v1alpha1.LabelCluster: name}
	sets := w.admin.AppsV1().StatefulSets(hostileNamespace)
	set, err := sets.Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(count)), ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	// There is something to do, so reports are asked for as well.
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: int32(count), ReadyReplicas: int32(count),
		CurrentRevision: name + "-1", UpdateRevision: name + "-2",
	}
	set, err = sets.UpdateStatus(ctx, set, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.account(t, hostileNamespace)
	t.Cleanup(func() { w.removeImpostor(t, name) })
	certificate, ok := w.stolen(t, c, hostileNamespace, name)
	if !ok {
		return
	}
	for i := range count {
		w.impostorPod(t, cluster, set, i, fmt.Sprintf("127.1.%d.%d", number+1, i+1), certificate, m, asked, sent)
	}
}

// stolen is the certificate that the coordinator gives to the agents of a database.
func (w *world) stolen(t *testing.T, c *coordinator, namespace, name string) (tls.Certificate, bool) {
	t.Helper()
	var secret *corev1.Secret
	require.Eventually(t, func() bool {
		var err error
		secret, err = w.admin.CoreV1().Secrets(namespace).Get(t.Context(), v1alpha1.DerivedName(name), metav1.GetOptions{})
		return err == nil || !c.alive()
	}, time.Minute, 100*time.Millisecond, "the agents are given nothing")
	if !c.alive() {
		return tls.Certificate{}, false
	}
	certificate, err := tls.X509KeyPair(secret.Data[config.KeyCert], secret.Data[config.KeyKey])
	require.NoError(t, err)
	return certificate, true
}

// impostorPod makes a pod that runs and is ready, and a server at its address.
func (w *world) impostorPod(t *testing.T, cluster *unstructured.Unstructured, set *appsv1.StatefulSet, ordinal int, ip string,
	certificate tls.Certificate, m message, asked, sent *atomic.Int64) {
	t.Helper()
	ctx := t.Context()
	pod, err := w.createPod(ctx, set, ordinal, set.Status.CurrentRevision, "node-0")
	require.NoError(t, err)
	who := &rollcallv1.Identity{
		Namespace: hostileNamespace, Cluster: set.Name, ClusterUid: string(cluster.GetUID()), Pod: pod.Name, PodUid: string(pod.UID),
	}
	head, err := proto.Marshal(&rollcallv1.Roster{Identity: who})
	require.NoError(t, err)
	answer := append(head, bytes.Repeat(m.unit, m.size/max(1, len(m.unit)))...)
	serveImpostor(t, net.JoinHostPort(ip, strconv.Itoa(config.PortGRPC)), certificate, answer, m.pace, asked, sent)

	require.NoError(t, w.readyPod(ctx, pod, ip))
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// serveImpostor returns each question with the same message, again and again where it is a stream.
func serveImpostor(t *testing.T, address string, certificate tls.Certificate, answer []byte, pace time.Duration, asked, sent *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ForceServerCodecV2(raw{}),
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13})),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var question []byte
			if err := stream.RecvMsg(&question); err != nil {
				return err
			}
			asked.Add(1)
			for stream.Context().Err() == nil {
				if err := stream.SendMsg(answer); err != nil {
					return err
				}
				sent.Add(int64(len(answer)))
				if pace > 0 {
					pause(stream.Context(), pace)
				}
			}
			return nil
		}))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
}

func (w *world) removeImpostor(t *testing.T, name string) {
	ctx, now := context.Background(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	for what, err := range map[string]error{
		"pods": w.admin.CoreV1().Pods(hostileNamespace).DeleteCollection(ctx, now, metav1.ListOptions{LabelSelector: "app=" + name}),
		"set":  w.admin.AppsV1().StatefulSets(hostileNamespace).Delete(ctx, name, now),
		"it":   w.clusters(hostileNamespace).Delete(ctx, name, now),
	} {
		if err != nil {
			t.Logf("remove %s of %s: %v", what, name, err)
		}
	}
}

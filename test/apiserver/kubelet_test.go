package apiserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// kubelet forwards ports of the pod coordinator-0, and does nothing else.
type kubelet struct {
	t  *testing.T
	mu sync.Mutex
	to string
}

// newKubelet runs on a node of its own, which the API server finds.
func newKubelet(t *testing.T, s *Server, admin *kubernetes.Clientset) *kubelet {
	t.Helper()
	k := &kubelet{t: t}
	server := httptest.NewTLSServer(k)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	address, ok := server.Listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	node, err := admin.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.IP.String()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(address.Port)
	_, err = admin.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	s.Apply(`
apiVersion: v1
kind: Pod
metadata: {name: coordinator-0, namespace: ` + install + `}
spec:
  nodeName: node
  securityContext: {runAsNonRoot: true, runAsUser: 1, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: a, image: a, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
`)
	return k
}

// forwards has all ports lead to an address from now on.
func (k *kubelet) forwards(to string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.to = to
}

func (k *kubelet) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set(httpstream.HeaderProtocolVersion, "portforward.k8s.io")
	conn := spdy.NewResponseUpgrader().UpgradeResponse(rw, r, func(stream httpstream.Stream, replySent <-chan struct{}) error {
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			return nil
		}
		go func() {
			<-replySent
			k.carry(stream)
		}()
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	select {
	case <-conn.CloseChan():
	case <-k.t.Context().Done():
	}
}

func (k *kubelet) carry(stream httpstream.Stream) {
	k.mu.Lock()
	to := k.to
	k.mu.Unlock()
	upstream, err := net.Dial("tcp", to)
	if err != nil {
		fmt.Fprint(stream, err)
		return
	}
	defer upstream.Close()
	go func() {
		_, _ = io.Copy(upstream, stream)
		_ = upstream.Close()
	}()
	_, _ = io.Copy(stream, upstream)
	_ = stream.Close()
}

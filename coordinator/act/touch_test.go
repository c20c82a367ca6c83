package act

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// slowly is an API server that takes its time for each patch of a pod.
type slowly struct {
	kubernetes.Interface
	typedcorev1.CoreV1Interface
	typedcorev1.PodInterface
	wait func(ctx context.Context, pod string) error
}

func (s slowly) CoreV1() typedcorev1.CoreV1Interface {
	s.CoreV1Interface = s.Interface.CoreV1()
	return s
}

func (s slowly) Pods(namespace string) typedcorev1.PodInterface {
	s.PodInterface = s.CoreV1Interface.Pods(namespace)
	return s
}

func (s slowly) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	if err := s.wait(ctx, name); err != nil {
		return nil, err
	}
	return s.PodInterface.Patch(ctx, name, pt, data, o, sub...)
}

// Many claims are taken over though each takes a while, and though one request is not
// answered at all. What never answers fails it in the end, by name.
func TestASlowRequestDoesNotFailATakeOver(t *testing.T) {
	for name, c := range map[string]struct {
		lost  int // requests about one pod that get no answer
		fails string
		most  time.Duration
	}{
		"all are slow":       {0, "", 5 * time.Second},
		"one gets no answer": {1, "", 15 * time.Second},
		"it never answers":   {99, "take over claim c-7: patch pod c-7: context deadline exceeded", 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				access := w.server.Client(nil)
				cluster, _ := w.server.Cluster(namespace, "search")
				cluster = cluster.DeepCopy()
				for i := range 40 {
					pod := fmt.Sprintf("c-%d", i)
					w.create(pod, "v1", true)
					object, _ := w.server.Pod(namespace, pod)
					cluster.Status.Claims = append(cluster.Status.Claims, model.Claim{ID: pod, Pod: pod, UID: string(object.UID)})
				}
				var mu sync.Mutex
				lost := c.lost
				client := slowly{Interface: access.Kubernetes, wait: func(ctx context.Context, pod string) error {
					mu.Lock()
					silent := pod == "c-7" && lost > 0
					if silent {
						lost--
					}
					mu.Unlock()
					if silent {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(400 * time.Millisecond)
					return nil
				}}
				began := time.Now()
				bound := func(ctx context.Context) (context.Context, context.CancelFunc) {
					return context.WithTimeout(ctx, requestTimeout)
				}
				taken, err := TakeOver(t.Context(), access.Clusters, client, cluster, 0, bound)
				require.Less(t, time.Since(began), c.most)
				if c.fails != "" {
					require.EqualError(t, err, c.fails)
					return
				}
				require.NoError(t, err)
				require.Len(t, taken.Standing, 40)
			})
		})
	}
}

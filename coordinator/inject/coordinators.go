package inject

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// AnnotationAuthority is on the pods of coordinators that know the webhook's own authority. Those
// of earlier versions do not have it.
const AnnotationAuthority = "rollcall.dev/webhook-authority"

// coordinatorLabels are those of the chart's Deployment.
var coordinatorLabels = labels.Set{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator"}

// Coordinators watches the pods of coordinators for earlier versions that do not know the webhook's
// own authority.
type Coordinators struct {
	informer cache.SharedIndexInformer
}

// coordinator is what is kept of a coordinator's pod.
type coordinator struct{ knows, ended bool }

func coordinatorOf(pod *corev1.Pod) *coordinator {
	_, knows := pod.Annotations[AnnotationAuthority]
	return &coordinator{knows: knows, ended: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed}
}

// NewCoordinators returns a watch of a namespace. changed is called when a coordinator appears,
// goes or ends.
func NewCoordinators(client kubernetes.Interface, namespace string, changed func()) (*Coordinators, error) {
	c := &Coordinators{informer: kube.Informer(client, client.CoreV1().Pods(namespace), coordinatorOf,
		kube.Watched{What: "coordinators", Labels: coordinatorLabels.String()})}
	if _, err := kube.OnChange(c.informer, func(*coordinator) {}, func(*coordinator) { changed() }); err != nil {
		return nil, fmt.Errorf("watch of coordinators: %w", err)
	}
	return c, nil
}

// Run watches until ctx ends.
func (c *Coordinators) Run(ctx context.Context) error {
	c.informer.RunWithContext(ctx)
	return nil
}

// Earlier returns whether a coordinator of an earlier version runs or is about to, and whether that
// is known. The last answer stays while the watch is interrupted.
func (c *Coordinators) Earlier() (is, known bool) {
	if !c.informer.HasSynced() {
		return false, false
	}
	for _, object := range c.informer.GetStore().List() {
		if pod := object.(*kube.Entry[coordinator]).Facts; !pod.knows && !pod.ended {
			return true, true
		}
	}
	return false, true
}

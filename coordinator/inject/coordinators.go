package inject

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// AnnotationAuthority is on the pods of coordinators that know of the webhook's own
// authority. Those of versions before have none.
const AnnotationAuthority = "rollcall.dev/webhook-authority"

// coordinatorLabels are those of the chart's Deployment.
var coordinatorLabels = labels.Set{"app.kubernetes.io/name": "rollcall", "app.kubernetes.io/component": "coordinator"}

// Coordinators watches the pods of coordinators for those of versions that know nothing
// of the webhook's own authority.
type Coordinators struct {
	informer cache.SharedIndexInformer
}

// NewCoordinators watches those of a namespace; changed is called at each change.
func NewCoordinators(client kubernetes.Interface, namespace string, changed func()) (*Coordinators, error) {
	pods := client.CoreV1().Pods(namespace)
	selector := coordinatorLabels.String()
	c := &Coordinators{informer: cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.LabelSelector = selector
				return pods.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.LabelSelector = selector
				return pods.Watch(ctx, o)
			},
		}, client), &corev1.Pod{}, cache.SharedIndexInformerOptions{ObjectDescription: "coordinators"})}
	if err := c.informer.SetTransform(marked); err != nil {
		return nil, fmt.Errorf("watch of coordinators: %w", err)
	}
	_, err := c.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch of coordinators: %w", err)
	}
	return c, nil
}

// marked is what is kept of a pod.
func marked(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion}}
	kept.Status.Phase = pod.Status.Phase
	if of, is := pod.Annotations[AnnotationAuthority]; is {
		kept.Annotations = map[string]string{AnnotationAuthority: of}
	}
	return kept, nil
}

// Run watches until ctx ends.
func (c *Coordinators) Run(ctx context.Context) error {
	c.informer.RunWithContext(ctx)
	return nil
}

// Earlier says whether a coordinator of a version before runs or is about to, and whether
// that is known. What was known stays so while the watch is cut off.
func (c *Coordinators) Earlier() (is, known bool) {
	if !c.informer.HasSynced() {
		return false, false
	}
	for _, object := range c.informer.GetStore().List() {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			continue
		}
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if _, knows := pod.Annotations[AnnotationAuthority]; !knows && !ended {
			return true, true
		}
	}
	return false, true
}

package testbed

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// Pods is a live view of the pods of one selector.
type Pods struct {
	lister   listers.PodNamespaceLister
	informer cache.SharedIndexInformer
	port     int
	login    *url.Userinfo
}

// Secured says that the database speaks TLS and wants this login.
func (p *Pods) Secured(login *url.Userinfo) { p.login = login }

// WatchPods starts a watch that ends with ctx. port is the one that the database listens on.
func (b *Bed) WatchPods(ctx context.Context, namespace, selector string, port int) (*Pods, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(b.Kube, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = selector }))
	informer := factory.Core().V1().Pods()
	shared := informer.Informer()
	factory.Start(ctx.Done())
	syncCtx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if !cache.WaitForCacheSync(syncCtx.Done(), shared.HasSynced) {
		return nil, fmt.Errorf("pods %s in %s: the watch did not start", selector, namespace)
	}
	return &Pods{lister: informer.Lister().Pods(namespace), informer: shared, port: port}, nil
}

// All pods, by name.
func (p *Pods) All() []*corev1.Pod {
	pods, err := p.lister.List(labels.Everything())
	if err != nil {
		panic(err) // the lister of a cache does not fail
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// Deleted calls back for each pod that is asked to go from now on, as soon as the
// watch tells, until stop.
func (p *Pods) Deleted(call func(pod *corev1.Pod)) (stop func(), err error) {
	handler, err := p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, now any) {
			before, after := old.(*corev1.Pod), now.(*corev1.Pod)
			// Between two looks of a watch that was broken off a pod may have become another.
			if before.DeletionTimestamp == nil && (after.DeletionTimestamp != nil || before.UID != after.UID) {
				call(before)
			}
		},
		DeleteFunc: func(last any) {
			if unseen, is := last.(cache.DeletedFinalStateUnknown); is {
				last = unseen.Obj
			}
			if pod, is := last.(*corev1.Pod); is && pod.DeletionTimestamp == nil {
				call(pod)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = p.informer.RemoveEventHandler(handler) }, nil
}

// Addresses are the URLs of all pods that have an address, by name.
func (p *Pods) Addresses() map[string]string {
	out := map[string]string{}
	for _, pod := range p.All() {
		if pod.Status.PodIP != "" {
			out[pod.Name] = p.URL(pod)
		}
	}
	return out
}

// URLs returns the urls of the pods that are Ready and not being deleted.
func (p *Pods) URLs() []string {
	var urls []string
	for _, pod := range p.All() {
		if Ready(pod) {
			urls = append(urls, p.URL(pod))
		}
	}
	return urls
}

// Updated returns nil when a StatefulSet's pods are all Ready on its update revision.
func (p *Pods) Updated(set *appsv1.StatefulSet) error {
	if set.Status.ObservedGeneration < set.Generation {
		return fmt.Errorf("%s: the StatefulSet's status is older than its spec", set.Name)
	}
	updated := 0
	for _, pod := range p.All() {
		if metav1.IsControlledBy(pod, set) && Ready(pod) && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == set.Status.UpdateRevision {
			updated++
		}
	}
	if updated != int(*set.Spec.Replicas) {
		return fmt.Errorf("%s: %d of %d pods are Ready on %s", set.Name, updated, *set.Spec.Replicas, set.Status.UpdateRevision)
	}
	return nil
}

// Witnessed are the pods as a witness sees them.
func (p *Pods) Witnessed() []witness.Pod {
	var out []witness.Pod
	for _, pod := range p.All() {
		out = append(out, witness.Pod{Name: pod.Name, Host: pod.Name, UID: string(pod.UID), BaseURL: p.URL(pod), Ready: Ready(pod), Deleting: pod.DeletionTimestamp != nil, Agent: HasAgent(pod)})
	}
	return out
}

// URL returns the URL of a pod's database.
func (p *Pods) URL(pod *corev1.Pod) string {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(p.port)), User: p.login}
	if p.login != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// Ready reports whether a Service would send traffic to the pod.
func Ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.PodIP == "" {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// HasAgent reports whether the pod has an agent.
func HasAgent(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == v1alpha1.AgentContainer })
}

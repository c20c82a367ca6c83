package kube

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// byCluster indexes pools by the DatabaseCluster they belong to.
const byCluster = "cluster"

func watchPools(client kubernetes.Interface) cache.SharedIndexInformer {
	return Informer(client, client.AppsV1().StatefulSets(metav1.NamespaceAll), poolOf, Watched{
		What: "StatefulSets of database clusters", Labels: v1alpha1.LabelCluster,
		Indexers: cache.Indexers{byCluster: func(object any) ([]string, error) {
			p := object.(*Entry[Pool]).Facts
			return []string{Key{Namespace: p.Namespace, Name: p.Cluster}.String()}, nil
		}},
	})
}

func watchNodes(client kubernetes.Interface) cache.SharedIndexInformer {
	return Informer(client, client.CoreV1().Nodes(), nodeOf, Watched{What: "nodes"})
}

func watchPods(client kubernetes.Interface, pool Pool) cache.SharedIndexInformer {
	return Informer(client, client.CoreV1().Pods(pool.Namespace), func(pod *corev1.Pod) *Pod { return podOf(pod, pool) },
		Watched{What: "pods of " + pool.Namespace + "/" + pool.Name, Labels: pool.selector})
}

// Source lists and watches objects of one kind, as a client of client-go does.
type Source[List runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (List, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Watched says which objects an Informer has.
type Watched struct {
	// What names them for people.
	What string
	// Labels and Fields are selectors. Empty means all.
	Labels, Fields string
	Indexers       cache.Indexers
}

// Informer keeps the facts that reduce returns for each object, as an Entry. reduce returns nil for
// an object that is not ours.
func Informer[List runtime.Object, Facts, Whole any, Object interface {
	*Whole
	runtime.Object
	metav1.Object
}](client any, from Source[List], reduce func(Object) *Facts, of Watched) cache.SharedIndexInformer {
	narrow := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector, o.FieldSelector = of.Labels, of.Fields
		return o
	}
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return from.List(ctx, narrow(o))
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return from.Watch(ctx, narrow(o))
			},
		}, client),
		Object(new(Whole)),
		cache.SharedIndexInformerOptions{Indexers: of.Indexers, ObjectDescription: of.What},
	)
	err := informer.SetTransform(func(object any) (any, error) {
		if whole, ok := object.(Object); ok {
			return &Entry[Facts]{namespace: whole.GetNamespace(), name: whole.GetName(), resourceVersion: whole.GetResourceVersion(), Facts: reduce(whole)}, nil
		}
		return object, nil // reduced already
	})
	if err != nil {
		panic(fmt.Sprintf("transform of an informer that has not started: %v", err))
	}
	return informer
}

// onWatchError logs why a watch ended, and calls tell. The informer tries again with back-off.
func onWatchError(informer cache.SharedIndexInformer, log *slog.Logger, what string, tell func(string)) {
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil {
			problem := brief(err)
			log.Warn("watch ended", "of", what, "error", problem)
			tell(problem)
		}
	})
}

// OnChange calls changed with the facts of every object that was added, removed
// or differs in more than what blank clears.
func OnChange[T any](informer cache.SharedIndexInformer, blank func(*T), changed func(*T)) (cache.ResourceEventHandlerRegistration, error) {
	facts := func(object any) *T {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if e, ok := object.(*Entry[T]); ok {
			return e.Facts
		}
		return nil
	}
	call := func(f *T) {
		if f != nil {
			changed(f)
		}
	}
	return informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { call(facts(object)) },
		DeleteFunc: func(object any) { call(facts(object)) },
		UpdateFunc: func(before, after any) {
			b, a := facts(before), facts(after)
			if b == nil || a == nil {
				call(b)
				call(a)
				return
			}
			was, is := *b, *a
			blank(&was)
			blank(&is)
			if !reflect.DeepEqual(was, is) {
				call(b)
				call(a)
			}
		},
	})
}

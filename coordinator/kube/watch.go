package kube

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
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
	sets := client.AppsV1().StatefulSets(metav1.NamespaceAll)
	informer := informerOf(client, &appsv1.StatefulSet{}, "StatefulSets of database clusters", v1alpha1.LabelCluster,
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return sets.List(ctx, o) },
		sets.Watch,
		func(object any) (any, error) {
			set, ok := object.(*appsv1.StatefulSet)
			if !ok {
				return object, nil
			}
			return Keyed(&set.ObjectMeta, poolOf(set)), nil
		},
		cache.Indexers{byCluster: func(object any) ([]string, error) {
			p := object.(*Entry[Pool]).Facts
			return []string{Key{Namespace: p.Namespace, Name: p.Cluster}.String()}, nil
		}})
	return informer
}

func watchNodes(client kubernetes.Interface) cache.SharedIndexInformer {
	nodes := client.CoreV1().Nodes()
	return informerOf(client, &corev1.Node{}, "nodes", "",
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return nodes.List(ctx, o) },
		nodes.Watch,
		func(object any) (any, error) {
			node, ok := object.(*corev1.Node)
			if !ok {
				return object, nil
			}
			return Keyed(&node.ObjectMeta, nodeOf(node)), nil
		}, nil)
}

func watchPods(client kubernetes.Interface, pool Pool) cache.SharedIndexInformer {
	pods := client.CoreV1().Pods(pool.Namespace)
	return informerOf(client, &corev1.Pod{}, "pods of "+pool.Namespace+"/"+pool.Name, pool.selector,
		func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		pods.Watch,
		func(object any) (any, error) {
			pod, ok := object.(*corev1.Pod)
			if !ok {
				return object, nil
			}
			return Keyed(&pod.ObjectMeta, podOf(pod, pool)), nil
		}, nil)
}

// informerOf wires one list and watch that keeps only what reduce leaves of each object.
// reduce is also shown what it has already reduced, and must leave that as it is.
func informerOf(
	client any, example runtime.Object, what, selector string,
	list cache.ListWithContextFunc, watching func(context.Context, metav1.ListOptions) (watch.Interface, error),
	reduce cache.TransformFunc, indexers cache.Indexers,
) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.LabelSelector = selector
				return list(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.LabelSelector = selector
				return watching(ctx, o)
			},
		}, client),
		example,
		cache.SharedIndexInformerOptions{Indexers: indexers, ObjectDescription: what},
	)
	if err := informer.SetTransform(reduce); err != nil {
		panic(fmt.Sprintf("transform of an informer that has not started: %v", err))
	}
	return informer
}

// onWatchError logs why a watch ended, and tells; the informer tries again with back-off.
func onWatchError(informer cache.SharedIndexInformer, log *slog.Logger, what string, tell func(string)) {
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) {
		if ctx.Err() == nil {
			problem := brief(err)
			log.Warn("watch ended", "of", what, "error", problem)
			tell(problem)
		}
	})
}

// onChange calls changed with the facts of every object that was added, removed
// or differs in more than its resourceVersion.
func onChange[T any](informer cache.SharedIndexInformer, blank func(*T), changed func(*T)) (cache.ResourceEventHandlerRegistration, error) {
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

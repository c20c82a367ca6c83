package api

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedapps "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	typedpolicy "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

func secondsOf(n int64) time.Duration { return time.Duration(n) * time.Second }

// Way is how a request gets to the server and its answer back.
type Way interface {
	// Carry has serve called after a while, and back after another. Either may
	// never happen.
	Carry(user, what string, serve, back func())
}

// Client is one process's access to the server. What Rollcall does not ask for is
// not there, and would panic.
type Client struct {
	server *Server
	way    Way
	user   string
	// Careless is what the client does wrong, to check those who should notice.
	Careless Careless
}

// Careless are planted bugs of a client.
type Careless struct {
	// Preconditions of removals are left out.
	Preconditions bool
	// Again: removals are sent once more, later and without conditions.
	Again bool
}

// Client makes a client that goes a way.
func (s *Server) Client(user string, way Way) *Client {
	return &Client{server: s, way: way, user: user}
}

// Kubernetes is the client for pods.
func (c *Client) Kubernetes() kubernetes.Interface { return clientset{c: c} }

// Clusters is the client for DatabaseClusters.
func (c *Client) Clusters() v1alpha1.Clients { return clusters{c} }

// call carries one request; serve runs on the loop, at most once. What follows
// clock.Apart in the name is the order of writes that are made together.
func call[T any](ctx context.Context, c *Client, verb, kind, name string, write bool, serve func() (T, error)) (T, error) {
	var none T
	var served *clock.Served[T]
	loop, key := c.server.loop, verb+" "+kind+" "+name
	what, _, _ := strings.Cut(key, clock.Apart)
	err := loop.Call(ctx, c.user+" "+key, func(told func()) {
		first := true
		if write {
			served = &clock.Served[T]{}
		} else {
			served, first = clock.Twin[T](loop, c.user+" "+key)
		}
		if served.Wait(told); !first {
			return
		}
		c.way.Carry(c.user, what, func() {
			if c.server.Refuse != nil {
				served.Err = c.server.Refuse(c.user, verb, write)
			}
			if served.Err == nil {
				served.Response, served.Err = serve()
			}
			if write {
				loop.Log(c.user, "%s: %s", what, result(served.Err))
			}
		}, served.Tell)
	})
	if err != nil {
		return none, err
	}
	return served.Response, served.Err
}

func result(err error) string {
	if err == nil {
		return "ok"
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return err.Error()
}

type clientset struct {
	kubernetes.Interface
	c *Client
}

func (k clientset) AppsV1() typedapps.AppsV1Interface       { return appsV1{c: k.c} }
func (k clientset) CoreV1() typedcore.CoreV1Interface       { return coreV1{c: k.c} }
func (k clientset) PolicyV1() typedpolicy.PolicyV1Interface { return policyV1{c: k.c} }

type coreV1 struct {
	typedcore.CoreV1Interface
	c *Client
}

func (k coreV1) Pods(string) typedcore.PodInterface { return podClient{c: k.c} }

type podClient struct {
	typedcore.PodInterface
	c *Client
}

func (p podClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	return call(ctx, p.c, "get", "pod", name, false, func() (*corev1.Pod, error) {
		object, err := p.c.server.find(Pods, name)
		if err != nil {
			return nil, err
		}
		return object.(*corev1.Pod), nil
	})
}

// List answers the pods that a label selects, as the server has them and no cache.
func (p podClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	return call(ctx, p.c, "list", "pod", options.LabelSelector, false, func() (*corev1.PodList, error) {
		list := &corev1.PodList{}
		for _, name := range p.c.server.Names(Pods) {
			if pod := p.c.server.Pod(name); selector.Matches(labels.Set(pod.Labels)) {
				list.Items = append(list.Items, *pod.DeepCopy())
			}
		}
		return list, nil
	})
}

func (p podClient) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*corev1.Pod, error) {
	return call(ctx, p.c, "patch", "pod", name+clock.Apart+string(data), true, func() (*corev1.Pod, error) {
		return p.c.server.patchPod(name, data)
	})
}

func (p podClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := call(ctx, p.c, "delete", "pod", name, true, func() (struct{}, error) {
		return struct{}{}, p.c.remove(name, &options, false)
	})
	return err
}

// remove carries a removal out, with what the client does wrong.
func (c *Client) remove(name string, options *metav1.DeleteOptions, evict bool) error {
	if c.Careless.Preconditions {
		options = nil
	}
	if c.Careless.Again {
		c.server.loop.In(20*time.Second, func() { _ = c.server.Remove(c.user, name, nil, false) })
	}
	return c.server.Remove(c.user, name, options, evict)
}

type policyV1 struct {
	typedpolicy.PolicyV1Interface
	c *Client
}

func (k policyV1) Evictions(string) typedpolicy.EvictionInterface { return evictions{c: k.c} }

type evictions struct {
	typedpolicy.EvictionInterface
	c *Client
}

func (e evictions) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	_, err := call(ctx, e.c, "evict", "pod", eviction.Name, true, func() (struct{}, error) {
		return struct{}{}, e.c.remove(eviction.Name, eviction.DeleteOptions, true)
	})
	return err
}

type appsV1 struct {
	typedapps.AppsV1Interface
	c *Client
}

func (k appsV1) StatefulSets(string) typedapps.StatefulSetInterface { return setClient{c: k.c} }

type setClient struct {
	typedapps.StatefulSetInterface
	c *Client
}

func (k setClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*appsv1.StatefulSet, error) {
	return call(ctx, k.c, "get", "set", name, false, func() (*appsv1.StatefulSet, error) {
		object, err := k.c.server.find(Sets, name)
		if err != nil {
			return nil, err
		}
		return object.(*appsv1.StatefulSet), nil
	})
}

// List answers the StatefulSets that a label selects, as the server has them and no cache.
func (k setClient) List(ctx context.Context, options metav1.ListOptions) (*appsv1.StatefulSetList, error) {
	selector, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, err
	}
	return call(ctx, k.c, "list", "set", options.LabelSelector, false, func() (*appsv1.StatefulSetList, error) {
		list := &appsv1.StatefulSetList{}
		for _, name := range k.c.server.Names(Sets) {
			if set := k.c.server.Set(name); selector.Matches(labels.Set(set.Labels)) {
				list.Items = append(list.Items, *set.DeepCopy())
			}
		}
		return list, nil
	})
}

func (k setClient) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*appsv1.StatefulSet, error) {
	return call(ctx, k.c, "patch", "set", name+clock.Apart+string(data), true, func() (*appsv1.StatefulSet, error) { return k.c.server.patchSet(name, data) })
}

type clusters struct{ c *Client }

func (k clusters) DatabaseClusters(string) v1alpha1.DatabaseClusters { return clusterClient{c: k.c} }

type clusterClient struct {
	v1alpha1.DatabaseClusters
	c *Client
}

func (k clusterClient) Get(ctx context.Context, name string, _ metav1.GetOptions) (*v1alpha1.DatabaseCluster, error) {
	return call(ctx, k.c, "get", "cluster", name, false, func() (*v1alpha1.DatabaseCluster, error) {
		object, err := k.c.server.find(Clusters, name)
		if err != nil {
			return nil, err
		}
		return object.(*v1alpha1.DatabaseCluster), nil
	})
}

func (k clusterClient) Patch(ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*v1alpha1.DatabaseCluster, error) {
	return call(ctx, k.c, "patch", "cluster", name+clock.Apart+string(data), true, func() (*v1alpha1.DatabaseCluster, error) { return k.c.server.patchCluster(name, data) })
}

func (k clusterClient) UpdateStatus(ctx context.Context, cluster *v1alpha1.DatabaseCluster, _ metav1.UpdateOptions) (*v1alpha1.DatabaseCluster, error) {
	return call(ctx, k.c, "status", "cluster", cluster.Name, true, func() (*v1alpha1.DatabaseCluster, error) {
		return k.c.server.updateStatus(cluster)
	})
}

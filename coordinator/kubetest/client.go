package kubetest

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	fakeclusters "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
)

// Client is one process's access to a Server.
type Client struct {
	Kubernetes *fake.Clientset
	Clusters   *fakeclusters.Clients
}

// Call is one request, as an interceptor sees it.
type Call struct {
	// Verb is get, list, watch, create, update, patch, delete or evict.
	Verb string
	// Resource is the plural name, with the subresource after a slash.
	Resource string
	Name     string
}

// Write says whether the call changes something.
func (c Call) Write() bool {
	switch c.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// Client makes a client. Intercept, which may be nil, is called with each
// request: an error from the first call is the answer and nothing is done;
// the function that it returns is called when the request has been carried
// out, and an error from that is the answer although it has. While intercept makes
// one request wait, others are served, as by a real API server.
func (s *Server) Client(intercept func(Call) (after func() error, err error)) *Client {
	c := &Client{Kubernetes: &fake.Clientset{}, Clusters: fakeclusters.New()}
	forward := func(fake *k8stesting.Fake, invoke func(k8stesting.Action) (runtime.Object, error)) k8stesting.ReactionFunc {
		return func(action k8stesting.Action) (bool, runtime.Object, error) {
			after := func() error { return nil }
			if intercept != nil {
				done, err := unlocked(fake, func() (func() error, error) { return intercept(callOf(action)) })
				if err != nil {
					return true, nil, err
				}
				if done != nil {
					after = done
				}
			}
			object, err := invoke(action)
			if late := after(); late != nil {
				return true, nil, late
			}
			return true, object, err
		}
	}
	c.Kubernetes.AddReactor("*", "*", forward(&c.Kubernetes.Fake, func(a k8stesting.Action) (runtime.Object, error) { return s.store.Invokes(a, nil) }))
	c.Clusters.PrependReactor("*", "*", forward(&c.Clusters.Fake, func(a k8stesting.Action) (runtime.Object, error) { return s.clusters.Invokes(a, nil) }))
	c.Kubernetes.AddWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		w, err := s.store.InvokesWatch(a)
		return true, w, err
	})
	c.Clusters.PrependWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
		w, err := s.clusters.InvokesWatch(a)
		return true, w, err
	})
	return c
}

// unlocked calls f without the lock that a fake clientset holds while it reacts.
func unlocked(fake *k8stesting.Fake, f func() (func() error, error)) (func() error, error) {
	fake.Unlock()
	defer fake.Lock() // also if f ends its test
	return f()
}

func callOf(action k8stesting.Action) Call {
	call := Call{Verb: action.GetVerb(), Resource: action.GetResource().Resource}
	if sub := action.GetSubresource(); sub != "" {
		call.Resource += "/" + sub
	}
	switch a := action.(type) {
	case interface{ GetName() string }:
		call.Name = a.GetName()
	case interface{ GetObject() runtime.Object }:
		if m, err := meta.Accessor(a.GetObject()); err == nil {
			call.Name = m.GetName()
		}
	}
	if call.Resource == "pods/eviction" {
		call.Verb = "evict"
	}
	return call
}

package kubetest

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	k8stesting "k8s.io/client-go/testing"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	fakeclusters "github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1/fake"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
)

// Client is one process's access to a Server.
type Client struct {
	Kubernetes *fake.Clientset
	Clusters   *fakeclusters.Clients
}

// Call is one request, as an interceptor sees it.
type Call = apiserver.Call

// Client makes a client. Intercept, which may be nil, is called with each
// request: an error from the first call is the answer and nothing is done;
// the function that it returns is called when the request has been carried
// out, and an error from that is the answer although it has. While intercept makes
// one request wait, others are served, as by a real API server.
func (s *Server) Client(intercept func(Call) (after func() error, err error)) *Client {
	c := &Client{Kubernetes: &fake.Clientset{}, Clusters: &fakeclusters.Clients{}}
	for _, fake := range []*k8stesting.Fake{&c.Kubernetes.Fake, &c.Clusters.Fake} {
		fake.AddReactor("*", "*", func(action k8stesting.Action) (bool, runtime.Object, error) {
			call := callOf(action)
			after := func() error { return nil }
			if intercept != nil {
				done, err := unlocked(fake, func() (func() error, error) { return intercept(call) })
				if err != nil {
					return true, nil, err
				}
				if done != nil {
					after = done
				}
			}
			object, err := s.serve(call)
			if late := after(); late != nil {
				return true, nil, late
			}
			return true, object, err
		})
		fake.AddWatchReactor("*", func(a k8stesting.Action) (bool, watch.Interface, error) {
			version := ""
			if w, ok := a.(k8stesting.WatchActionImpl); ok {
				version = w.ListOptions.ResourceVersion
			}
			begun, err := s.watch(a.GetResource(), a.GetNamespace(), version)
			return true, begun, err
		})
	}
	return c
}

// unlocked calls f without the lock that a fake clientset holds while it reacts.
func unlocked(fake *k8stesting.Fake, f func() (func() error, error)) (func() error, error) {
	fake.Unlock()
	defer fake.Lock() // also if f ends its test
	return f()
}

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(clientscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
}

func callOf(action k8stesting.Action) Call {
	call := Call{Verb: action.GetVerb(), Kind: action.GetResource(), Resource: action.GetResource().Resource, Namespace: action.GetNamespace()}
	if sub := action.GetSubresource(); sub != "" {
		call.Resource += "/" + sub
	}
	if a, ok := action.(interface{ GetName() string }); ok {
		call.Name = a.GetName()
	}
	switch a := action.(type) {
	case k8stesting.ListActionImpl: // the clientset selects
		list := a.GetKind()
		list.Kind += "List"
		call.Into, _ = scheme.New(list)
	case k8stesting.CreateActionImpl:
		call.Object = a.GetObject().(apiserver.Object)
		call.Name = call.Object.GetName()
	case k8stesting.UpdateActionImpl:
		call.Object = a.GetObject().(apiserver.Object)
		call.Name = call.Object.GetName()
	case k8stesting.PatchActionImpl:
		call.Patch = a.GetPatch()
	case k8stesting.DeleteActionImpl:
		options := a.GetDeleteOptions()
		call.Options = &options
	}
	if eviction, ok := call.Object.(*policyv1.Eviction); ok {
		call.Verb, call.Options = "evict", eviction.DeleteOptions
	}
	return call
}

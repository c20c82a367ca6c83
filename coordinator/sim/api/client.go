package api

import (
	"context"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/sim/apiserver"
	"github.com/rollcall-dev/rollcall/coordinator/sim/clock"
)

// Way is how a request reaches the server and its answer comes back.
type Way interface {
	// Carry calls serve after a while, and back after another. Either may never happen.
	Carry(user, what string, serve, back func())
}

// Client is one process's access to the server.
type Client struct {
	server *Server
	way    Way
	user   string
	// Careless is what the client does wrong, to test the checks.
	Careless Careless
}

// Careless are planted bugs of a client.
type Careless struct {
	// Preconditions of removals are left out.
	Preconditions bool
	// Again is true if removals are sent once more, later and without conditions.
	Again bool
}

// Client returns a client that uses a way.
func (s *Server) Client(user string, way Way) *Client {
	return &Client{server: s, way: way, user: user}
}

// Kubernetes returns the client for pods.
func (c *Client) Kubernetes() kubernetes.Interface { return apiserver.Ask(c.ask).Kubernetes() }

// Clusters returns the client for DatabaseClusters.
func (c *Client) Clusters() v1alpha1.Clients { return apiserver.Ask(c.ask) }

var words = map[Kind]string{Pods: "pod", Sets: "set", Clusters: "cluster", apiserver.Volumes: "volume"}

// key names a request. What follows clock.Apart is the order of writes that are made together.
func key(r apiserver.Call) string {
	verb := r.Verb
	if r.Resource == "databaseclusters/status" {
		verb = "status"
	}
	name := verb + " " + words[r.Kind] + " " + r.Name + r.Selector
	if r.Verb == "patch" {
		name += clock.Apart + string(r.Patch)
	}
	return name
}

// ask carries one request, which is served on the loop, at most once.
func (c *Client) ask(ctx context.Context, r apiserver.Call) (runtime.Object, error) {
	r.User = c.user
	var served *clock.Served[runtime.Object]
	loop, key, write := c.server.loop, key(r), r.Write() && !r.DryRun()
	what, _, _ := strings.Cut(key, clock.Apart)
	err := loop.Call(ctx, c.user+" "+key, func(told func()) {
		first := true
		if write {
			served = &clock.Served[runtime.Object]{}
		} else {
			served, first = clock.Twin[runtime.Object](loop, c.user+" "+key)
		}
		if served.Wait(told); !first {
			return
		}
		c.way.Carry(c.user, what, func() {
			served.Response, served.Err = c.serve(r, write)
			if write {
				loop.Log(c.user, "%s: %s", what, result(served.Err))
			}
		}, served.Tell)
	})
	if err != nil {
		return nil, err
	}
	return served.Response, served.Err
}

// serve carries a request out, with what the client does wrong.
func (c *Client) serve(r apiserver.Call, write bool) (runtime.Object, error) {
	if refuse := c.server.Refuse; refuse != nil {
		if err := refuse(r.User, r.Verb, write); err != nil {
			return nil, err
		}
	}
	if removal := r.Kind == Pods && r.Options != nil; removal {
		if c.Careless.Preconditions {
			r.Options = nil
		}
		if c.Careless.Again {
			c.server.loop.In(20*time.Second, func() { _ = c.server.Remove(c.user, r.Name, nil, false) })
		}
	}
	before := c.server.Set(r.Name)
	answer, err := c.server.Serve(r)
	if set, ok := answer.(*appsv1.StatefulSet); ok && r.Verb == "patch" && set.Generation != before.Generation {
		c.server.loop.Log("statefulset", "partition of %s is %d", set.Name, *set.Spec.UpdateStrategy.RollingUpdate.Partition)
	}
	return answer, err
}

func result(err error) string {
	if err == nil {
		return "ok"
	}
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return err.Error()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// Who says what is shown.
const (
	byCoordinator = "by the coordinator"
	byObject      = "as the DatabaseCluster says; the coordinator was not asked"
)

// patience is how long the coordinator may take before what the object says
// has to do. Tests have more of it: a machine that stands still is no answer.
var patience = 8 * time.Second

// callTimeout is how long the coordinator may take where nothing else will do.
const callTimeout = 30 * time.Second

// clustersOf asks the coordinator, and where it cannot be reached reads the
// objects. With an empty name it is about all clusters of the namespace, and
// with an empty namespace about those of all.
func (a *app) clustersOf(ctx context.Context, namespace, name string) (list []*rollcallv1.Cluster, source string, err error) {
	list, err = a.askCoordinator(ctx, namespace, name)
	if err == nil {
		return list, byCoordinator, nil
	}
	if a.reach.Address != "" || ctx.Err() != nil {
		return nil, "", err
	}
	objects, objectErr := a.readObjects(ctx, namespace, name)
	if objectErr != nil {
		// What the API server says about the object is what a person can act on.
		return nil, "", objectErr
	}
	fmt.Fprintf(a.streams.ErrOut, "note: %v\nnote: showing what the DatabaseCluster says, which can be some seconds old\n", err)
	return objects, byObject, nil
}

func (a *app) askCoordinator(ctx context.Context, namespace, name string) ([]*rollcallv1.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if name == "" {
		resp, err := c.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: namespace})
		if err != nil {
			return nil, fromCoordinator(err)
		}
		return resp.GetClusters(), nil
	}
	cluster, err := c.GetCluster(ctx, &rollcallv1.GetClusterRequest{Namespace: namespace, Name: name})
	if err != nil {
		return nil, fromCoordinator(err)
	}
	return []*rollcallv1.Cluster{cluster}, nil
}

func (a *app) readObjects(ctx context.Context, namespace, name string) ([]*rollcallv1.Cluster, error) {
	clients, _, err := a.clients()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if name != "" {
		object, err := clients.DatabaseClusters(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, aboutObject(err, namespace, name)
		}
		return []*rollcallv1.Cluster{fromObject(object)}, nil
	}
	objects, err := clients.DatabaseClusters(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, aboutObject(err, namespace, name)
	}
	var list []*rollcallv1.Cluster
	for i := range objects.Items {
		list = append(list, fromObject(&objects.Items[i]))
	}
	return list, nil
}

// aboutObject is the API server's answer as a person should read it.
func aboutObject(err error, namespace, name string) error {
	what := fmt.Sprintf("DatabaseCluster %s in namespace %s", name, namespace)
	if name == "" {
		what = "DatabaseClusters of namespace " + namespace
		if namespace == "" {
			what = "DatabaseClusters of all namespaces"
		}
	}
	switch {
	case noSuchResource(err):
		return errors.New("the API server does not know DatabaseClusters: Rollcall is not installed there")
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s", what)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("not permitted: %s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// noSuchResource tells a missing custom resource definition from a missing object.
func noSuchResource(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	// An unknown path is answered by plain text, which the client notes as a cause.
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// fromObject is what a DatabaseCluster says of itself, in the coordinator's
// terms: without the states of pods, and with at most 50 holds.
func fromObject(o *v1alpha1.DatabaseCluster) *rollcallv1.Cluster {
	return status.ClusterProto(status.Decision{
		Key: status.Key{Namespace: o.Namespace, Name: o.Name},
		Moment: progress.Moment{
			Snapshot: model.Snapshot{Cluster: model.Cluster{
				Spec:   o.Spec,
				Status: model.Status{Epoch: o.Status.Epoch},
			}},
			Plan:   model.Plan{Phase: o.Status.Phase, Holds: o.Status.Holds},
			Claims: o.Status.Claims,
			Pods:   o.Status.Pods,
			Phase:  o.Status.Phase,
		},
		Withheld: withheld(o.Status.Conditions),
	})
}

func withheld(conditions []v1alpha1.Condition) string {
	for _, c := range conditions {
		if c.Type == v1alpha1.ConditionWithheld && c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

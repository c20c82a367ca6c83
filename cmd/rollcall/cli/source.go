package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/reach"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/progress"
	"github.com/rollcall-dev/rollcall/coordinator/status"
	rollcallv1 "github.com/rollcall-dev/rollcall/proto/rollcall/v1"
)

// The source of what is shown, for people.
const (
	byCoordinator = "by the coordinator"
	byObject      = "as the DatabaseCluster says; the coordinator was not asked"
)

// ClustersOf asks the coordinator, and falls back to the objects when it cannot be reached.
// An empty name means all clusters of the namespace; an empty namespace means all namespaces.
func (a *App) ClustersOf(ctx context.Context, namespace, name string) (list []*rollcallv1.Cluster, source string, err error) {
	list, err = a.AskCoordinator(ctx, namespace, name)
	if err == nil {
		return list, byCoordinator, nil
	}
	if a.Reach.Address != "" || ctx.Err() != nil {
		return nil, "", err
	}
	objects, objectErr := a.ReadObjects(ctx, namespace, name)
	if objectErr != nil {
		// The API server's error is the one that people can act on.
		return nil, "", objectErr
	}
	fmt.Fprintf(a.ErrOut, "note: %v\nnote: showing what the DatabaseCluster says, which can be some seconds old\n", err)
	return objects, byObject, nil
}

// AskCoordinator is ClustersOf without the fallback.
func (a *App) AskCoordinator(ctx context.Context, namespace, name string) (list []*rollcallv1.Cluster, err error) {
	err = a.Ask(ctx, Patience, func(ctx context.Context, c *reach.Coordinator) error {
		if name == "" {
			resp, err := c.ListClusters(ctx, &rollcallv1.ListClustersRequest{Namespace: namespace})
			list = resp.GetClusters()
			return err
		}
		cluster, err := c.GetCluster(ctx, &rollcallv1.GetClusterRequest{Namespace: namespace, Name: name})
		list = []*rollcallv1.Cluster{cluster}
		return err
	})
	return list, err
}

// ReadObjects reads the clusters from their objects.
func (a *App) ReadObjects(ctx context.Context, namespace, name string) ([]*rollcallv1.Cluster, error) {
	k, err := a.API()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	k.Namespace = namespace
	if name != "" {
		object, err := k.Cluster(ctx, name)
		if err != nil {
			return nil, err
		}
		return []*rollcallv1.Cluster{FromObject(object)}, nil
	}
	objects, err := k.Clusters.DatabaseClusters(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, AboutObject(err, namespace, "")
	}
	var list []*rollcallv1.Cluster
	for i := range objects.Items {
		list = append(list, FromObject(&objects.Items[i]))
	}
	return list, nil
}

// AboutObject turns an error of the API server into a message for people.
func AboutObject(err error, namespace, name string) error {
	what := fmt.Sprintf("DatabaseCluster %s in namespace %s", name, namespace)
	if name == "" {
		what = "DatabaseClusters of namespace " + namespace
		if namespace == "" {
			what = "DatabaseClusters of all namespaces"
		}
	}
	switch {
	case NoSuchResource(err):
		return errors.New("the API server does not know DatabaseClusters: Rollcall is not installed there")
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no %s", what)
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("not permitted: %s: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// NoSuchResource tells a missing custom resource definition from a missing object.
func NoSuchResource(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	// The API server answers an unknown path in plain text, which client-go reports as this cause.
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// FromObject converts a DatabaseCluster to the coordinator's message: without pod states,
// and with at most 50 holds.
func FromObject(o *v1alpha1.DatabaseCluster) *rollcallv1.Cluster {
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

// withheld is the message of the condition Withheld while it is true.
func withheld(conditions []v1alpha1.Condition) string {
	i := slices.IndexFunc(conditions, func(c v1alpha1.Condition) bool {
		return c.Type == v1alpha1.ConditionWithheld && c.Status == metav1.ConditionTrue
	})
	if i < 0 {
		return ""
	}
	return conditions[i].Message
}

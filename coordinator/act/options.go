package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Options are the options of an Executor. All without a default are required.
type Options struct {
	Kubernetes kubernetes.Interface
	Clusters   v1alpha1.Clients
	Agents     AgentClient

	// Namespace, Name and UID are those of the DatabaseCluster.
	Namespace string
	Name      string
	UID       string
	// Epoch is this coordinator's epoch, as TakeOver wrote it to the status.
	Epoch int64

	// Bound gives a request to the API server a deadline within the leader's
	// term. Default: no bound.
	Bound Bound
	// Notify is called, from any goroutine, when there is a result for the next step, whose
	// facts are gathered after the call. It must return at once.
	Notify func()
	Logger *slog.Logger
}

func (o *Options) validate() error {
	switch {
	case o.Kubernetes == nil || o.Clusters == nil || o.Agents == nil || o.Notify == nil:
		return errors.New("act: Kubernetes, Clusters, Agents and Notify are required")
	case o.Namespace == "" || o.Name == "" || o.UID == "":
		return errors.New("act: namespace, name and UID of the database cluster are required")
	case o.Epoch <= 0:
		return fmt.Errorf("act: the epoch is %d and must be above 0", o.Epoch)
	}
	if o.Bound == nil {
		o.Bound = context.WithCancel
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

package act

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// Options of an Actor. All without a default are required.
type Options struct {
	Kubernetes kubernetes.Interface
	Clusters   v1alpha1.Clients
	Agents     Agents

	// Namespace, Name and UID of the DatabaseCluster.
	Namespace string
	Name      string
	UID       string
	// EvacuatesOthers: any agent can empty the member of a pod in which none runs.
	EvacuatesOthers bool
	// OwnAgentOnly: for a member that leads only its own agent can hand over, so no pod
	// without one goes before another agent has said that it may.
	OwnAgentOnly bool
	// Epoch is this coordinator's, as it was written to the status by TakeOver.
	Epoch int64

	// Bound gives a request to the API server a deadline within the leader's
	// term. Default: no bound.
	Bound Bound
	// Notify is called, from any goroutine, when Advance should be called again,
	// with a snapshot that is begun after the call. It must return at once.
	Notify func()
	// Grant answers whether so many claims of this database cluster may be open,
	// as far as other clusters are concerned. Default: always.
	Grant func(open int) bool
	// NewID makes the ids of claims. Default: random.
	NewID   func() string
	Metrics *Metrics
	Logger  *slog.Logger
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
	if o.Grant == nil {
		o.Grant = func(int) bool { return true }
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

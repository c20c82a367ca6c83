package act

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// maxEpoch keeps an absurd number in some agent's memory from using up all epochs.
const maxEpoch = int64(1) << 53

// ErrEpochsUsedUp means that an agent or the status has an epoch that no coordinator can have
// reached.
var ErrEpochsUsedUp = errors.New("the epoch cannot be raised any further")

// Taken is a database cluster that was taken over.
type Taken struct {
	Cluster *v1alpha1.DatabaseCluster
	// Standing are the UIDs of the claimed pods that had not gone when they were touched.
	Standing map[string]bool
}

// TakeOver makes a database cluster this coordinator's: it raises the epoch above the status's and
// above seen, the highest that any agent is known to have heard of, takes over the open claims, and
// then touches their pods, so that a late write of the former coordinator fails, and closes guards
// that it has left open, because the new coordinator has not decided to open them. It touches the
// StatefulSets whose partition a claim may lower in the same way.
//
// Pods and StatefulSets are touched in parallel, and each request has the time that bound gives it,
// so neither their number nor a slow request makes this fail.
//
// A conflict with another writer is an error. Begin again with the newer object.
func TakeOver(ctx context.Context, clusters v1alpha1.Clients, client kubernetes.Interface, cluster *v1alpha1.DatabaseCluster, seen int64, bound Bound) (Taken, error) {
	if written := cluster.Status.Epoch; written < 0 || written > maxEpoch {
		cluster = cluster.DeepCopy()
		cluster.Status.Epoch = 0 // no coordinator wrote that
	}
	epoch := max(cluster.Status.Epoch, seen) + 1
	if epoch > maxEpoch {
		return Taken{}, fmt.Errorf("%w: %d", ErrEpochsUsedUp, epoch)
	}
	next := cluster.DeepCopy()
	next.Status.Epoch = epoch
	for i := range next.Status.Claims {
		next.Status.Claims[i].Epoch = epoch
	}
	bounded, cancel := bound(ctx)
	next, err := clusters.DatabaseClusters(cluster.Namespace).UpdateStatus(bounded, next, metav1.UpdateOptions{})
	cancel()
	if err != nil {
		return Taken{}, fmt.Errorf("raise the epoch to %d: %w", epoch, err)
	}
	t := toucher{pods: NewPods(client, cluster.Namespace), sets: NewSets(client, cluster.Namespace), epoch: epoch, bound: bound}
	standing, err := t.touchAll(ctx, next.Status.Claims)
	if err != nil {
		return Taken{}, err
	}
	return Taken{Cluster: next, Standing: standing}, nil
}

package act

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/policy"
)

// maxEpoch keeps an absurd number in some agent's memory from using up all epochs.
const maxEpoch = int64(1) << 53

// ErrEpochsUsedUp: an agent or the status speaks of an epoch that no coordinator has reached.
var ErrEpochsUsedUp = errors.New("the epoch is beyond what can be raised")

// Taken is a database cluster that was taken over.
type Taken struct {
	Cluster *v1alpha1.DatabaseCluster
	// Standing are the UIDs of the claimed pods that had not gone when they were touched.
	Standing map[string]bool
}

// TakeOver makes a database cluster this coordinator's: it raises the epoch
// above the status's and above seen, the highest that any agent is known to
// have heard of, takes over the open claims, and then touches their pods, so
// that a write of the former coordinator which is still on its way fails, and shuts
// guards that it has left open: no decision of the new one stands behind them. So are
// touched the StatefulSets whose hold line a claim may lower.
//
// A conflict with another writer is an error; begin again with the newer object.
func TakeOver(ctx context.Context, clusters v1alpha1.Clients, client kubernetes.Interface, cluster *v1alpha1.DatabaseCluster, seen int64) (Taken, error) {
	epoch := max(cluster.Status.Epoch, seen) + 1
	if epoch > maxEpoch {
		return Taken{}, fmt.Errorf("%w: %d", ErrEpochsUsedUp, epoch)
	}
	next := cluster.DeepCopy()
	next.Status.Epoch = epoch
	for i := range next.Status.Claims {
		next.Status.Claims[i].Epoch = epoch
	}
	next, err := clusters.DatabaseClusters(cluster.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return Taken{}, fmt.Errorf("raise the epoch to %d: %w", epoch, err)
	}
	taken := Taken{Cluster: next, Standing: map[string]bool{}}
	pods := NewPods(client, cluster.Namespace)
	for _, claim := range next.Status.Claims {
		pod, err := pods.touch(ctx, claim.Pod, claim.UID, epoch)
		switch {
		case err == nil:
			taken.Standing[claim.UID] = !pod.Leaving
			if pod.Guard == v1alpha1.GuardOpen && !pod.Leaving {
				// Who finds that it has changed, or cannot tell, leaves it to the actor's first look.
				_, _ = pods.shut(ctx, pod)
			}
		case !errors.Is(err, errGone) && !errors.Is(err, errConflict):
			return Taken{}, fmt.Errorf("take over claim %s: %w", claim.ID, err)
		}
	}
	sets := NewSets(client, cluster.Namespace)
	for _, claim := range next.Status.Claims {
		if claim.Action != policy.LowerPartition {
			continue
		}
		// A late write must not move the line that this claim waits for.
		pool := claim.Pod[:max(0, strings.LastIndexByte(claim.Pod, '-'))]
		if _, err := sets.touch(ctx, pool, epoch); err != nil && !errors.Is(err, errSetChanged) {
			return Taken{}, fmt.Errorf("take over claim %s: %w", claim.ID, err)
		}
	}
	return taken, nil
}

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

// TakeOver makes a database cluster this coordinator's: it raises the epoch
// above the status's and above seen, the highest that any agent is known to
// have heard of, takes over the open claims, and then touches their pods, so
// that a write of the former coordinator which is still on its way fails. So are
// the StatefulSets whose hold line a claim may lower.
//
// A conflict with another writer is an error; begin again with the newer object.
func TakeOver(ctx context.Context, clusters v1alpha1.Clients, client kubernetes.Interface, cluster *v1alpha1.DatabaseCluster, seen int64, now policy.Time) (*v1alpha1.DatabaseCluster, error) {
	epoch := max(cluster.Status.Epoch, seen) + 1
	if epoch > maxEpoch {
		return nil, fmt.Errorf("%w: %d", ErrEpochsUsedUp, epoch)
	}
	taken := cluster.DeepCopy()
	taken.Status.Epoch = epoch
	for i := range taken.Status.Claims {
		taken.Status.Claims[i].Epoch = epoch
	}
	if len(taken.Status.Claims) > 0 {
		// Whether a pod has gone meanwhile is not known; the database may not have noticed.
		taken.Status.LastDeparture = now
	}
	taken, err := clusters.DatabaseClusters(cluster.Namespace).UpdateStatus(ctx, taken, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("raise the epoch to %d: %w", epoch, err)
	}
	pods := NewPods(client, cluster.Namespace)
	for _, claim := range taken.Status.Claims {
		_, err := pods.touch(ctx, claim.Pod, claim.UID, epoch)
		if err != nil && !errors.Is(err, errGone) && !errors.Is(err, errConflict) {
			return nil, fmt.Errorf("take over claim %s: %w", claim.ID, err)
		}
	}
	sets := NewSets(client, cluster.Namespace)
	for _, claim := range taken.Status.Claims {
		if claim.Action != policy.LowerPartition {
			continue
		}
		// A late write must not move the line that this claim waits for.
		pool := claim.Pod[:max(0, strings.LastIndexByte(claim.Pod, '-'))]
		if err := sets.touch(ctx, pool, epoch); err != nil && !errors.Is(err, errSetChanged) {
			return nil, fmt.Errorf("take over claim %s: %w", claim.ID, err)
		}
	}
	return taken, nil
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// drains: two nodes are drained in the middle of a rollout while no coordinator
// runs. Kubernetes itself keeps the budget, and tells the one who drains.
func (r *rolling) drains(t *testing.T) {
	out := r.rolls(t, solrcloud.Annotated("drains"), func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, r.bed, w, 1); err != nil {
			return err
		}
		if err := coordinators(ctx, r.bed, 0); err != nil {
			return err
		}
		defer func() { _ = coordinators(context.WithoutCancel(ctx), r.bed, 2) }()
		// What is on its way may arrive.
		if err := r.cloud.AllActive(ctx, 4*time.Minute); err != nil {
			return err
		}
		before := len(w.Report().Restarts)
		said, err := r.drainTwo(ctx)
		if err != nil {
			return err
		}
		if after := len(w.Report().Restarts); after != before {
			return fmt.Errorf("%d pods went while nobody led", after-before)
		}
		if !strings.Contains(said, "Cannot evict pod as it would violate the pod's disruption budget") {
			return fmt.Errorf("the drains say nothing of a budget: %s", said)
		}
		t.Log(said)
		return coordinators(ctx, r.bed, 2)
	})
	requireWell(t, out)
}

// drainTwo drains the nodes of two pods at once for a while, and returns what kubectl said. Both
// must fail.
func (r *rolling) drainTwo(ctx context.Context) (string, error) {
	var nodes []string
	for _, pod := range r.cloud.Pods.All() {
		if node := pod.Spec.NodeName; len(nodes) == 0 || len(nodes) == 1 && nodes[0] != node {
			nodes = append(nodes, node)
		}
	}
	defer func() {
		for _, node := range nodes {
			_, _ = r.bed.Kubectl(context.WithoutCancel(ctx), "", "uncordon", node)
		}
	}()
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			_, errs[i] = r.bed.Kubectl(ctx, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=30s", "--pod-selector=app=solr")
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err == nil {
			return "", fmt.Errorf("%s was drained", nodes[i])
		}
	}
	return errors.Join(errs...).Error(), nil
}

// scaledDown: one pod fewer in the middle of a rollout. It waits for its turn,
// what it holds is moved off, and then it goes.
func (r *rolling) scaledDown(t *testing.T) {
	var seen string
	out := r.rolls(t, solrcloud.Annotated("scale-down"), func(ctx context.Context, w *witness.Witness) error {
		if err := restarted(ctx, r.bed, w, 1); err != nil {
			return err
		}
		w.Want(5)
		if _, err := r.bed.Kubectl(ctx, "", "scale", "statefulset/solr", "-n", solrcloud.Namespace, "--replicas=5"); err != nil {
			return err
		}
		return r.bed.Eventually(ctx, "solr-5 to go", rolloutLimit, func(ctx context.Context) error {
			for _, pod := range r.cloud.Pods.All() {
				if pod.Name != "solr-5" || pod.DeletionTimestamp != nil {
					continue
				}
				if text, err := r.bed.Rollcall(ctx, "explain", "solr-5", "-n", solrcloud.Namespace); err == nil && text != seen {
					seen = text
					r.bed.Logf("%s", text)
				}
				return errors.New("it is there")
			}
			for shard, s := range w.State().Shards {
				for _, missing := range s.Missing {
					if strings.Contains(missing, "solr-5.") {
						return fmt.Errorf("%s still names it: %s", shard, missing)
					}
				}
			}
			return nil
		})
	})
	shard, away := out.Witness.WorstShard()
	require.LessOrEqual(t, away, 1, "replicas of %s unavailable at once", shard)
	require.NotEmpty(t, seen, "nobody was told why it waits")
}

package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/test/e2e/rehearsal"
	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
	"github.com/rollcall-dev/rollcall/test/e2e/witness"
)

// TestRollingUpdateChart takes a Helm release as most charts make them, with the
// strategy RollingUpdate and without agents, through adoption and everything
// that the guard has to hold afterwards.
func TestRollingUpdateChart(t *testing.T) {
	measured(t) // ten minutes; TestMariaDB rolls a RollingUpdate by the guard on every commit
	b := bed(t, "solr")
	ctx := t.Context()
	leaveNothing(t, b)
	chart := solrcloud.NewChart(b, t.TempDir())
	cloud, err := chart.Deploy(ctx, solrcloud.RollingUpdate)
	require.NoError(t, err)
	require.NoError(t, cloud.CreateCollections(ctx))
	r := &rolling{bed: b, cloud: cloud, chart: chart}
	walk(t, nil, []step{
		{"AdoptedByTheGuard", r.adopted},
		{"DrainsWhileNobodyLeads", r.drains},
		{"UpgradedByTheGuard", r.byGuard},
		{"RolledByPartition", r.byPartition},
		{"ScaledDownInMidRollout", r.scaledDown},
	})
	t.Run("StatefulSetDeleted", r.deleted)
	require.NoError(t, cloud.Delete(ctx), "a namespace with a guarded database can be deleted")
}

type rolling struct {
	bed   *testbed.Bed
	cloud *solrcloud.Cloud
	chart *solrcloud.Chart
}

// helm makes a change by helm upgrade --wait, and asks kubectl how the rollout
// goes. Both must end, and well; the answer waits for them.
func (r *rolling) helm(ctx context.Context, change func(*appsv1.StatefulSet)) (done func() error) {
	ended := make(chan error, 1)
	go func() {
		err := r.chart.Upgrade(ctx, change, "--wait", "--timeout", rolloutLimit.String())
		if err != nil {
			err = fmt.Errorf("helm upgrade --wait: %w", err)
		}
		ended <- err
	}()
	return func() error {
		err := <-ended
		out, status := r.bed.Kubectl(ctx, "", "rollout", "status", "statefulset/solr", "-n", solrcloud.Namespace, "--timeout", rolloutLimit.String())
		lines := strings.Split(strings.TrimSpace(out), "\n")
		r.bed.Logf("helm upgrade --wait: %v; kubectl rollout status: %s", err, lines[len(lines)-1])
		return errors.Join(err, status)
	}
}

// rolls makes a change under load and judges what became of it.
func (r *rolling) rolls(t *testing.T, change func(*appsv1.StatefulSet), during func(ctx context.Context, w *witness.Witness) error) rehearsal.Outcome {
	t.Helper()
	var helmDone func() error
	return roll(t, rehearsal.Rehearsal{
		On: r.cloud,
		Change: func(ctx context.Context) error {
			before := r.generation(ctx)
			helmDone = r.helm(ctx, change)
			return r.bed.Eventually(ctx, "the change", time.Minute, func(ctx context.Context) error {
				if r.generation(ctx) == before {
					return errors.New("helm has not written it")
				}
				return nil
			})
		},
		During: during,
		Done: func(ctx context.Context) error {
			if err := r.cloud.RolledOut(ctx, 2*rolloutLimit); err != nil {
				return err
			}
			return helmDone()
		},
	})
}

func (r *rolling) generation(ctx context.Context) int64 {
	set, err := r.cloud.StatefulSet(ctx)
	if err != nil {
		return -1
	}
	return set.Generation
}

// refusals are the controller's attempts that the guard has refused so far.
func (r *rolling) refusals(t *testing.T) int {
	t.Helper()
	events, err := r.bed.Kube.CoreV1().Events(solrcloud.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedDelete,involvedObject.name=solr"})
	require.NoError(t, err)
	n := 0
	for _, e := range events.Items {
		if strings.Contains(e.Message, "Rollcall holds pod") {
			n += int(max(e.Count, 1))
		}
	}
	return n
}

func requireWell(t *testing.T, out rehearsal.Outcome) {
	t.Helper()
	shard, away := out.Witness.WorstShard()
	require.LessOrEqual(t, away, 1, "replicas of %s unavailable at once", shard)
	require.LessOrEqual(t, out.Witness.MaxPodsAway, 1, "pods unavailable at once")
}

// untouched requires that nobody but helm has written the StatefulSet's spec.
func (r *rolling) untouched(t *testing.T, from int64) {
	t.Helper()
	set, err := r.cloud.StatefulSet(t.Context())
	require.NoError(t, err)
	require.Equal(t, from+1, set.Generation, "helm's is the only change")
	for _, m := range set.ManagedFields {
		require.NotContains(t, m.Manager, "rollcall", "Rollcall owns nothing in the StatefulSet")
	}
	require.Empty(t, set.Annotations[v1alpha1.AnnotationPartition])
	require.Equal(t, set.Status.UpdateRevision, set.Status.CurrentRevision, "the controller has promoted the revision")
	t.Logf("the StatefulSet: generation %d -> %d, partition %v, owners of fields: %v", from, set.Generation, set.Spec.UpdateStrategy.RollingUpdate, managers(set))
}

func managers(set *appsv1.StatefulSet) []string {
	var all []string
	for _, m := range set.ManagedFields {
		all = append(all, m.Manager+"/"+m.Subresource)
	}
	return all
}

// adopted: first the label on the StatefulSet, which restarts nothing, then the
// DatabaseCluster, which closes the guards; then the label in the template,
// which Kubernetes would roll at once, and Rollcall does.
func (r *rolling) adopted(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, r.chart.Upgrade(ctx, solrcloud.LabelledSet))
	require.NoError(t, r.bed.Apply(ctx, databaseCluster(t, r.bed)))
	r.closed(t, 6)
	// As most charts have it: RollingUpdate, and no word of a partition.
	require.NoError(t, r.planSays(ctx, "names no partition"))
	require.NoError(t, r.chart.Upgrade(ctx, solrcloud.FromZero))
	from, refused := r.generation(ctx), r.refusals(t)
	out := r.rolls(t, solrcloud.Labelled, func(ctx context.Context, w *witness.Witness) error {
		if err := r.planSays(ctx, "approval"); err != nil {
			return err
		}
		if n := len(w.Report().Restarts); n > 0 {
			return fmt.Errorf("%d pods went before a person had approved", n)
		}
		// For good: a pod that comes without an agent while nobody runs the webhook goes with the next change.
		_, err := r.bed.Rollcall(ctx, "approve", "solr", "-n", solrcloud.Namespace, "--what", "adopt", "--any-revision")
		return err
	})
	requireWell(t, out)
	r.untouched(t, from)
	t.Logf("the StatefulSet controller was refused %d times", r.refusals(t)-refused)
	require.Greater(t, r.refusals(t), refused)
	for _, pod := range r.cloud.Pods.All() {
		require.NotEmpty(t, pod.Spec.InitContainers, "%s has no agent", pod.Name)
	}
}

// closed waits until the API server shows n closed guards, and the budget.
func (r *rolling) closed(t *testing.T, n int) {
	t.Helper()
	require.NoError(t, r.bed.Eventually(t.Context(), "guards to close", 3*time.Minute, func(ctx context.Context) error {
		out, err := r.bed.Kubectl(ctx, "", "get", "pods", "-n", solrcloud.Namespace, "-l", "rollcall.dev/guard=closed", "-o", "name")
		if got := len(strings.Fields(out)); err == nil && got != n {
			return fmt.Errorf("%d of %d are closed", got, n)
		}
		return err
	}))
}

func (r *rolling) planSays(ctx context.Context, word string) error {
	return r.bed.Eventually(ctx, word+" in the plan", 2*time.Minute, func(ctx context.Context) error {
		plan, err := r.bed.Rollcall(ctx, "plan", "solr", "-n", solrcloud.Namespace, "-o", "text")
		if err == nil && !strings.Contains(plan, word) {
			return fmt.Errorf("the plan:\n%s", plan)
		}
		return err
	})
}

// byGuard: an upgrade in Rollcall's order by the guard alone.
func (r *rolling) byGuard(t *testing.T) {
	from, refused := r.generation(t.Context()), r.refusals(t)
	out := r.rolls(t, solrcloud.Tag(newVersion), nil)
	requireWell(t, out)
	require.NoError(t, out.Witness.ElectedLast())
	for pod, n := range out.Witness.RestartCounts() {
		require.Equal(t, 1, n, "restarts of %s", pod)
	}
	r.untouched(t, from)
	t.Logf("the StatefulSet controller was refused %d times", r.refusals(t)-refused)
}

// byPartition: the same, with the line held by Rollcall. helm applies on the
// server's side, so the chart has to say what Rollcall says while nothing rolls.
func (r *rolling) byPartition(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, r.chart.Upgrade(ctx, solrcloud.Line(model.FirstOrdinalNone)))
	_, err := r.bed.Kubectl(ctx, "", "patch", "dbc", "solr", "-n", solrcloud.Namespace, "--type=merge", "-p", `{"spec":{"update":{"rollingUpdate":"Partition"}}}`)
	require.NoError(t, err)
	atRest := func() error {
		return r.bed.Eventually(ctx, "the partition to rest", 2*time.Minute, func(ctx context.Context) error {
			set, err := r.cloud.StatefulSet(ctx)
			if err != nil {
				return err
			}
			if u := set.Spec.UpdateStrategy.RollingUpdate; u == nil || u.Partition == nil || *u.Partition != model.FirstOrdinalNone {
				return fmt.Errorf("rollingUpdate: %v", u)
			}
			return nil
		})
	}
	require.NoError(t, atRest())
	out := r.rolls(t, solrcloud.Annotated("by-partition"), nil)
	requireWell(t, out)
	for pod, n := range out.Witness.RestartCounts() {
		require.Equal(t, 1, n, "restarts of %s", pod)
	}
	require.NoError(t, atRest())
	_, err = r.bed.Kubectl(ctx, "", "rollout", "status", "statefulset/solr", "-n", solrcloud.Namespace, "--timeout=60s")
	require.NoError(t, err)
	require.NoError(t, r.chart.Upgrade(ctx, func(*appsv1.StatefulSet) {}), "helm and Rollcall agree about the partition")
}

// deleted: a guarded StatefulSet goes, its pods with it.
func (r *rolling) deleted(t *testing.T) {
	r.closed(t, len(r.cloud.Pods.All()))
	_, err := r.bed.Kubectl(t.Context(), "", "delete", "statefulset", "solr", "-n", solrcloud.Namespace, "--cascade=foreground", "--timeout=180s")
	require.NoError(t, err)
}

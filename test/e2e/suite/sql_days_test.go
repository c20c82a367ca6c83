package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/sqlchart"
)

// days are the days of pods: what people do to them who do not ask Rollcall, one after the other,
// while clients write. After each of them all servers are what they are to be, and no row is lost.
func (c *installedTest) days(t *testing.T, patience time.Duration) {
	t.Helper()
	began := time.Now()
	c.deleted(t, "kubectl delete pod of the primary", patience, c.primary(t))
	if c.cluster.Servers > 1 {
		c.deleted(t, "kubectl delete pod of a replica", patience, c.replica(t))
	}
	c.evicted(t, patience)
	c.drained(t, patience)
	if c.cluster.Servers > 1 {
		c.scaled(t, patience)
	}
	t.Logf("the days of pods took %s", time.Since(began).Round(time.Second))
}

func (c *installedTest) primary(t *testing.T) string {
	t.Helper()
	pod, err := c.cluster.Primary(t.Context())
	require.NoError(t, err)
	return pod
}

// replica is a pod whose server follows.
func (c *installedTest) replica(t *testing.T) string {
	t.Helper()
	primary := c.primary(t)
	for _, pod := range c.cluster.Pods.All() {
		if pod.Name != primary {
			return pod.Name
		}
	}
	t.Fatal("there is no replica")
	return ""
}

// day is one of them.
func (c *installedTest) day(t *testing.T, way string, patience time.Duration, change, done func(ctx context.Context) error) sqlchart.Outcome {
	t.Helper()
	require.NoError(t, c.closed(t.Context()))
	out := c.during(t, way, patience, change, func(ctx context.Context) error {
		return errors.Join(done(ctx), c.cluster.Follows(ctx, 2*time.Minute))
	})
	t.Logf("%s: %d of %d requests failed after %s, no write for %s at most", way, out.Load.Failed, out.Load.Requests, patience, out.Load.Writes.Longest.Round(10*time.Millisecond))
	return out
}

// closed waits until every pod's guard is closed.
func (c *installedTest) closed(ctx context.Context) error {
	return c.bed.Eventually(ctx, "guards to close", 3*time.Minute, func(context.Context) error {
		for _, pod := range c.cluster.Pods.All() {
			if is := pod.Labels["rollcall.dev/guard"]; is != "closed" {
				return fmt.Errorf("%s: %q", pod.Name, is)
			}
		}
		return nil
	})
}

// open opens a pod's guard, as is documented.
func (c *installedTest) open(ctx context.Context, pod string) error {
	_, err := c.bed.Kubectl(ctx, "", "label", "pod", pod, "-n", sqlchart.Namespace, "rollcall.dev/guard=open", "--overwrite")
	return err
}

// another waits until the pod is another one, and Ready.
func (c *installedTest) another(ctx context.Context, pod, uid string) error {
	if err := c.bed.Eventually(ctx, pod+" to be another", 4*time.Minute, func(context.Context) error {
		if p := c.cluster.Pod(pod); p == nil || string(p.UID) == uid {
			return errors.New("it is still there, or not yet")
		}
		return nil
	}); err != nil {
		return err
	}
	return c.cluster.Updated(ctx, 3*time.Minute)
}

// deleted: the guard refuses it; a person opens the guard, and the stop hook does the rest.
func (c *installedTest) deleted(t *testing.T, way string, patience time.Duration, pod string) {
	t.Helper()
	uid := string(c.cluster.Pod(pod).UID)
	out := c.day(t, way, patience, func(ctx context.Context) error {
		_, err := c.bed.Kubectl(ctx, "", "delete", "pod", pod, "-n", sqlchart.Namespace, "--wait=false")
		if err == nil || !strings.Contains(err.Error(), "rollcall-guard") {
			return fmt.Errorf("it was not refused by the guard: %w", err)
		}
		t.Log(err)
		if err := c.open(ctx, pod); err != nil {
			return err
		}
		_, err = c.bed.Kubectl(ctx, "", "delete", "pod", pod, "-n", sqlchart.Namespace, "--wait=false")
		return err
	}, func(ctx context.Context) error { return c.another(ctx, pod, uid) })
	require.Equal(t, []string{pod}, out.Gone)
}

// evicted: the budget refuses an eviction of the primary; once a person has opened its guard it goes.
func (c *installedTest) evicted(t *testing.T, patience time.Duration) {
	t.Helper()
	pod := c.primary(t)
	uid := string(c.cluster.Pod(pod).UID)
	out := c.day(t, "eviction of the primary", patience, func(ctx context.Context) error {
		evict := func() error {
			return c.bed.Kube.PolicyV1().Evictions(sqlchart.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: sqlchart.Namespace}})
		}
		err := evict()
		if !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("it was not refused by the budget: %w", err)
		}
		t.Log(err)
		if err := c.open(ctx, pod); err != nil {
			return err
		}
		return c.bed.Eventually(ctx, "the eviction", time.Minute, func(context.Context) error { return evict() })
	}, func(ctx context.Context) error { return c.another(ctx, pod, uid) })
	require.Equal(t, []string{pod}, out.Gone)
}

// drained: a node is emptied, by a person who follows the runbook. Its volumes stay there, so its pod
// comes back when the node does.
func (c *installedTest) drained(t *testing.T, patience time.Duration) {
	t.Helper()
	ctx := t.Context()
	pod := c.aloneOnItsNode(t)
	uid, node := string(c.cluster.Pod(pod).UID), c.cluster.Pod(pod).Spec.NodeName
	_, err := c.bed.Kubectl(ctx, "", "patch", "dbc", c.name, "-n", sqlchart.Namespace, "--type=merge", "-p",
		`{"spec":{"update":{"nodeDrains":{"follow":true}},"drain":{"data":{"nodeDrain":"Keep"}}}}`)
	require.NoError(t, err)
	defer func() { _, _ = c.bed.Kubectl(context.WithoutCancel(ctx), "", "uncordon", node) }()
	c.day(t, "kubectl drain of the node of "+pod, patience, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
		defer cancel()
		if out, err := c.bed.Rollcall(ctx, "drain", node); err != nil {
			return fmt.Errorf("%s: %w", out, err)
		}
		out, err := c.bed.Kubectl(ctx, "", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s", "--pod-selector=app="+c.cluster.Name)
		t.Log(out)
		if err != nil {
			return err
		}
		_, err = c.bed.Kubectl(ctx, "", "uncordon", node)
		return err
	}, func(ctx context.Context) error { return c.another(ctx, pod, uid) })
}

// aloneOnItsNode is the primary's pod, or another one if the primary shares its node: of two whose
// volumes stay on one node the second waits until the first is back, which needs the node.
func (c *installedTest) aloneOnItsNode(t *testing.T) string {
	t.Helper()
	on := map[string]int{}
	for _, pod := range c.cluster.Pods.All() {
		on[pod.Spec.NodeName]++
	}
	if primary := c.primary(t); on[c.cluster.Pod(primary).Spec.NodeName] == 1 {
		return primary
	}
	for _, pod := range c.cluster.Pods.All() {
		if on[pod.Spec.NodeName] == 1 {
			return pod.Name
		}
	}
	t.Fatal("no pod is alone on its node")
	return ""
}

// scaled: the StatefulSet with replicas loses its last pod, and gets it back with its data.
func (c *installedTest) scaled(t *testing.T, patience time.Duration) {
	t.Helper()
	set := c.cluster.Sets[len(c.cluster.Sets)-1]
	old, err := c.bed.Kube.AppsV1().StatefulSets(sqlchart.Namespace).GetScale(t.Context(), set, metav1.GetOptions{})
	require.NoError(t, err)
	n := int(old.Spec.Replicas)
	last := fmt.Sprintf("%s-%d", set, n-1)
	scale := func(ctx context.Context, n int) error {
		_, err := c.bed.Kubectl(ctx, "", "scale", "statefulset", set, "-n", sqlchart.Namespace, fmt.Sprintf("--replicas=%d", n))
		return err
	}
	c.day(t, "scaled down and up", patience, func(ctx context.Context) error {
		if err := scale(ctx, n-1); err != nil {
			return err
		}
		return c.bed.Eventually(ctx, last+" to go", 3*time.Minute, func(ctx context.Context) error {
			if c.cluster.Pod(last) != nil {
				plan, err := c.bed.Rollcall(ctx, "explain", last, "-n", sqlchart.Namespace)
				return errors.Join(errors.New(plan), err)
			}
			return nil
		})
	}, func(ctx context.Context) error {
		return errors.Join(scale(ctx, n), c.cluster.Updated(ctx, 3*time.Minute))
	})
}

package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const guarded = "guarded"

// guardedDatabase is a database as the guard sees it: pods that are Ready.
const guardedDatabase = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: guarded, labels: {rollcall.dev/cluster: db}}
spec:
  replicas: 2
  serviceName: db
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: db, image: "docker.io/rollcall-test/pause:1"}]
---
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db, namespace: guarded}
spec: {engine: Solr}
`

const chartsBudget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: charts, namespace: guarded}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: db}}}
`

// TestGuard walks one database through all that closes, opens and ends a guard,
// on a real API server with its real controllers.
func TestGuard(t *testing.T) {
	b := bed(t)
	ctx := t.Context()
	g := &guardTest{b}
	// An earlier run may have left something behind.
	_, err := b.Kubectl(ctx, "", "delete", "namespace", guarded, exempted, "--ignore-not-found", "--timeout=120s")
	require.NoError(t, err)
	require.NoError(t, b.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+guarded+"}\n"))
	require.NoError(t, b.Apply(ctx, guardedDatabase))
	g.healthy(t)
	for _, step := range []step{
		{"ClosesOnSight", g.closes},
		{"Refuses", g.refuses},
		{"OpenedByHand", g.openedByHand},
		{"AuditAndBack", g.audits},
		{"ForeignBudget", g.foreignBudget},
		{"ExpiresAndIsRearmed", g.expires},
		{"StatefulSetDeleted", g.setDeleted},
		{"DatabaseClusterDeleted", g.clusterDeleted},
		{"Removed", g.removed},
		{"NamespaceDeleted", g.namespaceDeleted},
	} {
		if !t.Run(step.name, step.run) {
			describeGuard(t, b)
			t.FailNow()
		}
	}
}

type guardTest struct{ *testbed.Bed }

func describeGuard(t *testing.T, b *testbed.Bed) {
	for _, args := range [][]string{
		{"get", "pods,pdb,sts", "-n", guarded, "--show-labels"}, {"get", "dbc", "-n", guarded, "-o", "yaml"},
		{"logs", "-n", testbed.InstallNamespace, "-l", "app.kubernetes.io/name=rollcall", "--tail=40", "--prefix"},
	} {
		out, err := b.Kubectl(context.WithoutCancel(t.Context()), "", args...)
		t.Log(out, err)
	}
}

// labels returns the labels of the guards, by pod.
func (g *guardTest) labels(ctx context.Context) (string, error) {
	pods, err := g.Kube.CoreV1().Pods(guarded).List(ctx, metav1.ListOptions{LabelSelector: "app=db"})
	if err != nil {
		return "", err
	}
	var all []string
	for _, p := range pods.Items {
		if p.DeletionTimestamp == nil {
			all = append(all, p.Name+"="+p.Labels["rollcall.dev/guard"])
		}
	}
	return strings.Join(all, " "), nil
}

// becomes waits until guards and Rollcall's budget are as wanted.
func (g *guardTest) becomes(t *testing.T, labels string, budget bool) {
	t.Helper()
	require.NoError(t, g.Eventually(t.Context(), "guards "+labels, time.Minute, func(ctx context.Context) error {
		is, err := g.labels(ctx)
		if err != nil {
			return err
		}
		pdb, err := g.Kube.PolicyV1().PodDisruptionBudgets(guarded).Get(ctx, "db-rollcall", metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		there := err == nil && pdb.Spec.MinAvailable != nil && pdb.Spec.MinAvailable.IntValue() == 1_000_000
		if is != labels || there != budget || !budget && err == nil {
			return fmt.Errorf("guards are %q, the budget is there: %v", is, there)
		}
		return nil
	}))
}

// healthy has the database be one that was healthy once: without agents it takes
// a coordinator a minute to find that out.
func (g *guardTest) healthy(t *testing.T) {
	t.Helper()
	is, err := g.labels(t.Context())
	require.NoError(t, err)
	require.NotContains(t, is, "=closed", "nothing is guarded before that")
	patch := `{"status":{"conditions":[{"type":"Initialized","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	_, err = g.Kubectl(t.Context(), "", "patch", "dbc", "db", "-n", guarded, "--subresource=status", "--type=merge", "-p", patch)
	require.NoError(t, err)
}

func (g *guardTest) closes(t *testing.T) { g.becomes(t, "db-0=closed db-1=closed", true) }

// denied is the refusal of the policy, in words that help.
func denied(t *testing.T, err error) {
	t.Helper()
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "Rollcall holds pod guarded/db-0 for DatabaseCluster db")
	require.ErrorContains(t, err, "kubectl rollcall explain db-0 -n guarded")
	require.ErrorContains(t, err, "kubectl -n guarded label pod db-0 rollcall.dev/guard=open --overwrite")
}

func (g *guardTest) evict(ctx context.Context, pod string) error {
	return g.Kube.PolicyV1().Evictions(guarded).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: guarded}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
}

func (g *guardTest) deleteDry(ctx context.Context, pod string) error {
	return g.Kube.CoreV1().Pods(guarded).Delete(ctx, pod, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// closedAgain waits until the API server itself refuses both ways.
func (g *guardTest) closedAgain(t *testing.T) {
	t.Helper()
	require.NoError(t, g.Eventually(t.Context(), "db-0 to be refused", time.Minute, func(ctx context.Context) error {
		if err := g.deleteDry(ctx, "db-0"); !apierrors.IsForbidden(err) {
			return fmt.Errorf("delete: %w", err)
		}
		if err := g.evict(ctx, "db-0"); !apierrors.IsTooManyRequests(err) {
			return fmt.Errorf("evict: %w", err)
		}
		return nil
	}))
}

func (g *guardTest) refuses(t *testing.T) {
	ctx := t.Context()
	pods := g.Kube.CoreV1().Pods(guarded)
	zero := int64(0)
	g.closedAgain(t)
	denied(t, pods.Delete(ctx, "db-0", metav1.DeleteOptions{}))
	denied(t, pods.Delete(ctx, "db-0", metav1.DeleteOptions{GracePeriodSeconds: &zero}))
	denied(t, pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=db-0"}))

	// The controller that scales and rolls is refused, and says so.
	_, err := g.Kubectl(ctx, "", "scale", "statefulset/db", "-n", guarded, "--replicas=1")
	require.NoError(t, err)
	require.NoError(t, g.Eventually(ctx, "the refusal of the controller", 30*time.Second, func(ctx context.Context) error {
		out, err := g.Kubectl(ctx, "", "get", "events", "-n", guarded, "--field-selector=reason=FailedDelete,involvedObject.name=db")
		if err == nil && !strings.Contains(out, "Rollcall holds pod guarded/db-1") {
			return fmt.Errorf("events: %s", out)
		}
		return err
	}))
	_, err = g.Kubectl(ctx, "", "scale", "statefulset/db", "-n", guarded, "--replicas=2")
	require.NoError(t, err)
	g.becomes(t, "db-0=closed db-1=closed", true)
}

// openedByHand: one pod is let go, and what comes after it is closed again.
func (g *guardTest) openedByHand(t *testing.T) {
	ctx := t.Context()
	pods := g.Kube.CoreV1().Pods(guarded)
	before, err := pods.Get(ctx, "db-1", metav1.GetOptions{})
	require.NoError(t, err)
	_, err = g.Kubectl(ctx, "", "label", "pod", "db-1", "-n", guarded, "rollcall.dev/guard=open", "--overwrite")
	require.NoError(t, err)
	require.NoError(t, g.evict(ctx, "db-1"))
	_, err = g.Kubectl(ctx, "", "delete", "pod", "db-1", "-n", guarded, "--timeout=60s")
	require.NoError(t, err)
	g.becomes(t, "db-0=closed db-1=closed", true)
	after, err := pods.Get(ctx, "db-1", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEqual(t, before.UID, after.UID)
}

func (g *guardTest) setGuard(t *testing.T, value string) {
	t.Helper()
	_, err := g.Kubectl(t.Context(), "", "patch", "dbc", "db", "-n", guarded, "--type=merge", "-p", `{"spec":{"guard":"`+value+`"}}`)
	require.NoError(t, err)
}

func (g *guardTest) audits(t *testing.T) {
	g.setGuard(t, "Audit")
	g.becomes(t, "db-0=audit db-1=audit", false)
	require.NoError(t, g.deleteDry(t.Context(), "db-0"))
	require.NoError(t, g.evict(t.Context(), "db-0"))
	g.setGuard(t, "Off")
	g.becomes(t, "db-0= db-1=", false)
	g.setGuard(t, "Enforce")
	g.becomes(t, "db-0=closed db-1=closed", true)
}

func (g *guardTest) foreignBudget(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, g.Apply(ctx, chartsBudget))
	g.becomes(t, "db-0=closed db-1=closed", false)
	require.NoError(t, g.Eventually(ctx, "the condition", 30*time.Second, func(ctx context.Context) error {
		out, err := g.Kubectl(ctx, "", "get", "dbc", "db", "-n", guarded, "-o", `jsonpath={.status.conditions[?(@.type=="ForeignBudget")]}`)
		if err == nil && (!strings.Contains(out, `"True"`) || !strings.Contains(out, "PodDisruptionBudget charts selects db-0")) {
			return fmt.Errorf("condition: %s", out)
		}
		return err
	}))
	_, err := g.Kubectl(ctx, "", "delete", "pdb", "charts", "-n", guarded)
	require.NoError(t, err)
	g.becomes(t, "db-0=closed db-1=closed", true)
}

// job runs the CronJob's pod once, with other arguments, as who it is.
func (g *guardTest) job(t *testing.T, args ...string) string {
	t.Helper()
	ctx := t.Context()
	cron, err := g.Kube.BatchV1().CronJobs(testbed.InstallNamespace).Get(ctx, "rollcall-guard-expire", metav1.GetOptions{})
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "guard-test", Namespace: testbed.InstallNamespace}, Spec: cron.Spec.JobTemplate.Spec.Template.Spec}
	if len(args) > 0 {
		pod.Spec.Containers[0].Args = args
	}
	pods := g.Kube.CoreV1().Pods(testbed.InstallNamespace)
	_, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)
	defer func() {
		_, err := g.Kubectl(context.WithoutCancel(ctx), "", "delete", "pod", "guard-test", "-n", testbed.InstallNamespace, "--timeout=60s")
		require.NoError(t, err)
	}()
	var phase corev1.PodPhase
	require.NoError(t, g.Eventually(ctx, "the job", time.Minute, func(ctx context.Context) error {
		p, err := pods.Get(ctx, "guard-test", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase = p.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return fmt.Errorf("it is %s", phase)
		}
		return nil
	}))
	out, err := g.Kubectl(ctx, "", "logs", "guard-test", "-n", testbed.InstallNamespace)
	require.NoError(t, err)
	require.Equal(t, corev1.PodSucceeded, phase, out)
	return out
}

func (g *guardTest) coordinators(t *testing.T, n int) {
	t.Helper()
	require.NoError(t, coordinators(t.Context(), g.Bed, n))
}

// expires: without coordinators the guard stands, until it is too old.
func (g *guardTest) expires(t *testing.T) {
	ctx := t.Context()
	g.coordinators(t, 0)
	defer g.coordinators(t, 2)
	require.Contains(t, g.job(t), "nothing was changed")
	g.closedAgain(t)
	require.Contains(t, g.job(t, "guard-expire", "--after=0s"), "deletes are refused no longer; 1 PodDisruptionBudgets")
	require.NoError(t, g.Eventually(ctx, "db-0 to be let go", 30*time.Second, func(ctx context.Context) error { return g.deleteDry(ctx, "db-0") }))
	require.NoError(t, g.Eventually(ctx, "db-0 to be let go", 30*time.Second, func(ctx context.Context) error { return g.evict(ctx, "db-0") }))
	is, err := g.labels(ctx)
	require.NoError(t, err)
	require.Equal(t, "db-0=closed db-1=closed", is, "labels stay")
	out, err := g.Kubectl(ctx, "", "get", "events.events.k8s.io", "-n", guarded, "--field-selector=reason=GuardExpired")
	require.NoError(t, err)
	require.Contains(t, out, "databasecluster/db")

	g.coordinators(t, 2)
	g.becomes(t, "db-0=closed db-1=closed", true)
	g.closedAgain(t)
}

func (g *guardTest) setDeleted(t *testing.T) {
	ctx := t.Context()
	_, err := g.Kubectl(ctx, "", "delete", "statefulset", "db", "-n", guarded, "--cascade=foreground", "--timeout=60s")
	require.NoError(t, err)
	require.NoError(t, g.Apply(ctx, guardedDatabase))
	g.becomes(t, "db-0=closed db-1=closed", true)
}

func (g *guardTest) clusterDeleted(t *testing.T) {
	ctx := t.Context()
	_, err := g.Kubectl(ctx, "", "delete", "dbc", "db", "-n", guarded, "--timeout=60s")
	require.NoError(t, err)
	g.becomes(t, "db-0= db-1=", false)
	require.NoError(t, g.Apply(ctx, guardedDatabase))
	g.healthy(t)
	g.becomes(t, "db-0=closed db-1=closed", true)
}

// removed is what helm uninstall runs, while coordinators are still there.
func (g *guardTest) removed(t *testing.T) {
	ctx := t.Context()
	defer func() { require.NoError(t, g.Install(context.WithoutCancel(ctx))) }()
	_, err := g.Rollcall(ctx, "guard-remove") // the account of the hook exists only while helm uninstall runs: TestChart
	require.NoError(t, err)
	g.becomes(t, "db-0= db-1=", false)
	require.NoError(t, g.deleteDry(ctx, "db-0"))
	require.NoError(t, g.Install(ctx))
	g.becomes(t, "db-0=closed db-1=closed", true)
}

func (g *guardTest) namespaceDeleted(t *testing.T) {
	_, err := g.Kubectl(t.Context(), "", "delete", "namespace", guarded, "--timeout=120s")
	require.NoError(t, err)
}

package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/guard"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
)

// guarded is a database that is to be guarded.
const guarded = `
apiVersion: v1
kind: Namespace
metadata: {name: prod}
---
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: db, namespace: prod}
spec: {engine: Solr, guard: Enforce}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: prod, labels: {rollcall.dev/cluster: db}}
spec:
  serviceName: db
  replicas: 1
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
`

// TestAccountsDoTheirWork checks that what the coordinator, the guard's expiry and the hook do is
// let through by the roles and the policy of the chart, each with its own token.
func TestAccountsDoTheirWork(t *testing.T) {
	w := newWork(t)
	clusters := w.clusters
	stop := w.coordinator()
	eventually(t, "a coordinator's work", w.done)
	stop()

	// A finalizer that is left behind.
	_, err := clusters.DatabaseClusters("prod").Patch(t.Context(), "db", types.MergePatchType, []byte(finalizer), metav1.PatchOptions{})
	require.NoError(t, err)
	core, ofExpiry := w.as("rollcall-guard")
	expired, err := guard.Expire(t.Context(), guard.ExpireOptions{Client: core, Clusters: ofExpiry, Namespace: install, Lease: lead.LeaseName, Reporter: "test"})
	require.NoError(t, err)
	require.True(t, expired.Binding)
	require.Equal(t, []string{"prod/db-rollcall"}, expired.Budgets)
	require.Equal(t, 1, expired.Freed)
	require.Error(t, w.done(t.Context()), "the guard has expired")

	stop = w.coordinator()
	eventually(t, "the guard to be closed again", w.done)
	stop()

	core, ofHook := w.as("rollcall-guard-remove")
	removed, err := guard.Uninstall(t.Context(), core, ofHook, install)
	require.NoError(t, err)
	require.Equal(t, guard.Uninstalled{Stopped: 2, Budgets: 1, Pods: 1}, removed)
}

// newWork has a database that a coordinator has yet to see.
func newWork(t *testing.T) *work {
	t.Helper()
	s, admin := installed(t)
	s.Apply(guarded)
	set, pod := withPod(t, admin, "prod")
	set.Status.ObservedGeneration, set.Status.Replicas, set.Status.CurrentRevision, set.Status.UpdateRevision = set.Generation, 1, "db-1", "db-1"
	_, err := admin.AppsV1().StatefulSets("prod").UpdateStatus(t.Context(), set, metav1.UpdateOptions{})
	require.NoError(t, err)
	clusters, err := v1alpha1.NewForConfig(s.Admin)
	require.NoError(t, err)
	cluster, err := clusters.DatabaseClusters("prod").Get(t.Context(), "db", metav1.GetOptions{})
	require.NoError(t, err)
	cluster.Status.Conditions = []v1alpha1.Condition{{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue, Reason: "Healthy", LastTransitionTime: metav1.Now()}}
	_, err = clusters.DatabaseClusters("prod").UpdateStatus(t.Context(), cluster, metav1.UpdateOptions{})
	require.NoError(t, err)

	w := &work{t: t, server: s, admin: admin, clusters: clusters, pod: pod.Name}
	w.build()
	return w
}

type work struct {
	t        *testing.T
	server   *Server
	admin    *kubernetes.Clientset
	clusters v1alpha1.Clients
	program  string
	pod      string
	grpc     string // where the coordinator answers; by default nobody knows
}

func (w *work) build() {
	w.t.Helper()
	w.program = filepath.Join(w.t.TempDir(), "rollcall-coordinator")
	out, err := exec.CommandContext(w.t.Context(), "go", "build", "-o", w.program, "../../cmd/rollcall-coordinator").CombinedOutput()
	require.NoError(w.t, err, "%s", out)
}

func (w *work) as(account string) (kubernetes.Interface, v1alpha1.Clients) {
	w.t.Helper()
	config := w.server.As(w.t.Context(), install, account)
	core, err := kubernetes.NewForConfig(config)
	require.NoError(w.t, err)
	clusters, err := v1alpha1.NewForConfig(config)
	require.NoError(w.t, err)
	return core, clusters
}

// log is what a program writes, while it runs.
type log struct {
	sync.Mutex
	bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Buffer.Write(p)
}

// coordinator runs the program itself until stop, by which it must not have been refused anything.
func (w *work) coordinator() (stop func()) {
	w.t.Helper()
	config := w.server.As(w.t.Context(), install, "rollcall-coordinator")
	cmd := exec.Command(w.program, "--kubeconfig="+w.server.Kubeconfig("coordinator", rest.CopyConfig(config)), "--namespace="+install, "--identity=coordinator-0",
		"--agent-image=agent", "--grpc-addr="+cmp.Or(w.grpc, "127.0.0.1:0"), "--http-addr=127.0.0.1:0", "--page-addr=127.0.0.1:0", "--webhook-addr=127.0.0.1:0")
	var said log
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(w.t, cmd.Start())
	ended := sync.OnceValue(cmd.Wait)
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = ended()
		if w.t.Failed() {
			w.t.Logf("the coordinator said: %s", said.String())
		}
	})
	return func() {
		w.t.Helper()
		require.NoError(w.t, cmd.Process.Signal(syscall.SIGTERM))
		_ = ended()
		for line := range strings.Lines(said.String()) {
			require.NotContains(w.t, strings.ToLower(line), "forbidden")
		}
	}
}

// done: the coordinator has written all that a guarded database needs.
func (w *work) done(ctx context.Context) error {
	for namespace, names := range map[string][]string{install: {"rollcall-ca", "rollcall-webhook-ca", "rollcall-reader", "rollcall-trust"}, "prod": {"db-rollcall"}} {
		for _, name := range names {
			if _, err := w.admin.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
	}
	if _, err := w.admin.CoreV1().Services("prod").Get(ctx, "db-rollcall", metav1.GetOptions{}); err != nil {
		return err
	}
	hook, err := w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "rollcall-coordinator", metav1.GetOptions{})
	if err != nil {
		return err
	}
	budget, err := w.admin.PolicyV1().PodDisruptionBudgets("prod").Get(ctx, "db-rollcall", metav1.GetOptions{})
	if err != nil {
		return err
	}
	binding, err := w.admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Get(ctx, "rollcall-guard", metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod, err := w.admin.CoreV1().Pods("prod").Get(ctx, w.pod, metav1.GetOptions{})
	if err != nil {
		return err
	}
	cluster, err := w.clusters.DatabaseClusters("prod").Get(ctx, "db", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for what, is := range map[string]bool{
		"the webhook has its authority":   len(hook.Webhooks[0].ClientConfig.CABundle) > 0,
		"the budget is shut":              budget.Spec.MinAvailable != nil && budget.Annotations[v1alpha1.AnnotationGuardExpired] == "",
		"the binding denies":              binding.Spec.ValidationActions[0] == admissionv1.Deny,
		"the pod's guard is closed":       pod.Labels[v1alpha1.LabelGuard] == v1alpha1.GuardClosed,
		"the status is written":           cluster.Status.ObservedGeneration > 0,
		"no finalizer holds the database": len(cluster.Finalizers) == 0,
	} {
		if !is {
			return fmt.Errorf("not true: %s", what)
		}
	}
	return nil
}

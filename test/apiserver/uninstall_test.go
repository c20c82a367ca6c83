package apiserver

import (
	"context"
	"fmt"
	"testing"

	"github.com/rollcall-dev/rollcall/test/tool"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestAccountOfTheUninstallExistsOnlyThen installs the chart with Helm and removes it:
// before the hook and after it there is neither the account nor any right of it.
func TestAccountOfTheUninstallExistsOnlyThen(t *testing.T) {
	s := Start(t)
	admin, err := kubernetes.NewForConfig(s.Admin)
	require.NoError(t, err)
	require.NoError(t, s.helm(t.Context(), "install", "rollcall", "deploy/chart", "--namespace", install, "--create-namespace"))
	require.Empty(t, ofHook(t, admin))

	ended := make(chan error, 1)
	go func() {
		ended <- s.helm(t.Context(), "uninstall", "rollcall", "--namespace", install, "--timeout", "2m")
	}()
	jobs := admin.BatchV1().Jobs(install)
	eventually(t, "the hook's Job", func(ctx context.Context) error {
		_, err := jobs.Get(ctx, "rollcall-guard-remove", metav1.GetOptions{})
		return err
	})
	require.Len(t, ofHook(t, admin), 5, "the account is there before its Job")

	// Nothing runs here; the Job has done its work.
	job, err := jobs.Get(t.Context(), "rollcall-guard-remove", metav1.GetOptions{})
	require.NoError(t, err)
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: &job.CreationTimestamp, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}}
	_, err = jobs.UpdateStatus(t.Context(), job, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.Empty(t, ofHook(t, admin))
}

// helm runs it against the server.
func (s *Server) helm(ctx context.Context, args ...string) error {
	cmd := tool.Command(ctx, "../..", "helm", args...)
	cmd.Env = append(cmd.Env, "KUBECONFIG="+s.path("admin.kubeconfig"), "HELM_CACHE_HOME="+s.path("helm"), "HELM_CONFIG_HOME="+s.path("helm"),
		"HELM_DATA_HOME="+s.path("helm"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("helm %v: %w: %s", args, err, out)
	}
	return nil
}

// ofHook are the account and the rights of the hook that are there.
func ofHook(t *testing.T, admin *kubernetes.Clientset) (there []string) {
	t.Helper()
	const name = "rollcall-guard-remove"
	ctx, get := t.Context(), metav1.GetOptions{}
	_, account := admin.CoreV1().ServiceAccounts(install).Get(ctx, name, get)
	_, clusterRole := admin.RbacV1().ClusterRoles().Get(ctx, name, get)
	_, clusterBinding := admin.RbacV1().ClusterRoleBindings().Get(ctx, name, get)
	_, role := admin.RbacV1().Roles(install).Get(ctx, name, get)
	_, binding := admin.RbacV1().RoleBindings(install).Get(ctx, name, get)
	for what, err := range map[string]error{"account": account, "cluster role": clusterRole, "cluster binding": clusterBinding, "role": role, "binding": binding} {
		if err == nil {
			there = append(there, what)
		} else if !apierrors.IsNotFound(err) {
			require.NoError(t, err)
		}
	}
	return there
}

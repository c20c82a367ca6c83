package siege

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
	"github.com/rollcall-dev/rollcall/deploy/manifests"
)

// coordinators counts those that were started.
type coordinators struct{ started int }

// coordinator is a process with listeners on loopback.
type coordinator struct {
	*process
	world    *world
	identity string

	grpc, http, page, webhook string // addresses
	authority                 []byte // of the webhook, as the API server knows it
}

// newCoordinator starts one as the chart does, and waits until it leads.
func (w *world) newCoordinator(t *testing.T) *coordinator {
	t.Helper()
	w.started++
	c := &coordinator{
		world: w, identity: fmt.Sprintf("siege-%d", w.started),
		grpc: freeAddress(t), http: freeAddress(t), page: freeAddress(t), webhook: freeAddress(t),
	}
	err := w.admin.CoordinationV1().Leases(manifests.Namespace).Delete(t.Context(), lead.LeaseName, metav1.DeleteOptions{})
	require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	env := []string{fmt.Sprintf("GOMEMLIMIT=%d", w.limit)} // as resourceFieldRef gives it
	c.process = startLimited(w.t, w.limit, env, append([]string{w.program}, c.args(t)...)...)
	require.Eventually(t, func() bool { return !c.alive() || c.ready(t.Context()) }, 2*time.Minute, 200*time.Millisecond, "the coordinator does not lead: %s", c.log)
	if !c.alive() {
		t.Fatalf("FIGURES of %q: the coordinator ended before it led: %v (killed for memory: %d), at %s of %s",
			t.Name(), c.how, c.group.kills(), mebibytes(c.group.peak()), mebibytes(c.limit))
	}
	return c
}

// args are those of the Deployment, but for addresses, and the way to the API server.
func (c *coordinator) args(t *testing.T) []string {
	t.Helper()
	container := c.world.deployment.Spec.Template.Spec.Containers[0]
	limited := false
	for _, env := range container.Env {
		limited = limited || env.Name == "GOMEMLIMIT" && env.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
	}
	require.True(t, limited, "the chart no longer sets GOMEMLIMIT to the limit")
	addresses := map[string]string{"--grpc-addr": c.grpc, "--http-addr": c.http, "--page-addr": c.page, "--webhook-addr": c.webhook}
	expand := strings.NewReplacer("$(POD_NAMESPACE)", manifests.Namespace, "$(POD_NAME)", c.identity)
	var args []string
	for _, arg := range container.Args {
		name, _, _ := strings.Cut(arg, "=")
		if address, ok := addresses[name]; ok {
			arg = name + "=" + address
			delete(addresses, name)
		}
		args = append(args, expand.Replace(arg))
	}
	require.Empty(t, addresses, "listeners that the chart does not open")
	own := c.world.server.As(t.Context(), manifests.Namespace, "rollcall-coordinator")
	return append(args, "--kubeconfig="+c.world.server.Kubeconfig(c.identity, own))
}

func (w *world) token(t *testing.T, namespace, account string) string {
	t.Helper()
	answer, err := w.admin.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	return answer.Status.Token
}

// ready reports whether it leads, and the API server knows by which authority to know its webhook.
func (c *coordinator) ready(ctx context.Context) bool {
	lease, err := c.world.admin.CoordinationV1().Leases(manifests.Namespace).Get(ctx, lead.LeaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != c.identity {
		return false
	}
	conf, err := c.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, inject.ConfigurationName, metav1.GetOptions{})
	if err != nil {
		return false
	}
	c.authority = conf.Webhooks[0].ClientConfig.CABundle
	return len(c.authority) > 0
}

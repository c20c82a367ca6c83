package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollcall-dev/rollcall/test/cluster/controlplane"
	"github.com/rollcall-dev/rollcall/test/cluster/plan"
)

const readyWithin = 3 * time.Minute

// Client talks to the API server that the kubeconfig names; an empty name means the user's default one.
func Client(kubeconfig string) (*kubernetes.Clientset, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if kubeconfig != "" {
		rules = &clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 100, 200
	config.Timeout = 30 * time.Second
	return kubernetes.NewForConfig(config)
}

// poll asks until the answer is nil. What was last wrong is in the error.
func poll(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if _, dead := errors.AsType[deadError](err); dead {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s not ready after %s: %w", what, readyWithin, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// deadError ends the waiting: what is waited for cannot come any more.
type deadError struct{ program, log string }

func (e deadError) Error() string {
	b, err := os.ReadFile(e.log)
	if err != nil {
		return e.program + " has ended"
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Sprintf("%s has ended; the end of %s:\n%s", e.program, e.log,
		strings.Join(lines[max(0, len(lines)-5):], "\n"))
}

func (c *Cluster) waitForAPI(ctx context.Context) error {
	client, err := Client(c.Plan.Kubeconfig())
	if err != nil {
		return err
	}
	return poll(ctx, "API server", func(ctx context.Context) error {
		for _, name := range []string{"etcd", "kube-apiserver"} {
			if _, alive := c.runner.Table.Alive(name); !alive {
				return deadError{name, c.Plan.Path("log", name+".log")}
			}
		}
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

func waitForNodes(ctx context.Context, client kubernetes.Interface, p plan.Plan) error {
	return poll(ctx, "nodes", func(ctx context.Context) error {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		var waiting []string
		for _, n := range p.Nodes {
			if why := notReady(n.Name, list.Items); why != "" {
				waiting = append(waiting, why)
			}
		}
		if len(waiting) > 0 {
			return errors.New(strings.Join(waiting, "; "))
		}
		return nil
	})
}

// waitForSignOfLife waits until the node's kubelet has renewed its lease. Before, a node that was started again may still
// be called ready because nobody has noticed its end.
func waitForSignOfLife(ctx context.Context, client kubernetes.Interface, name string, after time.Time) error {
	return poll(ctx, name, func(ctx context.Context) error {
		l, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if l.Spec.RenewTime == nil || !l.Spec.RenewTime.After(after) {
			return fmt.Errorf("%s has not renewed its lease", name)
		}
		return nil
	})
}

// notReady says why the node cannot take pods, or nothing when it can.
func notReady(name string, nodes []corev1.Node) string {
	for _, n := range nodes {
		if n.Name != name {
			continue
		}
		for _, t := range n.Spec.Taints {
			if t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable {
				return name + " is tainted " + t.Key
			}
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return ""
			}
			if c.Type == corev1.NodeReady {
				return name + ": " + c.Message
			}
		}
	}
	return name + " is not known yet"
}

// allowDNS lets the cluster DNS read services, endpoints and namespaces.
func allowDNS(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: controlplane.DNSUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: controlplane.DNSUser}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("allow cluster DNS: %w", err)
	}
	return nil
}

// waitForDNS asks the cluster DNS for the API server's own name.
func waitForDNS(ctx context.Context, p plan.Plan) error {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(p.BridgeIP().String(), "53"))
	}}
	return poll(ctx, "cluster DNS", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
		return err
	})
}

package suite

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/test/canary"
	"github.com/rollcall-dev/rollcall/test/e2e/sqlcluster"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// public are keys of Secrets that hold none.
var public = []string{config.KeyCert, config.KeyCA, config.KeyConfig, "next.crt", "next.signs", "former.until", "username", "replication-username"}

// canary: after all that was done to a database, no secret of it or of the
// installation is in anything that comes out of Rollcall, nor in any other object.
func (s *sqlTest) canary(t *testing.T) {
	s.deploy(t)
	ctx := t.Context()
	secrets := canary.Secrets{}
	namespaces := []string{sqlcluster.Namespace, testbed.InstallNamespace}
	for _, namespace := range namespaces {
		list, err := s.bed.Kube.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			for key, value := range list.Items[i].Data {
				if !slices.Contains(public, key) {
					secrets[list.Items[i].Name+"/"+key] = string(value)
				}
			}
		}
	}
	require.Greater(t, len(secrets), 6, "a gossip key, private keys and passwords")

	outputs := s.outputs(t, namespaces)
	require.Greater(t, len(outputs), 15)
	for name, text := range outputs {
		require.NotEmpty(t, text, name)
		require.Empty(t, secrets.Find(text), "secrets in %s", name)
	}
	t.Logf("%d secrets, %d outputs", len(secrets), len(outputs))
}

// outputs returns the outputs of everything, by name.
func (s *sqlTest) outputs(t *testing.T, namespaces []string) map[string]string {
	t.Helper()
	ctx := t.Context()
	all := map[string]string{}
	for _, namespace := range namespaces {
		objects, err := s.bed.Kubectl(ctx, "", "get", "-o", "json", "-n", namespace,
			"pods,statefulsets,deployments,services,endpoints,configmaps,controllerrevisions,leases,poddisruptionbudgets,databaseclusters,events,events.events.k8s.io")
		require.NoError(t, err)
		all["objects of "+namespace] = objects
	}
	objects, err := s.bed.Kubectl(ctx, "", "get", "-o", "json", "crds,validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingwebhookconfigurations,nodes")
	require.NoError(t, err)
	all["objects of the cluster"] = objects

	coordinators, err := s.bed.Kube.CoreV1().Pods(testbed.InstallNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=rollcall"})
	require.NoError(t, err)
	require.NotEmpty(t, coordinators.Items)
	for i := range coordinators.Items {
		s.ofPod(t, all, &coordinators.Items[i], "coordinator", 7951)
	}
	for _, pod := range s.cluster.Pods.All() {
		s.ofPod(t, all, pod, "rollcall-agent", config.PortHTTP)
		for _, format := range []string{"text", "json"} {
			out, err := s.bed.Rollcall(ctx, "explain", pod.Name, "-n", sqlcluster.Namespace, "-o", format)
			require.NoError(t, err)
			all["explain "+pod.Name+" "+format] = out
		}
	}
	for _, command := range []string{"status", "plan", "snapshot", "journal"} {
		out, err := s.bed.Rollcall(ctx, command, s.flavor.Name, "-n", sqlcluster.Namespace, "-o", "json")
		require.NoError(t, err)
		all[command] = out
	}
	return all
}

// ofPod is what a container of ours logs, and serves without asking who comes.
func (s *sqlTest) ofPod(t *testing.T, all map[string]string, pod *corev1.Pod, container string, port int) {
	t.Helper()
	log, err := s.bed.Kubectl(t.Context(), "", "logs", pod.Name, "-n", pod.Namespace, "-c", container)
	require.NoError(t, err)
	all["log of "+pod.Name] = log
	for _, path := range []string{"metrics", "healthz", "readyz"} {
		text, err := read(t.Context(), "http://"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(port))+"/"+path)
		require.NoError(t, err)
		all[path+" of "+pod.Name] = text
	}
}

func read(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return strings.TrimSpace(resp.Status + "\n" + string(text)), err
}

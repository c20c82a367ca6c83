package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
)

const policiesPath = "/apis/networking.k8s.io/v1/namespaces/prod/networkpolicies"

const offeredPolicy = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: search-rollcall
  namespace: prod
spec:
  ingress:
  - from:
    - podSelector:
        matchLabels:
          rollcall.dev/cluster: search
    ports:
    - port: 7946
      protocol: TCP
    - port: 7946
      protocol: UDP
    - port: 7947
      protocol: TCP
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: rollcall-system
      podSelector:
        matchLabels:
          app.kubernetes.io/component: coordinator
          app.kubernetes.io/name: rollcall
    ports:
    - port: 7947
      protocol: TCP
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: monitoring
    ports:
    - port: 7948
      protocol: TCP
  - ports:
    - endPort: 7945
      port: 1
      protocol: TCP
    - endPort: 65535
      port: 7949
      protocol: TCP
    - endPort: 7945
      port: 1
      protocol: UDP
    - endPort: 65535
      port: 7947
      protocol: UDP
    - port: 8983
      protocol: TCP
  podSelector:
    matchLabels:
      rollcall.dev/cluster: search
  policyTypes:
  - Ingress
`

// A NetworkPolicy is printed where it is asked for, beside what is written or would be, and never
// written. What it must not say cannot be asked for.
func TestEnrollOffersANetworkPolicy(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search", func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8983}}
	}))
	require.NotContains(t, e.must("enroll", "search", "--dry-run", "-o", "yaml"), "NetworkPolicy")
	args := []string{"enroll", "search", "--network-policy", "--metrics-from", "monitoring"}

	stdout := e.must(append(args, "--dry-run", "-o", "yaml")...)
	manifest, policy, _ := strings.Cut(stdout, "---\n")
	require.Contains(t, manifest, "kind: DatabaseCluster\n")
	require.Equal(t, offeredPolicy, policy)
	var list struct {
		Kind  string
		Items []metav1.TypeMeta
	}
	require.NoError(t, json.Unmarshal([]byte(e.must(append(args, "--dry-run", "-o", "json")...)), &list))
	require.Equal(t, "List", list.Kind)
	require.Len(t, list.Items, 2)

	stdout = e.must(append(args, "--dry-run")...)
	require.True(t, strings.HasSuffix(stdout, "kubectl apply -f - <<'EOF'\n"+offeredPolicy+"EOF\n"), stdout)
	check := exec.CommandContext(t.Context(), "bash", "-n")
	check.Stdin = strings.NewReader(stdout)
	said, err := check.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Empty(t, e.writes)

	stdout = e.must(args...)
	require.Contains(t, stdout, "Left to do, in this order:\n")
	require.True(t, strings.HasSuffix(stdout, "To keep strangers off the agents' ports, apply this, which counts for each pod that has the label:\n\nkubectl apply -f - <<'EOF'\n"+offeredPolicy+"EOF\n"), stdout)
	for _, write := range e.writes {
		require.NotContains(t, write, "networkpolicies")
	}

	for want, args := range map[string][]string{
		"it is only good with --network-policy":                 {"enroll", "search", "--metrics-from", "monitoring"},
		`--metrics-from "Ops": must be the name of a namespace`: {"enroll", "search", "--network-policy", "--metrics-from", "Ops"},
	} {
		code, _, stderr := e.run(args...)
		require.Equal(t, cli.ExitFailed, code)
		require.Contains(t, stderr, want)
	}

	// Another policy of these pods says who reaches the database.
	e.set(policiesPath, networkingv1.NetworkPolicyList{Items: []networkingv1.NetworkPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "deny", Namespace: "prod"}}}})
	_, stdout, _ = e.run(append(args, "--dry-run", "-o", "yaml")...)
	require.NotContains(t, stdout, "endPort")
	require.NotContains(t, stdout, "8983")
	require.Contains(t, stdout, "port: 7946")
}

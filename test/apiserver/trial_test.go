package apiserver

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/kube"
)

// restricted is a namespace in which pods must be of the level restricted, and a database that is.
const restricted = `
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: prod}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: search, namespace: prod}
spec:
  serviceName: search
  replicas: 3
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: search}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
  template:
    metadata: {labels: {app: search}}
    spec:
      terminationGracePeriodSeconds: 300
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: search}}}]
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: solr
          image: solr:9.10.1
          ports: [{containerPort: 8983}]
          resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 1Gi}}
          readinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983}}
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: loose, namespace: prod}
spec:
  serviceName: loose
  selector: {matchLabels: {app: loose}}
  updateStrategy: {type: OnDelete}
  template:
    metadata: {labels: {app: loose}}
    spec: {containers: [{name: solr, image: "solr:9.10.1"}]}
`

const (
	small = `
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: prod}
spec: {limits: [{type: Container, min: {memory: 256Mi}}]}
`
	noSidecars = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-sidecars}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "!has(object.spec.initContainers)", message: "the team wants no init containers"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-sidecars}
spec: {policyName: no-sidecars, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}}
`
	quota = `
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: prod}
spec: {hard: {limits.memory: 3Gi}}
`
)

// TestEnrollTriesPodsForReal checks what enroll says of pods that a real API server refuses once they
// have an agent, and what it needs for that: the role edit, and no more.
func TestEnrollTriesPodsForReal(t *testing.T) {
	s, admin := installed(t)
	s.Apply(restricted + "---\n" + bindings)
	program := filepath.Join(t.TempDir(), "rollcall")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/rollcall").CombinedOutput()
	require.NoError(t, err, "%s", out)
	enroll := func(account, set string) string {
		t.Helper()
		kubeconfig := s.Kubeconfig(account, s.As(t.Context(), "prod", account))
		out, _ := exec.CommandContext(t.Context(), program, "enroll", set, "-n", "prod", "--dry-run", "--kubeconfig", kubeconfig).CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " ")
	}
	eventually(t, "the rights of edit", func(ctx context.Context) error {
		_, err := admin.RbacV1().ClusterRoles().Get(ctx, "edit", metav1.GetOptions{})
		return err
	})

	said := enroll("viewer", "search")
	require.Contains(t, said, "whether Kubernetes admits pods with an agent was not tried: you may not create pods here")
	require.Contains(t, said, "kind: DatabaseCluster", "it goes on")

	// The coordinator's webhook cannot be reached, and failurePolicy lets the pod through.
	said = enroll("editor", "search")
	require.Contains(t, said, "warning: admission: in a dry run the webhook added no agent to a pod with the label")
	require.Contains(t, said, "kind: DatabaseCluster")

	answers(t, s)
	said = enroll("editor", "search")
	require.NotContains(t, said, "admission", "an agent is of the level restricted")
	require.Contains(t, said, "kind: DatabaseCluster")
	pods, err := admin.CoreV1().Pods("prod").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Empty(t, pods.Items, "nothing is made")

	said = enroll("editor", "loose")
	require.Contains(t, said, `Kubernetes refuses its pods, also without an agent: one that restarts now does not come back (tried by a dry run): pods "loose-1" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "solr" must set`)
	require.NotContains(t, said, "rollcall-agent\" must", "nothing of it is the agent's")

	s.Apply(small)
	eventually(t, "the LimitRange to count", func(context.Context) error {
		return missing(enroll("editor", "search"), "Kubernetes refuses its pods once they have an agent (tried by a dry run): pods \"search-3\" is forbidden: minimum memory usage per Container is 256Mi, but request is 32Mi", "have the LimitRange allow containers of the agent's size")
	})
	require.NoError(t, admin.CoreV1().LimitRanges("prod").Delete(t.Context(), "small", metav1.DeleteOptions{}))

	s.Apply(noSidecars)
	eventually(t, "the policy to count", func(context.Context) error {
		return missing(enroll("editor", "search"), "ValidatingAdmissionPolicy 'no-sidecars' with binding 'no-sidecars' denied request: the team wants no init containers", "have that policy let through the container rollcall-agent")
	})
	require.NoError(t, admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Delete(t.Context(), "no-sidecars", metav1.DeleteOptions{}))

	// Its controller does not run here.
	s.Apply(quota)
	q, err := admin.CoreV1().ResourceQuotas("prod").Get(t.Context(), "team", metav1.GetOptions{})
	require.NoError(t, err)
	q.Status = corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: corev1.ResourceList{"limits.memory": resource.MustParse("3Gi")}}
	_, err = admin.CoreV1().ResourceQuotas("prod").UpdateStatus(t.Context(), q, metav1.UpdateOptions{})
	require.NoError(t, err)
	eventually(t, "the quota to count", func(context.Context) error {
		return missing(enroll("editor", "search"), "error admission ResourceQuota prod/team it has no room for an agent in each pod", "of limits.memory 3Gi of 3Gi are used, and 3 agents take 128Mi each")
	})
}

// answers has the injection of a coordinator answer the API server.
func answers(t *testing.T, s *Server) {
	t.Helper()
	webhook, err := inject.NewWebhook(inject.WebhookOptions{Image: "registry.example/rollcall/agent:v1"})
	require.NoError(t, err)
	server := httptest.NewTLSServer(webhook)
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	eventually(t, "the webhook to answer", func(ctx context.Context) error {
		return pointWebhook(ctx, s, server.URL+inject.WebhookPath, ca)
	})
}

// pointWebhook has the API server ask at another address.
func pointWebhook(ctx context.Context, s *Server, url string, ca []byte) error {
	admin, err := kubernetes.NewForConfig(s.Admin)
	if err != nil {
		return err
	}
	hooks := admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	hook, err := hooks.Get(ctx, "rollcall-coordinator", metav1.GetOptions{})
	if err != nil {
		return err
	}
	hook.Webhooks[0].ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: ca}
	if _, err := hooks.Update(ctx, hook, metav1.UpdateOptions{}); err != nil {
		return err
	}
	labelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: "tried-0", Labels: map[string]string{v1alpha1.LabelCluster: "tried"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "tried", UID: "u", Controller: new(true)}},
	}}
	labelled.Spec.Containers = []corev1.Container{{Name: "solr", Image: "solr:9"}}
	made, err := admin.CoreV1().Pods(labelled.Namespace).Create(ctx, labelled, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil && !kube.HasAgent(&made.Spec) {
		err = errors.New("it added no agent")
	}
	return err
}

// missing returns an error if one of the texts is not there.
func missing(said string, wants ...string) error {
	for _, want := range wants {
		if !strings.Contains(said, want) {
			return fmt.Errorf("%q is not in %s", want, said)
		}
	}
	return nil
}

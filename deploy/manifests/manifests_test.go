package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// load reads the one object of a kind and name into out, strictly.
func load(t *testing.T, kind, name string, out any) {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var head metav1.PartialObjectMetadata
		require.NoError(t, yaml.Unmarshal(document, &head))
		if head.Kind == kind && head.Name == name {
			require.NoError(t, yaml.UnmarshalStrict(document, out))
			return
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
}

func TestWebhookNeverStandsInTheWay(t *testing.T) {
	var conf admissionregistrationv1.MutatingWebhookConfiguration
	load(t, "MutatingWebhookConfiguration", inject.ConfigurationName, &conf)
	require.Len(t, conf.Webhooks, 1)
	hook := conf.Webhooks[0]
	require.Equal(t, admissionregistrationv1.Ignore, *hook.FailurePolicy)
	require.LessOrEqual(t, *hook.TimeoutSeconds, int32(5))
	require.Equal(t, admissionregistrationv1.SideEffectClassNone, *hook.SideEffects)
	require.Equal(t, admissionregistrationv1.IfNeededReinvocationPolicy, *hook.ReinvocationPolicy)
	require.Equal(t, []metav1.LabelSelectorRequirement{{Key: v1alpha1.LabelCluster, Operator: metav1.LabelSelectorOpExists}},
		hook.ObjectSelector.MatchExpressions)
	require.Len(t, hook.Rules, 1)
	require.Equal(t, []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, hook.Rules[0].Operations)
	require.Equal(t, []string{"pods"}, hook.Rules[0].Resources)
	require.Equal(t, inject.WebhookPath, *hook.ClientConfig.Service.Path)
	require.Empty(t, hook.ClientConfig.CABundle, "coordinators write it; applying the manifest again must not remove it")

	var service corev1.Service
	load(t, "Service", hook.ClientConfig.Service.Name, &service)
	require.Equal(t, service.Namespace, hook.ClientConfig.Service.Namespace)
	require.True(t, slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == *hook.ClientConfig.Service.Port
	}))

	// The coordinator's own pods are none of its business.
	var deployment appsv1.Deployment
	load(t, "Deployment", "rollcall-coordinator", &deployment)
	require.NotContains(t, deployment.Spec.Template.Labels, v1alpha1.LabelCluster)
}

func TestServiceReachesCoordinators(t *testing.T) {
	var service corev1.Service
	load(t, "Service", "rollcall-coordinator", &service)
	var deployment appsv1.Deployment
	load(t, "Deployment", "rollcall-coordinator", &deployment)
	pod := deployment.Spec.Template
	for name, value := range service.Spec.Selector {
		require.Equal(t, value, pod.Labels[name])
	}
	ports := map[string]int32{}
	for _, port := range pod.Spec.Containers[0].Ports {
		ports[port.Name] = port.ContainerPort
	}
	require.Equal(t, map[string]int32{"grpc": 7950, "http": 7951, "page": 7952, "webhook": 9443}, ports)
	for _, port := range service.Spec.Ports {
		require.Contains(t, ports, port.TargetPort.String())
	}
	require.Equal(t, "restricted", loadNamespace(t).Labels["pod-security.kubernetes.io/enforce"])
}

func loadNamespace(t *testing.T) (ns corev1.Namespace) {
	t.Helper()
	load(t, "Namespace", Namespace, &ns)
	return ns
}

// What the coordinator may do is explained, verb by verb, and nothing else is.
func TestEveryRightIsExplained(t *testing.T) {
	var cluster rbacv1.ClusterRole
	load(t, "ClusterRole", "rollcall-coordinator", &cluster)
	var own rbacv1.Role
	load(t, "Role", "rollcall-coordinator", &own)
	want := map[string][]string{}
	for _, rule := range slices.Concat(cluster.Rules, own.Rules) {
		for _, resource := range rule.Resources {
			want[resource] = append(want[resource], rule.Verbs...)
		}
	}
	page, err := os.ReadFile("../docs/security.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(page), "\n| resource | verbs | what for |\n| --- | --- | --- |\n")
	require.True(t, ok)
	table, _, _ = strings.Cut(table, "\n\n")
	got := map[string][]string{}
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		resources, _, _ := strings.Cut(strings.TrimPrefix(cells[0], "| "), " (")
		for resource := range strings.SplitSeq(strings.TrimSuffix(resources, ", in its own namespace"), ", ") {
			got[resource] = append(got[resource], strings.Split(cells[1], ", ")...)
		}
	}
	for _, rights := range []map[string][]string{want, got} {
		for _, verbs := range rights {
			slices.Sort(verbs)
		}
	}
	require.Equal(t, want, got)
}

// TestRightsAreTheShortestList: who adds a right adds it here too, with a thought.
func TestRightsAreTheShortestList(t *testing.T) {
	var cluster rbacv1.ClusterRole
	load(t, "ClusterRole", "rollcall-coordinator", &cluster)
	require.Equal(t, strings.Join([]string{
		"databaseclusters.rollcall.dev: get list watch patch",
		"databaseclusters/status.rollcall.dev: update",
		"statefulsets.apps: get list watch patch",
		"nodes: list watch",
		"pods: get list watch patch delete",
		"pods/eviction: create",
		"persistentvolumeclaims: get delete",
		"events.events.k8s.io: create patch",
		"services: get create update",
		"secrets: get create update",
		"poddisruptionbudgets.policy: get list watch create update delete",
		"validatingadmissionpolicies.admissionregistration.k8s.io [rollcall-guard]: list watch",
		"validatingadmissionpolicybindings.admissionregistration.k8s.io [rollcall-guard]: list watch patch",
		"tokenreviews.authentication.k8s.io: create",
		"subjectaccessreviews.authorization.k8s.io: create",
		"certificatesigningrequests.certificates.k8s.io: get delete",
		"serviceaccounts [generic-garbage-collector]: get",
		"mutatingwebhookconfigurations.admissionregistration.k8s.io [rollcall-coordinator]: get update",
	}, "\n"), rights(cluster.Rules))

	var own rbacv1.Role
	load(t, "Role", "rollcall-coordinator", &own)
	require.Equal(t, strings.Join([]string{
		"leases.coordination.k8s.io: create",
		"leases.coordination.k8s.io [" + lead.LeaseName + "]: get update",
		"secrets [" + pki.SecretAuthority + " " + pki.SecretWebhook + "]: watch",
	}, "\n"), rights(own.Rules))

	var expiry rbacv1.ClusterRole
	load(t, "ClusterRole", "rollcall-guard", &expiry)
	require.Equal(t, strings.Join([]string{
		"validatingadmissionpolicybindings.admissionregistration.k8s.io [rollcall-guard]: get patch",
		"poddisruptionbudgets.policy: list update",
		"events.events.k8s.io: create",
		"databaseclusters.rollcall.dev: list patch",
	}, "\n"), rights(expiry.Rules))

	var expiryOwn rbacv1.Role
	load(t, "Role", "rollcall-guard", &expiryOwn)
	require.Equal(t, "leases.coordination.k8s.io ["+lead.LeaseName+"]: get", rights(expiryOwn.Rules))

	var asker rbacv1.Role
	load(t, "Role", "rollcall-asker", &asker)
	require.Equal(t, strings.Join([]string{
		"leases.coordination.k8s.io [" + lead.LeaseName + "]: get",
		"secrets [" + pki.SecretTrust + "]: get",
		"pods: get",
		"pods/portforward: get create",
	}, "\n"), rights(asker.Rules))

	var asks rbacv1.ClusterRole
	load(t, "ClusterRole", "rollcall-asker", &asks)
	require.Equal(t, "certificatesigningrequests.certificates.k8s.io: create", rights(asks.Rules))

	var reader rbacv1.Role
	load(t, "Role", pki.SecretReader, &reader)
	require.Contains(t, rights(reader.Rules), "secrets ["+pki.SecretReader+"]: get")
	for _, secret := range []string{pki.SecretAuthority, pki.SecretWebhook} {
		require.NotContains(t, rights(reader.Rules), secret)
	}
}

// rights are rules as text, one line for each resource.
func rights(rules []rbacv1.PolicyRule) string {
	var lines []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				if group != "" {
					resource += "." + group
				}
				if len(rule.ResourceNames) > 0 {
					resource += " [" + strings.Join(rule.ResourceNames, " ") + "]"
				}
				lines = append(lines, resource+": "+strings.Join(rule.Verbs, " "))
			}
		}
	}
	return strings.Join(lines, "\n")
}

func TestCoordinatorsAreConfined(t *testing.T) {
	var deployment appsv1.Deployment
	load(t, "Deployment", "rollcall-coordinator", &deployment)
	spec := deployment.Spec.Template.Spec
	require.Equal(t, int32(2), *deployment.Spec.Replicas)
	require.True(t, *spec.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, spec.SecurityContext.SeccompProfile.Type)
	require.Len(t, spec.Containers, 1)
	container := spec.Containers[0]
	require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)
	require.NotEmpty(t, container.Resources.Limits)
	require.NotNil(t, container.ReadinessProbe)
	require.NotNil(t, container.LivenessProbe)
}

func TestExamplesAreUnderstood(t *testing.T) {
	for file, engine := range map[string]model.Engine{
		"solr": model.Solr, "opensearch": model.OpenSearch, "mysql": model.MySQL, "mariadb": model.MariaDB, "galera": model.Galera,
	} {
		text, err := os.ReadFile("../examples/" + file + ".yaml")
		require.NoError(t, err)
		docs := bytes.Split(text, []byte("\n---\n"))
		var cluster v1alpha1.DatabaseCluster
		require.NoError(t, yaml.UnmarshalStrict(docs[len(docs)-1], &cluster))
		require.Equal(t, engine, cluster.Spec.Engine)
		for _, doc := range docs {
			var secret corev1.Secret
			if yaml.Unmarshal(doc, &secret) == nil && secret.Kind == "Secret" {
				require.Equal(t, secret.Name, cluster.Spec.Connection.CredentialsSecret)
				require.True(t, consent.Given(&secret.ObjectMeta, cluster.Name), "its agents may use it")
			}
		}
	}
}

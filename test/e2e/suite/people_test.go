package suite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rollcall-dev/rollcall/test/e2e/solrcloud"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// Two may reach the coordinator and show it who they are, and one of them may view the database's namespace.
const peopleManifest = `
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: asks, namespace: ` + solrcloud.Namespace + `}}
  - {apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: ` + solrcloud.Namespace + `}}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: people, namespace: ` + testbed.InstallNamespace + `}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: rollcall-asker}
    subjects:
      - {kind: ServiceAccount, name: asks, namespace: ` + solrcloud.Namespace + `}
      - {kind: ServiceAccount, name: stranger, namespace: ` + solrcloud.Namespace + `}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: people}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rollcall-asker}
    subjects:
      - {kind: ServiceAccount, name: asks, namespace: ` + solrcloud.Namespace + `}
      - {kind: ServiceAccount, name: stranger, namespace: ` + solrcloud.Namespace + `}
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: RoleBinding
    metadata: {name: people, namespace: ` + solrcloud.Namespace + `}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
    subjects:
      - {kind: ServiceAccount, name: asks, namespace: ` + solrcloud.Namespace + `}
`

// people: the coordinator answers those who may get DatabaseClusters there, and nobody else.
func (s *solr) people(t *testing.T) {
	ctx := t.Context()
	require.NoError(t, s.bed.Apply(ctx, peopleManifest))
	pod := s.cloud.Pods.All()[0].Name
	asks, stranger := s.kubeconfigOf(t, "asks"), s.kubeconfigOf(t, "stranger")
	text, err := s.bed.Rollcall(ctx, "explain", pod, "-n", solrcloud.Namespace, "--kubeconfig", asks)
	require.NoError(t, err)
	require.Contains(t, text, pod)
	_, err = s.bed.Rollcall(ctx, "explain", pod, "-n", solrcloud.Namespace, "--kubeconfig", stranger)
	require.ErrorContains(t, err, "system:serviceaccount:"+solrcloud.Namespace+":stranger may not list databaseclusters.rollcall.dev in namespace \""+solrcloud.Namespace+"\"")

	_, err = s.bed.Kubectl(ctx, "", "-n", solrcloud.Namespace, "delete", "rolebinding", "people")
	require.NoError(t, err)
	require.NoError(t, s.bed.Eventually(ctx, "a right that was taken away to be gone", time.Minute, func(ctx context.Context) error {
		_, err := s.bed.Rollcall(ctx, "explain", pod, "-n", solrcloud.Namespace, "--kubeconfig", asks)
		if err == nil {
			return errors.New("it is still answered")
		}
		if !strings.Contains(err.Error(), "may not list databaseclusters.rollcall.dev") {
			return err
		}
		return nil
	}))
	_, err = s.bed.Kubectl(ctx, "", "-n", testbed.InstallNamespace, "delete", "rolebinding/people", "clusterrolebinding/people")
	require.NoError(t, err)
}

// kubeconfigOf is a file with a token of a ServiceAccount and no certificate.
func (s *solr) kubeconfigOf(t *testing.T, account string) string {
	t.Helper()
	answer, err := s.bed.Kube.CoreV1().ServiceAccounts(solrcloud.Namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config, err := clientcmd.LoadFromFile(s.bed.Kubeconfig)
	require.NoError(t, err)
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: answer.Status.Token}
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, file))
	return file
}

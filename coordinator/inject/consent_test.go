package inject

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// A Secret that nobody has allowed for the DatabaseCluster is not mounted; the pod starts,
// and says why its agent has no password.
func TestWebhookMountsByConsent(t *testing.T) {
	secrets := map[string]string{"solr-admin": "", "shared": "logs.search", "mine": "search", "search-rollcall-credentials": "logs"}
	for _, c := range []struct {
		named, annotated string
		err              error
		mounted          string
		says             string
	}{
		{named: "mine", mounted: "mine"},
		{named: "shared", mounted: "shared"},
		{named: "solr-admin", says: "the agent starts without username and password: Secret prod/solr-admin has no label that allows it for DatabaseCluster search; whoever may write the Secret allows it: kubectl -n prod label secret solr-admin rollcall.dev/cluster=search"},
		{says: "kubectl -n prod label secret search-rollcall-credentials rollcall.dev/cluster=logs.search --overwrite"},
		{named: "mine", annotated: "solr-admin", says: "solr-admin"},
		// Agents use it once the coordinator has seen that they may.
		{named: "not-yet", mounted: "not-yet"},
		{named: "solr-admin", err: errors.New("busy"), mounted: "solr-admin"},
	} {
		h, _ := newWebhook(t, database(func(d *v1alpha1.DatabaseCluster) { d.Spec.Connection.CredentialsSecret = c.named }))
		h.opts.Secret = func(_ context.Context, namespace, name string) (*metav1.ObjectMeta, error) {
			label, there := secrets[name]
			if !there || c.err != nil {
				return nil, c.err
			}
			return &metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}}, nil
		}
		pod := readPod(t, "testdata/pod/plain.in.yaml")
		if c.annotated != "" {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1alpha1.AnnotationCredentialsSecret, c.annotated)
		}
		response, got := ask(t, h, review(t, pod))
		require.Len(t, got.Spec.InitContainers, 1, "it has its agent")
		agent, mounted := got.Spec.InitContainers[0], ""
		for _, v := range got.Spec.Volumes {
			if v.Name == volumeCredentials {
				mounted = v.Secret.SecretName
			}
		}
		require.Equal(t, c.mounted, mounted, "%+v", c)
		require.Equal(t, c.mounted != "", slices.ContainsFunc(agent.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == config.CredentialsDir }))
		var told string
		for _, e := range agent.Env {
			if e.Name == config.EnvCredentialsSecret {
				told = e.Value
			}
		}
		require.Equal(t, c.mounted, told, "the agent knows whose password it has")
		if c.says == "" {
			require.Empty(t, response.Warnings)
			continue
		}
		require.Len(t, response.Warnings, 1)
		require.Contains(t, response.Warnings[0], c.says)
		require.Contains(t, got.Annotations[v1alpha1.AnnotationInjection], c.says)
	}
}

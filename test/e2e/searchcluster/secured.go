package searchcluster

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/engines/enginetest/authority"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

const (
	// Certificates is the Secret of the nodes' certificates in manifests/opensearch-secured.yaml.
	Certificates = "os-certificates"
	// ServerName is a name of every node's certificate.
	ServerName = "os.demo.svc"
)

// Security is what a database with the security plugin has that others have not.
type Security struct {
	Authority *authority.Authority
	bed       *testbed.Bed
}

// DeploySecured is Deploy of a database that speaks TLS and wants a login. Until the test ends,
// http.DefaultTransport trusts its authority.
func DeploySecured(t *testing.T, bed *testbed.Bed, edit func(*appsv1.StatefulSet)) (*Cluster, *Security) {
	t.Helper()
	s := &Security{Authority: authority.New(t, "os CA"), bed: bed}
	restore, err := testbed.Trust(s.Authority.CA, ServerName)
	require.NoError(t, err)
	t.Cleanup(restore)
	ctx := t.Context()
	require.NoError(t, s.Certify(ctx, authority.Leaf{}))
	c, err := deploy(ctx, bed, "opensearch-secured.yaml", edit, url.UserPassword("admin", "admin")) // as the plugin comes
	require.NoError(t, err)
	return c, s
}

// Certify gives all nodes a new certificate. The kubelet carries it into pods that run within two minutes.
func (s *Security) Certify(ctx context.Context, leaf authority.Leaf) error {
	leaf.Name = "node"
	if leaf.Hosts == nil {
		leaf.Hosts = []string{"localhost", "127.0.0.1", ServerName}
	}
	cert, key := s.Authority.Issue(leaf)
	return s.Secret(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: Certificates, Namespace: Namespace}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{"ca.crt": s.Authority.CA, corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	})
}

// Secret makes a Secret, or changes it.
func (s *Security) Secret(ctx context.Context, secret *corev1.Secret) error {
	secrets := s.bed.Kube.CoreV1().Secrets(secret.Namespace)
	_, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	return err
}

// securityAPI begins the paths of the plugin's REST API.
const securityAPI = "/_plugins/_security/api/"

// MakeUser makes a user with a role of its own, whose body is as the plugin's REST API takes it, or
// changes both.
func (c *Cluster) MakeUser(ctx context.Context, name, password string, role any) error {
	if err := c.SetRole(ctx, name, role); err != nil {
		return err
	}
	if err := c.call(ctx, http.MethodPut, securityAPI+"internalusers/"+name, map[string]any{"password": password}, nil); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPut, securityAPI+"rolesmapping/"+name, map[string]any{"users": []string{name}}, nil)
}

// SetRole changes the role of a user that MakeUser made.
func (c *Cluster) SetRole(ctx context.Context, name string, role any) error {
	return c.call(ctx, http.MethodPut, securityAPI+"roles/"+name, role, nil)
}

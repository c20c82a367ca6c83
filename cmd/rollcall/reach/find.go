package reach

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/rollcall-dev/rollcall/coordinator/lead"
	"github.com/rollcall-dev/rollcall/coordinator/pki"
)

// elected returns the name of the pod that holds the Lease.
func elected(ctx context.Context, clients kubernetes.Interface, namespace string) (string, error) {
	l, err := clients.CoordinationV1().Leases(namespace).Get(ctx, lead.LeaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", fmt.Errorf("%w: there is no Lease %s/%s; is Rollcall installed in another namespace (--install-namespace)?", ErrNotElected, namespace, lead.LeaseName)
	case err != nil:
		return "", explain(err, fmt.Sprintf("get Lease %s/%s", namespace, lead.LeaseName))
	}
	holder := holderOf(l, time.Now())
	if holder == "" {
		return "", fmt.Errorf("%w: nobody holds Lease %s/%s; are the pods of Deployment %s running?", ErrNotElected, namespace, lead.LeaseName, lead.LeaseName)
	}
	return holder, nil
}

// holderOf is empty when the Lease is free or has not been renewed for so long
// that somebody else may take it.
func holderOf(l *coordinationv1.Lease, now time.Time) string {
	s := l.Spec
	if s.HolderIdentity == nil || *s.HolderIdentity == "" {
		return ""
	}
	if s.RenewTime != nil && s.LeaseDurationSeconds != nil {
		// The clocks of two machines differ, so an expired Lease gets a minute more.
		expires := s.RenewTime.Add(time.Duration(*s.LeaseDurationSeconds)*time.Second + time.Minute)
		if now.After(expires) {
			return ""
		}
	}
	return *s.HolderIdentity
}

// readerIdentity returns the reader's certificate for the coordinator, and how to verify the
// coordinator.
func readerIdentity(ctx context.Context, clients kubernetes.Interface, namespace string) (*tls.Config, error) {
	secret, config, err := trusted(ctx, clients, namespace, pki.SecretReader)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s, keys tls.crt and tls.key: %w", namespace, pki.SecretReader, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// trusted returns a configuration that verifies the coordinator by the authorities in a Secret that
// the coordinator maintains.
func trusted(ctx context.Context, clients kubernetes.Interface, namespace, name string) (*corev1.Secret, *tls.Config, error) {
	secret, err := clients.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, fmt.Errorf("%w: there is no Secret %s/%s, which a coordinator makes when it first starts", ErrNotElected, namespace, name)
	case err != nil:
		return nil, nil, explain(err, fmt.Sprintf("get Secret %s/%s", namespace, name))
	}
	config, err := trust(secret.Data["ca.crt"])
	if err != nil {
		return nil, nil, fmt.Errorf("secret %s/%s, key ca.crt: %w", namespace, name, err)
	}
	return secret, config, nil
}

// explain adds to an error what was tried, and marks what the API server forbids.
func explain(err error, tried string) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w to %s: %w", ErrForbidden, tried, err)
	}
	return fmt.Errorf("%s: %w", tried, err)
}

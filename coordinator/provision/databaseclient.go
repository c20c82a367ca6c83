package provision

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
)

// clientPair is what agents show to a database that asks for a certificate, PEM. It is empty without
// one.
type clientPair struct{ cert, key []byte }

// databaseClient is the pair of the Secret that connection.tls.clientSecret names, with a key that
// whoever may write the Secret allows. While the Secret cannot be read, or is wrong, it is what the
// agents have now, and an error that says why. It quotes neither.
func (p *Provisioner) databaseClient(ctx context.Context, cluster *v1alpha1.DatabaseCluster, data map[string][]byte, present config.File) (clientPair, error) {
	const field = "spec.connection.tls.clientSecret"
	name := cluster.Spec.Connection.TLS.ClientSecret
	if name == "" {
		return clientPair{}, nil
	}
	before := clientPair{[]byte(present.Connection.TLS.Cert), data[config.KeyClientKey]}
	secret, err := p.opts.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return before, field + ": " + consent.Missing(cluster.Namespace, name, cluster.Name)
	case err != nil:
		return before, fmt.Errorf("%s: %w", field, err)
	case p.opts.Metadata == nil || !consent.Given(&secret.ObjectMeta, cluster.Name):
		return clientPair{}, field + ": " + consent.NotGiven(&secret.ObjectMeta, cluster.Name)
	}
	pair, err := pairOf(secret.Data)
	if err != nil {
		return before, fmt.Errorf("%s: keys %s and %s of secret %s: %w", field, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, name, err)
	}
	return pair, nil
}

// pairOf passes on certificates and one key, and nothing else that the Secret may hold.
func pairOf(data map[string][]byte) (clientPair, error) {
	certs, err := onlyCertificates(data[corev1.TLSCertKey])
	if err != nil {
		return clientPair{}, err
	}
	var key []byte
	for rest := data[corev1.TLSPrivateKeyKey]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return clientPair{}, errors.New("no private key in PEM")
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			key = pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})
			break
		}
	}
	if _, err := tls.X509KeyPair(certs, key); err != nil {
		return clientPair{}, errors.New("the key does not belong to the certificate, or is encrypted")
	}
	return clientPair{certs, key}, nil
}

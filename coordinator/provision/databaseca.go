package provision

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/consent"
)

// databaseCA is the certificates with which agents verify their database's:
// the key ca.crt of the Secret that the spec names. When that cannot be used
// it is what the agents have now, and an error that says why.
func (p *Provisioner) databaseCA(ctx context.Context, cluster *v1alpha1.DatabaseCluster, present config.File) ([]byte, error) {
	name := cluster.Spec.Connection.TLS.CASecret
	if name == "" {
		return nil, nil
	}
	secret, err := p.opts.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return []byte(present.Connection.TLS.CA), fmt.Errorf("spec.connection.tls.caSecret: %w", err)
	}
	if p.opts.Metadata != nil && !consent.Given(&secret.ObjectMeta, cluster.Name) {
		return []byte(present.Connection.TLS.CA), "spec.connection.tls.caSecret: " + consent.NotGiven(&secret.ObjectMeta, cluster.Name)
	}
	certs, err := onlyCertificates(secret.Data[config.KeyCA])
	if err != nil {
		return []byte(present.Connection.TLS.CA), fmt.Errorf("spec.connection.tls.caSecret: key %s of secret %s: %w", config.KeyCA, name, err)
	}
	return certs, nil
}

// presentFile is what the agents are told now, as far as it can be read.
func presentFile(data map[string][]byte) (file config.File) {
	if json.Unmarshal(data[config.KeyConfig], &file) != nil {
		return config.File{}
	}
	return file
}

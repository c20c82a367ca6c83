package provision

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
)

// databaseCA is the certificates with which agents verify their database's:
// the key ca.crt of the Secret that the spec names. When that cannot be used
// it is what the agents have now, and an error that says why.
func (p *Provisioner) databaseCA(ctx context.Context, cluster *v1alpha1.DatabaseCluster, present map[string][]byte) ([]byte, error) {
	name := cluster.Spec.Connection.TLS.CASecret
	if name == "" {
		return nil, nil
	}
	secret, err := p.opts.Client.CoreV1().Secrets(cluster.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return presentCA(present), fmt.Errorf("spec.connection.tls.caSecret: %w", err)
	}
	certs, err := onlyCertificates(secret.Data[config.KeyCA])
	if err != nil {
		return presentCA(present), fmt.Errorf("spec.connection.tls.caSecret: key %s of secret %s: %w", config.KeyCA, name, err)
	}
	return certs, nil
}

func presentCA(data map[string][]byte) []byte {
	var file config.File
	if json.Unmarshal(data[config.KeyConfig], &file) != nil {
		return nil
	}
	return []byte(file.Connection.TLS.CA)
}

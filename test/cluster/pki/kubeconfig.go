package pki

import (
	"encoding/base64"
	"fmt"
	"os"
)

// Kubeconfig renders a kubeconfig that holds everything it needs, so that it can be copied elsewhere.
func (a *Authority) Kubeconfig(cluster, server, name string) ([]byte, error) {
	var enc [3]string
	for i, f := range []string{"ca.crt", name + ".crt", name + ".key"} {
		b, err := os.ReadFile(a.Path(f))
		if err != nil {
			return nil, fmt.Errorf("kubeconfig for %s: %w", name, err)
		}
		enc[i] = base64.StdEncoding.EncodeToString(b)
	}
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[4]s
users:
- name: %[3]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[3]s
current-context: %[1]s
`, cluster, server, name, enc[0], enc[1], enc[2]), nil
}

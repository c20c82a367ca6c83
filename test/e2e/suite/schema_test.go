package suite

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// TestSchema tries the resource's schema on the real API server: what it
// accepts, what it refuses, and with which words.
func TestSchema(t *testing.T) {
	b := bed(t)
	// A coordinator would write the status of the objects that the test makes.
	_, err := b.Kubectl(t.Context(), "", "scale", "deployment/rollcall-coordinator", "-n", testbed.InstallNamespace, "--replicas=0")
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Install(context.WithoutCancel(t.Context()))) }()
	_, err = b.Kubectl(t.Context(), "", "wait", "pod", "--for=delete", "-n", testbed.InstallNamespace, "-l", "app.kubernetes.io/name=rollcall", "--timeout=60s")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-run", "OnServer", "./coordinator/api/...")
	cmd.Dir = b.Path()
	cmd.Env = append(os.Environ(), "ROLLCALL_SCHEMA_KUBECONFIG="+b.Kubeconfig)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS: TestSchemaOnServer")
}

package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/test/race"
	"github.com/rollcall-dev/rollcall/test/tool"
)

// A person with a reader's certificate and no .proto file asks any agent.
func TestGrpcurl(t *testing.T) {
	race.Heavy(t)
	if testing.Short() {
		t.Skip("builds grpcurl")
	}
	r := three(t)
	dir := t.TempDir()
	certificate, key := r.authority.Issue("", config.RoleReader)
	for name, data := range map[string][]byte{"ca.crt": r.authority.PEM(), "reader.crt": certificate, "reader.key": key} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	grpcurl := func(m *member, rest ...string) string {
		args := append([]string{
			"-cacert", filepath.Join(dir, "ca.crt"),
			"-cert", filepath.Join(dir, "reader.crt"), "-key", filepath.Join(dir, "reader.key"),
			"-authority", config.ServerName(testNamespace, testCluster), m.rpc,
		}, rest...)
		output, err := tool.Command(t.Context(), "..", "grpcurl", args...).CombinedOutput()
		require.NoError(t, err, string(output))
		return string(output)
	}
	for _, m := range r.members {
		services := grpcurl(m, "list")
		require.Contains(t, services, "rollcall.v1.AgentService")
		require.Contains(t, services, "grpc.health.v1.Health")
		roster := grpcurl(m, "rollcall.v1.AgentService/GetRoster")
		for _, other := range r.members {
			require.Contains(t, roster, `"pod": "`+other.pod+`"`)
		}
	}
	require.Contains(t, grpcurl(r.members[0], "rollcall.v1.AgentService/GetReport"), `"member": "MEMBERSHIP_LIVE"`)
}

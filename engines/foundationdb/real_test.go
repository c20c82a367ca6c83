package foundationdb

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// Environment of the tests against a real database, which look and change nothing.
const (
	envRequire     = "ROLLCALL_REQUIRE"
	envClusterFile = "ROLLCALL_FDB_CLUSTER_FILE" // of a database that runs
	envInstance    = "ROLLCALL_FDB_INSTANCE"     // locality_instance_id of one of its processes
)

func realClient(t *testing.T) string {
	path, err := exec.LookPath("fdbcli")
	if err != nil {
		if strings.Contains(os.Getenv(envRequire), "foundationdb") {
			t.Fatalf("%s asks for foundationdb, and there is no fdbcli", envRequire)
		}
		t.Skip("no fdbcli is installed")
	}
	return path
}

// TestRealClientWithoutADatabase checks what the real program does when no server answers.
func TestRealClientWithoutADatabase(t *testing.T) {
	path := realClient(t)
	file := filepath.Join(t.TempDir(), "fdb.cluster")
	require.NoError(t, os.WriteFile(file, []byte("fdb:none@127.0.0.1:1\n"), 0o600))
	e, err := New(Options{Instance: "fdb-0", Client: path, ClusterFile: file, Timeout: 5 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, engines.MembershipLive, o.Member)
	require.NotEqual(t, engines.VerdictGreen, o.Health.Verdict)
	require.NotEmpty(t, o.Health.Reason)
	_, err = e.PlanDrain(t.Context(), engines.Order{Kind: engines.Evacuate, Claim: "c"})
	require.Error(t, err)
}

// TestRealDatabase looks at one.
func TestRealDatabase(t *testing.T) {
	path := realClient(t)
	file, instance := os.Getenv(envClusterFile), os.Getenv(envInstance)
	if file == "" || instance == "" {
		t.Skipf("%s and %s name no database", envClusterFile, envInstance)
	}
	e, err := New(Options{Instance: instance, Client: path, ClusterFile: file})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	o, err := e.Observe(t.Context())
	require.NoError(t, err)
	require.Equal(t, engines.MembershipLive, o.Member, o.Health.Reason)
	require.NotEmpty(t, o.Groups)
	_, err = e.maintained(t.Context())
	require.NoError(t, err)
	s, err := e.look(t.Context())
	require.NoError(t, err)
	seats, why := s.seatList()
	require.Empty(t, why)
	require.NotEmpty(t, seats)
}

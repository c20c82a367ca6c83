package doctor

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

var update = flag.Bool("update", false, "write what the doctor says into testdata")

// chart is a manifest of testdata/databases, with a DatabaseCluster of the spec for all of its
// StatefulSets; an empty spec means that there is none.
func chart(t *testing.T, name, spec string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "databases", name+".yaml"))
	require.NoError(t, err)
	if spec == "" {
		return string(data)
	}
	out := strings.ReplaceAll(string(data), "metadata: {labels: {app", "metadata: {labels: {rollcall.dev/cluster: db, app")
	out = strings.ReplaceAll(out, "      labels: {app", "      labels: {rollcall.dev/cluster: db, app")
	require.NotEqual(t, string(data), out)
	return out + "\n---\n{apiVersion: rollcall.dev/v1alpha1, kind: DatabaseCluster, metadata: {name: db, namespace: prod}, spec: {" + spec + "}}\n"
}

// found returns what the checks of databases of MySQL and MariaDB say of a manifest.
func found(t *testing.T, manifest string, change func(*Facts)) []string {
	t.Helper()
	var out []string
	for _, line := range examine(t, manifest, change) {
		_, check, _ := strings.Cut(line, " ")
		switch check, _, _ = strings.Cut(check, ":"); check {
		case "topology", "service", "configuration", "container":
			out = append(out, line)
		}
	}
	return out
}

// TestDatabases shows all that is said of a chart of each topology, before it is enrolled.
func TestDatabases(t *testing.T) {
	for name, want := range map[string]model.Topology{
		"fixed-primary": model.TopologyFixedPrimary, "galera-environment": model.TopologyGalera, "galera-included": model.TopologyGalera,
		"group-replication": model.TopologyGroupReplication, "single-server": model.TopologySingleServer, "switchable": model.TopologySwitchable,
	} {
		f, err := Manifest([]byte(chart(t, name, "")))
		require.NoError(t, err)
		require.NoError(t, f.Only(nil))
		f.eachDatabase(func(d *sqlDatabase) []Finding {
			got, _ := f.known(d)
			require.Equal(t, want, got, name)
			return nil
		})
		var text strings.Builder
		for _, found := range Examine(f) {
			text.WriteString(string(found.Severity) + " " + found.Check + " " + found.Object + "\n  " + found.Found + "\n  fix: " + found.Fix + "\n")
		}
		golden := filepath.Join("testdata", "databases", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o644))
		}
		wanted, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(wanted), text.String(), name)
	}
}

// TestWhatIsNotSupported checks that Percona XtraDB Cluster is named as what it is, and nothing is asked
// of its servers.
func TestWhatIsNotSupported(t *testing.T) {
	for _, spec := range []string{"", "engine: Galera", "engine: MySQL"} {
		manifest := strings.Replace(chart(t, "galera-environment", spec), "bitnami/mariadb-galera:12.0", "percona/percona-xtradb-cluster:8.0", 1)
		got := found(t, manifest, nil)
		require.Len(t, got, 1, "%q", got)
		require.Contains(t, got[0], "error topology: the image registry.example/percona/percona-xtradb-cluster:8.0 of StatefulSet ledger is Percona XtraDB Cluster, which is not supported: ")
	}
	bare := strings.NewReplacer("image: ", "image: percona/percona-xtradb-cluster:8.0 # ", "containerPort: 3306", "containerPort: 3307").Replace(chart(t, "single-server", ""))
	require.Contains(t, strings.Join(found(t, bare, nil), "\n"), "error topology: ")
}

// TestAccountByTopology checks that no more is asked for than the topology takes, as people have it.
func TestAccountByTopology(t *testing.T) {
	for _, tt := range []struct {
		topology model.Topology
		primary  model.Primary
		switches bool
	}{
		{model.TopologySwitchable, model.PrimarySwitchover, true},
		{model.TopologySwitchable, model.PrimaryRestartInPlace, false},
		{model.TopologyFixedPrimary, model.PrimaryRestartInPlace, false},
		{model.TopologyFixedPrimary, model.PrimarySwitchover, true},
		{model.TopologyUnknown, model.PrimaryRestartInPlace, false},
		{model.TopologyUnknown, "", true},
		{model.TopologySingleServer, model.PrimaryRestartInPlace, false},
		{model.TopologyGroupReplication, model.PrimarySwitchover, false},
	} {
		account := Account(model.MySQL, tt.topology, tt.primary)
		require.Contains(t, account, "the agents' account needs: GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS")
		require.Equal(t, tt.switches, strings.Contains(account, "RELOAD"), "%s %s", tt.topology, tt.primary)
		require.Equal(t, tt.topology == model.TopologyGroupReplication, strings.Contains(account, "GROUP_REPLICATION_ADMIN"))
	}
	require.Empty(t, Account(model.Solr, "", ""))
}

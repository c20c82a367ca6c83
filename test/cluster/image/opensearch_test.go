package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMove(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(from, "lib"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(from, "lib", "a.jar"), []byte("a"), 0o644))
	require.NoError(t, move(from, to))
	require.FileExists(t, filepath.Join(to, "lib", "a.jar"))
	require.NoDirExists(t, filepath.Join(from, "lib"))
	require.ErrorIs(t, move(filepath.Join(from, "none"), to), os.ErrNotExist)
}

func TestOpenSearchKeyFollowsTheVersion(t *testing.T) {
	require.NotEqual(t, openSearchKey("2.19.6"), openSearchKey("3.8.0"))
	require.Equal(t, openSearchKey("3.8.0"), openSearchKey("3.8.0"))
}

// openSearchRoot is where an image has its files, with a java that tells what it is asked for.
func openSearchRoot(t *testing.T, files ...string) string {
	root := t.TempDir()
	sources := filepath.Join("..", "..", "images", "opensearch")
	for _, dir := range []string{"etc", "bin", "dist"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	require.NoError(t, copyTo(root, filepath.Join(sources, "entrypoint.sh")))
	require.NoError(t, copyTo(filepath.Join(root, "etc"), filepath.Join(sources, "log4j2.properties")))
	script := "#!/bin/sh\npwd\nfor a; do echo \"$a\"; done\necho \"preload $LD_PRELOAD\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "bin", "java"), []byte(script), 0o755))
	for _, dir := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return root
}

// enter runs the entry point, and returns what java was asked for and opensearch.yml.
func enter(t *testing.T, root, before string, env ...string) (asked []string, settings string) {
	t.Helper()
	data := filepath.Join(root, "data")
	cmd := exec.Command("sh", "-c", before+` exec sh "$0" -Enode.attr.zone=z1`, filepath.Join(root, "entrypoint.sh"))
	cmd.Env = append([]string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH"), "OPENSEARCH_DATA=" + data, "OPENSEARCH_HOST=10.0.0.1"}, env...)
	out, err := cmd.Output()
	require.NoError(t, err)
	yml, err := os.ReadFile(filepath.Join(data, "config", "opensearch.yml"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n"), string(yml)
}

func TestOpenSearchEntrypoint(t *testing.T) {
	root := openSearchRoot(t)
	asked, settings := enter(t, root, "", "OPENSEARCH_NODE=os-0", "OPENSEARCH_SEEDS=os-0.os, os-1.os", "OPENSEARCH_MANAGERS=os-0, os-1",
		"OPENSEARCH_ROLES=data, ingest", "OPENSEARCH_HEAP=99m", "OPENSEARCH_OPTS=-Da=b -Dc=d")
	require.Equal(t, filepath.Join(root, "dist"), asked[0], "the agent's path is relative to it")
	for _, want := range []string{"-Xmx99m", "-Djava.security.manager=allow", "-Da=b", "-Dc=d", "org.opensearch.bootstrap.OpenSearch"} {
		require.Contains(t, asked, want)
	}
	require.Equal(t, "-Enode.attr.zone=z1", asked[len(asked)-2])
	for _, want := range []string{
		"node.name: os-0\n", "network.publish_host: 10.0.0.1\n", "discovery.seed_hosts: [os-0.os, os-1.os]\n",
		"cluster.initial_cluster_manager_nodes: [os-0, os-1]\n", "node.roles: [data, ingest]\n", "cluster.name: opensearch\n",
	} {
		require.Contains(t, settings, want)
	}
	require.NotContains(t, settings, "single-node")
}

func TestOpenSearchEntrypointFrom3(t *testing.T) {
	asked, settings := enter(t, openSearchRoot(t, "dist/agent"), "")
	require.Contains(t, asked, "-javaagent:agent/opensearch-agent.jar")
	require.NotContains(t, asked, "-Djava.security.manager=allow")
	require.Contains(t, settings, "discovery.type: single-node\n")
	require.NotContains(t, settings, "node.roles")
}

func TestOpenSearchEntrypointWithoutRoles(t *testing.T) {
	_, settings := enter(t, openSearchRoot(t), "", "OPENSEARCH_ROLES= ")
	require.Contains(t, settings, "node.roles: [ ]\n", "a node that only coordinates")
}

func TestOpenSearchEntrypointWithSecurity(t *testing.T) {
	const plugin = "dist/plugins/opensearch-security/config"
	root := openSearchRoot(t, plugin, "own")
	for file, text := range map[string]string{plugin + "/roles.yml": "theirs", plugin + "/config.yml": "theirs", "own/roles.yml": "own"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, file), []byte(text), 0o644))
	}
	_, settings := enter(t, root, "")
	require.Contains(t, settings, "plugins.security.disabled: true\n")
	asked, settings := enter(t, root, "", "OPENSEARCH_SECURITY=/data/config/certs", "OPENSEARCH_SECURITY_CONFIG="+filepath.Join(root, "own"))
	require.Contains(t, settings, "plugins.security.ssl.http.pemkey_filepath: /data/config/certs/tls.key\n")
	require.Contains(t, settings, "plugins.security.ssl.transport.pemtrustedcas_filepath: /data/config/certs/ca.crt\n")
	require.Contains(t, settings, "plugins.security.nodes_dn: ['CN=node']\n")
	require.NotContains(t, settings, "disabled")
	require.NotContains(t, strings.Join(asked, " "), "Installer")
	for file, want := range map[string]string{"roles.yml": "own", "config.yml": "theirs"} {
		text, err := os.ReadFile(filepath.Join(root, "data", "config", "opensearch-security", file))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	_, settings = enter(t, root, "", "OPENSEARCH_SECURITY=demo")
	require.NotContains(t, settings, "plugins.security", "the installer writes them")
	require.DirExists(t, filepath.Join(root, "data", "plugins", "opensearch-security"))
}

func TestPluginStandsAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plugin-descriptor.properties")
	require.NoError(t, os.WriteFile(file, []byte("name=a\nextended.plugins=b;optional=true,c\nversion=1\n"), 0o644))
	require.NoError(t, standAlone(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "name=a\nextended.plugins=\nversion=1\n", string(text))
	require.ErrorIs(t, standAlone(file+".none"), os.ErrNotExist)
}

func TestOpenSearchEntrypointWithFewFiles(t *testing.T) {
	root := openSearchRoot(t)
	asked, _ := enter(t, root, "ulimit -n 1024;")
	require.Equal(t, "preload "+filepath.Join(root, "lib", "nofile.so"), asked[len(asked)-1])
}

// TestNofile checks that only the limit that is too low is misreported, and only what is asked, not
// what holds.
func TestNofile(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no cc in PATH")
	}
	library := filepath.Join(t.TempDir(), "nofile.so")
	source := filepath.Join("..", "..", "images", "opensearch", "nofile.c")
	require.NoError(t, command(t.Context(), "", nil, "cc", "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source))
	out, err := exec.Command("sh", "-c", "ulimit -n 1024; LD_PRELOAD="+library+" sh -c 'ulimit -n; ulimit -s'; ulimit -n; ulimit -s").CombinedOutput()
	require.NoError(t, err, "%s", out)
	lines := strings.Fields(string(out))
	require.Len(t, lines, 4)
	require.Equal(t, []string{"65536", "1024"}, []string{lines[0], lines[2]})
	require.Equal(t, lines[3], lines[1], "other limits are told as they are")
}

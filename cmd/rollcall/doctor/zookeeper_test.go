package doctor

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keeper is a manifest of testdata/zookeeper, with what is replaced, in pairs.
func keeper(t *testing.T, name string, replace ...string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/zookeeper/" + name + ".yaml")
	require.NoError(t, err)
	for i := 0; i+1 < len(replace); i += 2 {
		require.Contains(t, string(data), replace[i])
	}
	return strings.NewReplacer(replace...).Replace(string(data))
}

// TestEnsemble checks what is said of manifests of ZooKeeper: what keeps the agents from asking, or
// every server from going.
func TestEnsemble(t *testing.T) {
	const (
		admin = `{name: ZOO_ENABLE_ADMIN_SERVER, value: "yes"}`
		off   = `{name: ZOO_ENABLE_ADMIN_SERVER, value: "no"}`
		flags = "            - {name: ZOO_SERVERS"
	)
	for name, tt := range map[string]struct {
		manifest string
		want     string // empty means nothing
	}{
		"variables":            {keeper(t, "variables"), ""},
		"official":             {keeper(t, "official"), ""},
		"nothing can be asked": {keeper(t, "variables", admin, off), "error ensemble: the admin server is off (variable ZOO_ENABLE_ADMIN_SERVER), and 4lw.commands.whitelist (variable ZOO_4LW_COMMANDS_WHITELIST) has no mntr: the agents cannot ask the servers"},
		"words can be asked":   {keeper(t, "variables", admin, off, "srvr, ruok", "srvr, mntr, ruok"), ""},
		"all words":            {keeper(t, "variables", admin, off, "srvr, ruok", "*"), ""},
		"it cannot be seen": {keeper(t, "official", flags, "            - {name: SERVER_JVMFLAGS, value: -Dzookeeper.admin.enableServer=false}\n"+flags),
			"warning ensemble: the admin server is off (variable SERVER_JVMFLAGS), and 4lw.commands.whitelist cannot be seen"},
		"options of Java allow it": {keeper(t, "official", flags, "            - {name: SERVER_JVMFLAGS, value: '-Dzookeeper.admin.enableServer=false -Dzookeeper.4lw.commands.whitelist=srvr,mntr,conf'}\n"+flags), ""},
		"another port":             {keeper(t, "variables", `value: "8080"`, `value: "9090"`), "warning ensemble: the admin server listens on port 9090 (variable ZOO_ADMIN_SERVER_PORT_NUMBER), and agents ask port 8080 | set spec.connection.adminPort: 9090"},
		"two servers":              {keeper(t, "official", "replicas: 3", "replicas: 2"), "warning ensemble: it has two servers that vote"},
		"two voters of a list":     {keeper(t, "official", "zk-2.zk.prod.svc.cluster.local:2888:3888", "zk-2.zk.prod.svc.cluster.local:2888:3888:observer"), "warning ensemble: it has two servers that vote"},
		"two observers beside":     {keeper(t, "official", "{name: zk, namespace: prod}", "{name: watchers, namespace: prod}", "replicas: 3", "replicas: 2"), ""},
		"more lines":               {keeper(t, "official", flags, "            - {name: ZOO_CFG_EXTRA, value: 'admin.enableServer=false 4lw.commands.whitelist=srvr,ruok'}\n"+flags), "error ensemble: the admin server is off (variable ZOO_CFG_EXTRA), and 4lw.commands.whitelist (variable ZOO_CFG_EXTRA) has no mntr"},
		"more lines allow it":      {keeper(t, "official", flags, "            - {name: ZOO_CFG_EXTRA, value: 'admin.enableServer=false 4lw.commands.whitelist=*'}\n"+flags), ""},
		"TLS alone":                {keeper(t, "official", flags, "            - {name: SERVER_JVMFLAGS, value: -Dzookeeper.admin.forceHttps=true}\n"+flags), "warning ensemble: the admin server speaks TLS alone (variable SERVER_JVMFLAGS), and 4lw.commands.whitelist cannot be seen"},
		"another image's variable": {keeper(t, "official", flags, "            - {name: ZOOKEEPER_ADMIN_ENABLE_SERVER, value: 'false'}\n"+flags), "warning ensemble: the admin server is off (variable ZOOKEEPER_ADMIN_ENABLE_SERVER)"},
		"a file":                   {keeper(t, "file"), "error ensemble: the admin server is off (zoo.cfg of ConfigMap zk), and 4lw.commands.whitelist (zoo.cfg of ConfigMap zk) has no mntr"},
		"a file that allows it":    {keeper(t, "file", "srvr, ruok", "srvr, mntr, conf"), ""},
		"variables of a ConfigMap": {keeper(t, "file", "mountPath: /conf", "mountPath: /elsewhere", "zoo.cfg", "other.cfg", "{name: ENV", "{name: zk"), "error ensemble: the admin server is off (variable ZOO_ADMINSERVER_ENABLED)"},
		"another database":         {keeper(t, "variables", "bitnami/zookeeper:3.9.3", "bitnami/solr:9.9.0", "containerPort: 2181", "containerPort: 8983", admin, off), ""},
		"an image of Solr":         {keeper(t, "variables", "bitnami/zookeeper:3.9.3", "bitnami/solr:9.9.0", admin, off), "error ensemble: the admin server is off"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range examine(t, tt.manifest, nil) {
				if strings.Contains(line, " ensemble: ") {
					got = append(got, line)
				}
			}
			if tt.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1, "%q", got)
			require.Contains(t, got[0], tt.want)
		})
	}
}

// TestEnsemblesAreSeen checks that nothing else is said of the two manifests than that they have no
// label yet, whatever stands beside the server.
func TestEnsemblesAreSeen(t *testing.T) {
	for _, name := range []string{"variables", "official"} {
		got := examine(t, keeper(t, name), nil)
		require.Len(t, got, 1, "%q", got)
		require.Contains(t, got[0], "info label: ")
	}
}

// TestOneServerIsToldOfThree checks that nobody is sent from one server to two, of which neither goes.
func TestOneServerIsToldOfThree(t *testing.T) {
	got := examine(t, keeper(t, "official", "replicas: 3", "replicas: 1"), nil)
	require.Contains(t, strings.Join(got, "\n"), "warning single-pod: the database has one pod: what it has is out of reach during each restart | three servers that vote")
}

// TestEnsembleByItsSpec: the DatabaseCluster says what it is, and at which port agents ask.
func TestEnsembleByItsSpec(t *testing.T) {
	manifest := keeper(t, "variables", `value: "8080"`, `value: "9090"`, "registry.example/bitnami/zookeeper:3.9.3", "registry.example/ours:1",
		"labels: {helm", "labels: {rollcall.dev/cluster: db, helm", "labels: {app", "labels: {rollcall.dev/cluster: db, app")
	with := func(connection string) []string {
		return examine(t, manifest+"\n---\n{apiVersion: rollcall.dev/v1alpha1, kind: DatabaseCluster, metadata: {name: db, namespace: prod}, spec: {engine: ZooKeeper"+connection+"}}\n", nil)
	}
	require.Contains(t, strings.Join(with(""), "\n"), "spec.connection.adminPort: 9090")
	require.NotContains(t, strings.Join(with(", connection: {adminPort: 9090}"), "\n"), "adminPort")
}

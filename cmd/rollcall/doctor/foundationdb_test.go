package doctor

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// fdb is a FoundationDB without findings.
const fdb = `
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: fdb, namespace: prod}
spec: {engine: FoundationDB}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: storage, namespace: prod, uid: s1, labels: {rollcall.dev/cluster: fdb}}
spec:
  replicas: 3
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  template:
    metadata: {labels: {app: fdb, rollcall.dev/cluster: fdb}}
    spec:
      terminationGracePeriodSeconds: 300
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone}]
      containers:
        - name: server
          image: foundationdb/foundationdb:7.3.63
          command: [fdbserver]
          args: [--class=storage, --locality_instance_id=$(POD_NAME), "--locality-zoneid", "$(ZONE)", --locality_dns_name=$(POD_NAME).fdb]
          env: [{name: POD_NAME}, {name: ZONE}]
          readinessProbe: {exec: {command: [up]}}
      volumes: [{name: rollcall-client, emptyDir: {}}]
  volumeClaimTemplates: [{metadata: {name: data}}]
`

// TestLocalities checks which localities a process of FoundationDB must have.
func TestLocalities(t *testing.T) {
	require.Empty(t, examine(t, fdb, nil))
	for from, tt := range map[string]struct{ to, want string }{
		"--locality_instance_id=$(POD_NAME), ":                 {"", "error localities: container server starts fdbserver without --locality_instance_id"},
		`, "--locality-zoneid", "$(ZONE)"`:                     {"", "error localities: container server starts fdbserver without --locality_zoneid"},
		"{name: ZONE}":                                         {"{name: OTHER}", "error localities: --locality_zoneid of container server is $(ZONE), and the container has no variable ZONE"},
		", --locality_dns_name=$(POD_NAME).fdb":                {"", "warning localities: container server starts fdbserver without --locality_dns_name"},
		"  volumeClaimTemplates: [{metadata: {name: data}}]\n": {"", "error volume: it has no volumeClaimTemplates"},
	} {
		got := examine(t, strings.Replace(fdb, from, tt.to, 1), nil)
		require.Len(t, got, 1, "%s: %q", from, got)
		require.Contains(t, got[0], tt.want)
	}
	stateless := strings.Replace(strings.Replace(fdb, "  volumeClaimTemplates: [{metadata: {name: data}}]\n", "", 1), "--class=storage", "--class=stateless", 1)
	require.Empty(t, examine(t, stateless, nil), "there is nothing to lose")
	shell := strings.Replace(fdb, `command: [fdbserver]
          args: [--class=storage, --locality_instance_id=$(POD_NAME), "--locality-zoneid", "$(ZONE)", --locality_dns_name=$(POD_NAME).fdb]`,
		`command: [sh, -c, "exec fdbserver --class storage --locality_instance_id=$POD_NAME --locality_zoneid=$ZONE --locality_dns_name=$POD_NAME.fdb"]`, 1)
	require.NotEqual(t, fdb, shell)
	require.Empty(t, examine(t, shell, nil))
}

// TestLocalitiesBeforeThereIsADatabaseCluster checks that a chart alone is told what it lacks: by its
// image, or by what the user says it is.
func TestLocalitiesBeforeThereIsADatabaseCluster(t *testing.T) {
	_, chart, _ := strings.Cut(fdb, "---\n")
	chart = strings.ReplaceAll(chart, "rollcall.dev/cluster: fdb", "other: label")
	chart = strings.Replace(chart, "exec: {command: [up]}", "tcpSocket: {port: 4500}", 1)
	require.Len(t, examine(t, chart, nil), 1, "the label is all that is missing")

	chart = strings.Replace(chart, `--locality_instance_id=$(POD_NAME), "--locality-zoneid", "$(ZONE)", `, "", 1)
	chart = strings.Replace(chart, "      volumes: [{name: rollcall-client, emptyDir: {}}]\n", "", 1)
	for image, engine := range map[string]model.Engine{"foundationdb/foundationdb:7.3.63": "", "registry.example/server:1": model.FoundationDB} {
		f, err := Manifest([]byte(strings.Replace(chart, "foundationdb/foundationdb:7.3.63", image, 1)))
		require.NoError(t, err)
		f.Engine = engine
		require.NoError(t, f.Only(nil))
		got := texts(Examine(f))
		require.Len(t, got, 4, "%s: %q", image, got)
		require.Contains(t, got[0], "error client: there is no volume rollcall-client")
		require.Contains(t, got[1], "error localities: container server starts fdbserver without --locality_instance_id")
		require.Contains(t, got[2], "error localities: container server starts fdbserver without --locality_zoneid")
		require.Contains(t, got[3], "info label: ")
	}
}

// TestZonesOfProcesses checks that a zone is said, and the one that policy.zoneKey means.
func TestZonesOfProcesses(t *testing.T) {
	from := func(field string) string {
		return strings.Replace(fdb, "{name: ZONE}", "{name: ZONE, valueFrom: {fieldRef: {fieldPath: "+field+"}}}", 1)
	}
	on := func(version string) func(*Facts) {
		return func(f *Facts) { live(f); f.Live.Version = version }
	}
	const label = `"metadata.labels['topology.kubernetes.io/zone']"`
	require.Empty(t, examine(t, from(label), nil), "which Kubernetes it is for is not known")
	require.Empty(t, examine(t, from(label), on("v1.35.0")))
	require.Empty(t, examine(t, strings.Replace(from(label), "app: fdb,", "app: fdb, topology.kubernetes.io/zone: a,", 1), on("v1.34.2")), "a StatefulSet for each zone")
	got := examine(t, from(label), on("v1.34.2"))
	require.Len(t, got, 1, "%q", got)
	require.Contains(t, got[0], "warning localities: --locality_zoneid of container server is the label topology.kubernetes.io/zone of its pod, which Kubernetes sets from 1.35 on, and this is v1.34.2")

	got = examine(t, from("spec.nodeName"), nil)
	require.Len(t, got, 1, "%q", got)
	require.Contains(t, got[0], "warning localities: --locality_zoneid of container server is the name of its node, and policy.zoneKey is topology.kubernetes.io/zone")
	require.Empty(t, examine(t, strings.Replace(from("spec.nodeName"), "engine: FoundationDB", "engine: FoundationDB, policy: {zoneKey: kubernetes.io/hostname}", 1), nil))
}

// TestTheExampleIsFine checks that what people copy has what is asked for.
func TestTheExampleIsFine(t *testing.T) {
	data, err := os.ReadFile("../../../deploy/examples/foundationdb.yaml")
	require.NoError(t, err)
	require.Empty(t, examine(t, string(data), nil))
}

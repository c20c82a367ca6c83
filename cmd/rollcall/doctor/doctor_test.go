package doctor

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// fine is a database without findings.
const fine = `
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata: {name: search, namespace: prod}
spec: {engine: Solr}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: solr, namespace: prod, uid: s1, labels: {rollcall.dev/cluster: search}}
spec:
  replicas: 3
  podManagementPolicy: Parallel
  updateStrategy: {type: OnDelete}
  template:
    metadata: {labels: {app: solr, rollcall.dev/cluster: search}}
    spec:
      terminationGracePeriodSeconds: 300
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone}]
      containers:
        - name: solr
          image: solr:9.10
          readinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983}}
  volumeClaimTemplates: [{metadata: {name: data}}]
`

const pdb = `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: NAME, namespace: prod, annotations: {meta.helm.sh/release-name: search}}
spec: {selector: {matchLabels: {app: solr}}}
`

const netpol = `
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: solr, namespace: prod}
spec:
  podSelector: {matchLabels: {app: solr}}
  ingress: [RULES]
`

// examine returns "severity check: found | fix" of each finding.
func examine(t *testing.T, manifest string, change func(*Facts)) []string {
	t.Helper()
	f, err := Manifest([]byte(manifest))
	require.NoError(t, err)
	require.NoError(t, f.Only(nil))
	if change != nil {
		change(f)
	}
	return texts(Examine(f))
}

func texts(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, string(f.Severity)+" "+f.Check+": "+f.Found+" | "+f.Fix)
	}
	return out
}

// TestChecksOnAChart checks that each check says nothing of what is fine, and one thing of what is
// not.
func TestChecksOnAChart(t *testing.T) {
	require.Empty(t, examine(t, fine, nil))
	for name, tt := range map[string]struct {
		from, to string
		want     []string // parts of the findings, in order
	}{
		"grace period not set":      {"      terminationGracePeriodSeconds: 300\n", "", []string{"warning grace-period: terminationGracePeriodSeconds is not set, which is 30"}},
		"grace period of a handoff": {"terminationGracePeriodSeconds: 300", "terminationGracePeriodSeconds: 120", []string{"info grace-period: terminationGracePeriodSeconds is 120 and drain.timeoutSeconds 300"}},
		"preStop is taken":          {"image: solr:9.10", "lifecycle: {preStop: {exec: {command: [stop]}}}", []string{"warning agent: container solr has a preStop hook of its own"}},
		"preStop cannot be chained": {"image: solr:9.10", "lifecycle: {preStop: {httpGet: {port: 1}}}", []string{"warning agent: "}},
		"an odd annotation":         {"metadata: {labels: {app: solr, ", "metadata: {annotations: {rollcall.dev/container: other}, labels: {app: solr, ", []string{"error agent: the agent cannot be added"}},
		"no readiness":              {"          readinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8983}}\n", "", []string{"warning readiness: container solr has no readiness probe"}},
		"readiness by TCP":          {"httpGet: {path: /solr/admin/info/health, port: 8983}", "tcpSocket: {port: 8983}", []string{"warning readiness: the readiness probe of container solr is a TCP connection"}},
		"ordered":                   {"  podManagementPolicy: Parallel\n", "", []string{"warning ordered-ready: podManagementPolicy is OrderedReady"}},
		"one pod":                   {"replicas: 3", "replicas: 1", []string{"warning single-pod: "}},
		"not spread":                {"topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone}]", "affinity: {}", []string{"warning spread: nothing keeps its pods apart"}},
		"no volume":                 {"  volumeClaimTemplates: [{metadata: {name: data}}]\n", "", []string{"error volume: "}},
		"no volume and said so":     {"spec: {engine: Solr}", "spec: {engine: Solr, drain: {data: {restart: Lose}}}", nil},
		"rolling without guard":     {"spec: {engine: Solr}", "spec: {engine: Solr, guard: Audit}", nil},
		"label of the object only":  {", rollcall.dev/cluster: search}}\n    spec", "}}\n    spec", []string{"warning label: the label rollcall.dev/cluster is not in its pod template"}},
		"a role for all pods":       {", rollcall.dev/cluster: search}}\n    spec", ", rollcall.dev/cluster: search, rollcall.dev/role: primary}}\n    spec", []string{"error label: its pod template has the label rollcall.dev/role: primary"}},
		"label of the template":     {", labels: {rollcall.dev/cluster: search}}\nspec:\n  replicas", "}\nspec:\n  replicas", []string{"warning label: the label rollcall.dev/cluster is in its pod template only"}},
		"two labels":                {"uid: s1, labels: {rollcall.dev/cluster: search}", "uid: s1, labels: {rollcall.dev/cluster: searches}", []string{"error label: its label rollcall.dev/cluster is searches and that of its pod template search", "info database-cluster: "}},
		"no DatabaseCluster":        {"metadata: {name: search, namespace: prod}", "metadata: {name: other, namespace: prod}", []string{"info database-cluster: "}},
		"FoundationDB":              {"engine: Solr", "engine: FoundationDB", []string{"error client: there is no volume rollcall-client", "warning database-cluster: spec.engine of DatabaseCluster search is FoundationDB, and the image solr:9.10 of container solr is of Solr | set spec.engine: Solr, unless", "info localities: how fdbserver is started cannot be seen"}},
		"an unknown field":          {"  podManagementPolicy", "  volumeClaimTemplate: []\n  podManagementPolicy", []string{`error manifest: unknown field "spec.volumeClaimTemplate": Kubernetes leaves it out`}},
		"an unknown field of ours":  {"engine: Solr", "engine: Solr, policy: {maxUnavailble: 1}", []string{`error manifest: unknown field "spec.policy.maxUnavailble"`}},
		"a value that is none":      {"engine: Solr", "engine: Solr, policy: {unit: Zones, startSeconds: -3}", []string{`error spec: spec.policy.startSeconds is -3`, `error spec: spec.policy.unit is "Zones": must be one of Pod, Zone, All`}},
		"an engine in small":        {"engine: Solr", "engine: solr", []string{"error spec: spec.engine is "}},
		"another version of ours":   {"apiVersion: rollcall.dev/v1alpha1", "apiVersion: rollcall.dev/v1", []string{"error manifest: apiVersion rollcall.dev/v1 and kind DatabaseCluster are not known", "info database-cluster: "}},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := strings.Replace(fine, tt.from, tt.to, 1)
			require.NotEqual(t, fine, manifest, "the fixture changed")
			got := examine(t, manifest, nil)
			require.Len(t, got, len(tt.want), "%q", got)
			for i, want := range tt.want {
				require.Contains(t, got[i], want)
			}
		})
	}
	require.Contains(t, examine(t, strings.Replace(fine, "type: OnDelete", "type: RollingUpdate", 1), nil)[0], "error update-strategy: its updateStrategy is RollingUpdate and names no partition")
	rolling := strings.Replace(fine, "type: OnDelete", "type: RollingUpdate, rollingUpdate: {partition: 0}", 1)
	require.Contains(t, examine(t, rolling, nil)[0], "info update-strategy: its updateStrategy is RollingUpdate: its pods are held by the guard")
	require.Contains(t, examine(t, strings.Replace(rolling, "engine: Solr", "engine: Solr, guard: Audit", 1), nil)[0], "error update-strategy: ")
	require.Empty(t, examine(t, strings.Replace(rolling, "engine: Solr", "engine: Solr, update: {rollingUpdate: Partition}", 1), nil))
}

// TestRollingUpdateInObserve checks that nobody is told of a guard that Observe does not have: a label
// in the pod template would have Kubernetes roll all pods.
func TestRollingUpdateInObserve(t *testing.T) {
	observe := strings.Replace(fine, "engine: Solr", "engine: Solr, update: {mode: Observe}", 1)
	require.Empty(t, examine(t, observe, nil), "OnDelete needs no guard")
	for name, strategy := range map[string]string{"none is set": "", "no partition": "  updateStrategy: {type: RollingUpdate}\n", "a partition": "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}\n"} {
		t.Run(name, func(t *testing.T) {
			rolling := strings.Replace(observe, "  updateStrategy: {type: OnDelete}\n", strategy, 1)
			require.NotEqual(t, observe, rolling)
			got := examine(t, rolling, nil)
			require.Len(t, got, 1, "%q", got)
			require.Contains(t, got[0], "error update-strategy: its updateStrategy is RollingUpdate, and with update.mode Observe nothing is guarded: its pod template has the label rollcall.dev/cluster")
			require.Contains(t, got[0], "set updateStrategy: OnDelete before the pod template changes")

			got = examine(t, strings.Replace(rolling, "labels: {app: solr, rollcall.dev/cluster: search}", "labels: {app: solr}", 1), nil)
			require.Len(t, got, 2, "%q", got)
			require.Contains(t, got[0]+got[1], "warning update-strategy: its updateStrategy is RollingUpdate, and with update.mode Observe nothing is guarded: Kubernetes rolls each change")
			require.NotContains(t, got[0]+got[1], "held by the guard")
		})
	}
}

func TestBudgets(t *testing.T) {
	with := func(names ...string) string {
		out := fine
		for _, n := range names {
			out += strings.Replace(pdb, "NAME", n, 1)
		}
		return out
	}
	require.Empty(t, examine(t, with("search-rollcall"), nil), "Rollcall's own")
	got := examine(t, with("search-rollcall", "solr"), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "warning budget: PodDisruptionBudget solr selects its pods")
	require.Contains(t, got[0], "Helm release search")
	require.Contains(t, examine(t, with("solr-b", "solr-a"), nil)[0], "error budget: PodDisruptionBudgets solr-a and solr-b select its pods")
	require.Empty(t, examine(t, strings.ReplaceAll(with("solr"), "matchLabels: {app: solr}", "matchLabels: {app: other}"), nil), "of other pods")
}

func TestNetworkPolicies(t *testing.T) {
	const (
		pods        = `{from: [{podSelector: {matchLabels: {app: solr}}}], ports: [{port: 7946}, {port: 7946, protocol: UDP}, {port: 7947}]}`
		coordinator = `{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: rollcall-system}}, podSelector: {matchLabels: {app.kubernetes.io/component: coordinator}}}], ports: [{port: rc-grpc}]}`
	)
	for name, tt := range map[string]struct{ rules, closed string }{
		"all ports for everybody":  {"{}", ""},
		"what is needed":           {pods + ", " + coordinator, ""},
		"a range of ports":         {`{ports: [{port: 7000, endPort: 8000}, {port: 7000, endPort: 8000, protocol: UDP}]}`, ""},
		"any address":              {`{from: [{ipBlock: {cidr: 10.0.0.0/8}}]}`, ""},
		"nothing":                  {"", "TCP 7946 from other pods of the database (gossip between the agents); UDP 7946"},
		"the database's port only": {`{ports: [{port: 8983}]}`, "TCP 7947 from the coordinator (orders of the coordinator)"},
		"no UDP":                   {coordinator + `, {ports: [{port: 7946}, {port: 7947}]}`, "does not let through UDP 7946 from other pods of the database (gossip between the agents) |"},
		"not the coordinator":      {pods, "does not let through TCP 7947 from the coordinator"},
		"another namespace":        {pods + ", " + strings.Replace(coordinator, "rollcall-system", "other", 1), "does not let through TCP 7947 from the coordinator"},
		"other pods":               {strings.ReplaceAll(pods, "app: solr", "app: web") + ", " + coordinator, "TCP 7946 from other pods"},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, fine+strings.Replace(netpol, "RULES", tt.rules, 1), nil)
			if tt.closed == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], "error network-policy: NetworkPolicy solr does not let through")
			require.Contains(t, got[0], tt.closed)
			require.True(t, strings.HasSuffix(got[0], "rollcall enroll --network-policy --dry-run prints one"), got[0])
		})
	}
	egress := strings.Replace(strings.Replace(netpol, "ingress: [RULES]", "policyTypes: [Egress]\n  egress: [{ports: [{port: 53, protocol: UDP}]}]", 1), "name: solr,", "name: out,", 1)
	require.Contains(t, examine(t, fine+egress, nil)[0], "; what leaves the pods needs the second one of deploy/docs/network.md#in-the-namespaces-of-databases")
	require.Contains(t, examine(t, fine+egress, nil)[0], "NetworkPolicy out does not let through TCP 7946 to other pods of the database")
	require.Contains(t, examine(t, fine+egress+strings.Replace(netpol, "RULES", "{}", 1), nil)[0], "to other pods")
}

// live makes it a cluster without findings.
func live(f *Facts) {
	f.Live = &Live{Version: "v1.34.2", ControllersHaveAccounts: true, Install: "rollcall-system", Snapshots: map[string]*model.Snapshot{}}
}

func TestChecksOnACluster(t *testing.T) {
	require.Empty(t, examine(t, fine, live))
	yes := true
	pod := func(name, node string) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod", OwnerReferences: []metav1.OwnerReference{{UID: "s1", Controller: &yes}}},
			Spec:       corev1.PodSpec{NodeName: node},
		}
	}
	snapshot := func(text string) func(*Facts) {
		return func(f *Facts) {
			s, err := model.Decode([]byte(text))
			require.NoError(t, err)
			f.Live.Snapshots["prod/search"] = &s
		}
	}
	const start = `{"version": 1, "now": "2026-11-20T12:00:00Z", "cluster": {"namespace": "prod", "name": "search", "uid": "c", "spec": {"engine": "Solr"}}, "pools": [{"name": "solr", "replicas": 1, "revision": "v1"}], `
	for name, tt := range map[string]struct {
		manifest string
		change   func(*Facts)
		want     []string
	}{
		"old":                   {fine, func(f *Facts) { f.Live.Version = "v1.29.9-gke.1" }, []string{"error kubernetes-version: it is v1.29.9-gke.1"}},
		"the oldest":            {fine, func(f *Facts) { f.Live.Version = "v1.30.0+k3s1" }, nil},
		"one user":              {fine, func(f *Facts) { f.Live.ControllersHaveAccounts = false }, []string{"error controllers: "}},
		"one user, no guard":    {strings.Replace(fine, "engine: Solr", "engine: Solr, guard: \"Off\"", 1), func(f *Facts) { f.Live.ControllersHaveAccounts = false }, []string{"warning controllers: "}},
		"two pods on a node":    {fine, func(f *Facts) { f.Live.Pods = []corev1.Pod{pod("solr-1", "a"), pod("solr-0", "a"), pod("solr-2", "b")} }, []string{"warning spread: solr-0 and solr-1 are on a"}},
		"nodes without a zone":  {strings.Replace(fine, "engine: Solr", "engine: Solr, policy: {unit: Zone}", 1), func(f *Facts) { f.Live.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}} }, []string{"warning zones: "}},
		"no credentials":        {strings.Replace(fine, "engine: Solr", "engine: MySQL, update: {primary: RestartInPlace}", 1), nil, []string{"error credentials: there is no Secret prod/search-rollcall-credentials", "warning database-cluster: spec.engine of DatabaseCluster search is MySQL"}},
		"credentials elsewhere": {strings.Replace(fine, "engine: Solr", "engine: Solr, connection: {credentialsSecret: mine}", 1), nil, []string{"error credentials: there is no Secret prod/mine"}},
		"credentials":           {strings.Replace(fine, "engine: Solr", "engine: MySQL, update: {primary: RestartInPlace}", 1), func(f *Facts) { f.Secrets = []string{"prod/search-rollcall-credentials"} }, []string{"warning database-cluster: spec.engine of DatabaseCluster search is MySQL"}},
		"half of the credentials": {strings.Replace(fine, "engine: Solr", "engine: MySQL, update: {primary: RestartInPlace}", 1), func(f *Facts) {
			f.Secrets = []string{"prod/search-rollcall-credentials"}
			f.Live.SecretKeys = map[string][]string{"prod/search-rollcall-credentials": {"username"}}
		}, []string{"error credentials: Secret prod/search-rollcall-credentials has no password of the agents", "warning database-cluster: spec.engine of DatabaseCluster search is MySQL"}},
		"no DatabaseCluster":      {strings.Replace(fine, "metadata: {name: search, namespace: prod}", "metadata: {name: other, namespace: prod}", 1), nil, []string{"error database-cluster: "}},
		"no report":               {fine, snapshot(start + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "report": null}]}`), []string{"error reports: the coordinator has no report of solr-0"}},
		"clocks differ":           {fine, snapshot(start + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "report": {"uid": "u0", "clockSkewSeconds": 31}}, {"name": "solr-1", "uid": "u1", "pool": "solr", "ordinal": 1, "revision": "v1", "report": {"uid": "u1", "clockSkewSeconds": -300}}]}`), []string{"warning reports: the clocks of nodes differ from the coordinator's: solr-0 (31 s ahead), solr-1 (300 s behind)"}},
		"not a member":            {fine, snapshot(start + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "report": {"uid": "u0", "member": "NotLive"}}]}`), []string{"warning reports: in the database's own membership are not: solr-0 (NotLive)"}},
		"no agents yet":           {fine, snapshot(start + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "agent": false}]}`), []string{"info reports: 1 pods have no agent yet, such as solr-0"}},
		"no agents, nobody knows": {fine, snapshot(start + `"health": {"verdict": "Unknown", "reason": "no report"}, "pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "agent": false}]}`), []string{"info reports: 1 pods have no agent yet, such as solr-0"}},
		"single copies": {fine, snapshot(start + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "report": {"uid": "u0"}}],
			"groups": [{"id": "books/s2", "members": [{"id": "r1", "pod": "solr-0", "leader": true}]}, {"id": "books/s1", "members": [{"id": "r1", "pod": "solr-0", "leader": true}]}]}`),
			[]string{"warning holds: solr-0 has the only copy of books/s1 and 1 more: out of reach while it restarts (policy.unprotected: Allow)"}},
		"paused": {fine, snapshot(strings.Replace(start, `"uid": "c",`, `"uid": "c", "paused": true,`, 1) + `"pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v0", "report": {"uid": "u0"}}]}`), []string{"info holds: nothing would go now: paused: "}},
		"red":    {fine, snapshot(start + `"health": {"verdict": "Red", "reason": "2 shards"}, "pods": [{"name": "solr-0", "uid": "u0", "pool": "solr", "revision": "v1", "report": {"uid": "u0"}}]}`), []string{"warning reports: the database says Red: 2 shards"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := examine(t, tt.manifest, func(f *Facts) {
				live(f)
				if tt.change != nil {
					tt.change(f)
				}
			})
			require.Len(t, got, len(tt.want), "%q", got)
			for i, want := range tt.want {
				require.Contains(t, got[i], want)
			}
		})
	}
}

// TestOnly checks that a chart's ZooKeeper is left out unless it is named.
func TestOnly(t *testing.T) {
	zk := "\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: zk}}\n"
	for _, tt := range []struct {
		manifest string
		names    []string
		want     []string
		err      string
	}{
		{fine + zk, nil, []string{"solr"}, ""},
		{fine + zk, []string{"zk"}, []string{"zk"}, ""},
		{fine + zk, []string{"search"}, []string{"solr"}, ""},
		{zk, nil, []string{"zk"}, ""},
		{strings.ReplaceAll(fine, "rollcall.dev/cluster: search", "other: search") + zk, nil, []string{"solr"}, ""},
		{fine + zk, []string{"nobody"}, nil, "no StatefulSet is named nobody or belongs to a DatabaseCluster nobody; there are solr, zk"},
	} {
		f, err := Manifest([]byte(tt.manifest))
		require.NoError(t, err)
		if err := f.Only(tt.names); tt.err != "" {
			require.EqualError(t, err, tt.err)
			continue
		}
		var names []string
		for _, s := range f.Sets {
			names = append(names, s.Name)
		}
		require.Equal(t, tt.want, names)
	}
	require.Contains(t, examine(t, strings.ReplaceAll(fine, "rollcall.dev/cluster: search", "other: search")+zk, nil)[0], "info label: its image names no database that Rollcall knows, so it is not examined | nothing where it is none; else rollcall doctor zk")
}

// TestOrder checks that the worst findings come first, and that each check has its own name.
func TestOrder(t *testing.T) {
	got := examine(t, strings.Replace(strings.Replace(fine, "  podManagementPolicy: Parallel\n", "", 1), "  volumeClaimTemplates: [{metadata: {name: data}}]\n", "", 1), nil)
	require.Len(t, got, 2)
	require.True(t, strings.HasPrefix(got[0], "error "), got)
	seen := map[string]bool{}
	for _, name := range Names() {
		require.False(t, seen[name], name)
		seen[name] = true
	}
}

package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// TestWhatASwitchoverNeeds checks that each setting without which a switchover does not work is an
// error before anything restarts, and that what cannot be seen is none.
func TestWhatASwitchoverNeeds(t *testing.T) {
	fine := chart(t, "switchable", "engine: MySQL")
	require.Len(t, found(t, fine, nil), 1, "only its topology is named")
	mariadb := strings.NewReplacer("engine: MySQL", "engine: MariaDB", "mysql:9.4", "mariadb:11.4", "gtid_mode = ON", "log_bin", "enforce_gtid_consistency = ON", "log-slave-updates").Replace(fine)
	require.Len(t, found(t, mariadb, nil), 1)
	for name, tt := range map[string]struct {
		manifest, from, to string
		want               []string // parts of the findings besides the topology
	}{
		"writable":                   {fine, "read-only = 1", "read-only = 0", []string{"error configuration: super_read_only is not ON (ConfigMap stock, replication.cnf): a server that starts writable would come back as a second primary, so veto holds it | set read_only=ON in the configuration with which the servers start"}},
		"writable unless it is said": {fine, "    read-only = 1\n", "", []string{"error configuration: nothing sets super_read_only: "}},
		"writable by its arguments":  {fine, "[mysqld, --", "[mysqld, --skip-read-only, --", []string{"error configuration: super_read_only is not ON (the arguments of container mysql)"}},
		"no GTIDs":                   {fine, "    gtid_mode = ON\n", "", []string{"error configuration: nothing sets gtid_mode: a replica without GTIDs follows by position and cannot be given another source"}},
		"GTIDs on the way":           {fine, "gtid_mode = ON", "gtid_mode = ON_PERMISSIVE", []string{"error configuration: gtid_mode is not ON (ConfigMap stock, replication.cnf)"}},
		"inconsistent GTIDs":         {fine, "consistency = ON", "consistency = WARN_OFF", nil},
		"no report_host":             {fine, ", --report-host=$(POD_NAME).stock", "", []string{"error configuration: nothing sets report_host: nobody can be told to follow a server without it, so it is never promoted | give each server its own"}},
		"one report_host":            {fine, "$(POD_NAME).stock", "stock", []string{"error configuration: report_host is stock for all of its servers (the arguments of container mysql): the members know each other by it"}},
		"one server_id":              {fine, "$(NUMBER)", "7", []string{"error configuration: server_id is 7 for all of its servers (the arguments of container mysql): replication between servers of one server_id does not work"}},
		"no server_id":               {fine, "--server-id=$(NUMBER), ", "", []string{"warning configuration: nothing that can be seen sets server_id, which is 1 then"}},
		"no new pod":                 {fine, "read-only = 1", "super_read_only", []string{"warning configuration: super_read_only is ON (ConfigMap stock, replication.cnf), and the official image cannot make accounts on an empty volume with it"}},
		"a script":                   {fine, "[mysqld, --server-id=$(NUMBER), --report-host=$(POD_NAME).stock]", "[sh, -c, exec /start]", []string{"info configuration: it cannot be seen what sets report_host; not visible: what the script does that starts container mysql | "}},
		"no binary log":              {mariadb, "    log_bin\n", "", []string{"error configuration: nothing sets log_bin: a replica without GTIDs cannot be given another source"}},
		"nothing logged":             {mariadb, "    log-slave-updates\n", "", []string{"error configuration: nothing sets log_slave_updates: "}},
		"MariaDB that is writable":   {mariadb, "read-only = 1", "read-only = OFF", []string{"error configuration: read_only is not ON"}},
		"it stays where it is":       {strings.Replace(fine, "engine: MySQL", "engine: MySQL, update: {primary: RestartInPlace}", 1), "read-only = 1", "read-only = 0", nil},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := strings.Replace(tt.manifest, tt.from, tt.to, 1)
			require.NotEqual(t, tt.manifest, manifest, "the fixture changed")
			got := found(t, manifest, nil)
			require.Len(t, got, len(tt.want)+1, "%q", got)
			for _, want := range tt.want {
				require.Contains(t, strings.Join(got, "\n"), want)
			}
		})
	}
}

// TestAFixedPrimaryThatIsToSwitch checks that all that a chart lacks for a switchover is said with
// the values of that chart.
func TestAFixedPrimaryThatIsToSwitch(t *testing.T) {
	require.Len(t, found(t, chart(t, "fixed-primary", "engine: MySQL"), nil), 1, "as it is, nothing is asked for")
	got := found(t, chart(t, "fixed-primary", "engine: MySQL, update: {primary: Switchover}"), nil)
	for i, want := range []string{
		"error service: it selects shop-main-0 only (app.kubernetes.io/component: primary): after a switchover it leads to a read-only server, and clients cannot write | select by rollcall.dev/role: primary instead of app.kubernetes.io/component: primary: the coordinator keeps that label on the primary's pod; where the chart has no value for that, make a Service of your own with the selector rollcall.dev/cluster: db, rollcall.dev/role: primary, and have clients use it. Or set spec.update.primary: RestartInPlace",
		"error configuration: nothing sets super_read_only (MYSQL_REPLICATION_MODE is master): a server that starts writable would come back as a second primary, so veto holds it | add --read-only=ON to primary.extraFlags, or read_only=ON to primary.configuration, in the values of chart mysql-14.0.5; what SET PERSIST",
		"error configuration: nothing sets gtid_mode: a replica without GTIDs follows by position and cannot be given another source | add --gtid-mode=ON to primary.extraFlags",
		"error configuration: nothing sets enforce_gtid_consistency",
		"error configuration: nothing sets report_host: nobody can be told to follow a server without it, so it is never promoted | add --report-host=shop-main-0.shop-main-pods, by which the others reach it, to primary.extraFlags in the values of chart mysql-14.0.5",
		"error configuration: nothing sets gtid_mode: a replica without GTIDs follows by position and cannot be given another source | add --gtid-mode=ON to secondary.extraFlags, or gtid_mode=ON to secondary.configuration",
		"error configuration: nothing sets enforce_gtid_consistency",
		"error configuration: nothing sets report_host: nobody can be told to follow a server without it, so it is never promoted | give each server its own, by which the others reach it: an argument --report-host=$(POD_NAME).SERVICE, with POD_NAME from metadata.name",
		"warning configuration: its servers follow shop-main: where that is not the name of a pod",
		"info topology: fixed primary: StatefulSet shop-main has one server that accepts writes (MYSQL_REPLICATION_MODE is master), shop-secondary follows Service shop-main | spec.update.primary is Switchover, so the primary hands over to a replica",
	} {
		require.Contains(t, got[i], want)
	}
	require.Len(t, got, 10)
	require.Contains(t, strings.Join(found(t, strings.ReplaceAll(chart(t, "fixed-primary", "engine: MariaDB, update: {primary: Switchover}"), "bitnami/mysql:", "bitnami/mariadb:"), nil), "\n"),
		"warning configuration: its servers make up a server_id of three digits at each start (MYSQL_REPLICATION_MODE=master)")
}

// TestGaleraIsAskedForNothing checks that members may have equal server ids, and that the engine is
// the right one.
func TestGaleraIsAskedForNothing(t *testing.T) {
	got := found(t, chart(t, "galera-environment", "engine: MariaDB"), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "error topology: spec.engine is MariaDB, and these are members of Galera: StatefulSet ledger: wsrep_on is ON")
	got = found(t, chart(t, "galera-environment", "engine: Galera"), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "info topology: Galera: StatefulSet ledger: wsrep_on is ON")
	got = found(t, chart(t, "single-server", "engine: Galera"), nil)
	require.Len(t, got, 1)
	require.Contains(t, got[0], "error topology: spec.engine is Galera, and it looks like single server")
	off := strings.Replace(chart(t, "galera-environment", ""), "wsrep_on=ON", "wsrep_on=OFF", 1)
	require.NotContains(t, strings.Join(found(t, off, nil), "\n"), "Galera: ", "a server that says that it is off")
}

// TestMembersThatNeverGo checks that what keeps all members of Galera from going is said before they
// are enrolled.
func TestMembersThatNeverGo(t *testing.T) {
	for _, name := range []string{"galera-environment", "galera-included"} {
		fine := chart(t, name, "engine: Galera")
		before := len(found(t, fine, nil))
		got := found(t, strings.Replace(fine, "replicas: 3", "replicas: 2", 1), nil)
		require.Len(t, got, before+1)
		require.Contains(t, strings.Join(got, "\n"), "warning topology: it has 2 of at least 3 members: what is left without one of them is no majority, so quorum holds each | three members, or an arbitrator (garbd)")
		got = found(t, strings.Replace(fine, "    wsrep_on=ON\n", "    wsrep_on=ON\n    wsrep_provider_options=\"gcache.size=1G; pc.ignore_sb = yes\"\n", 1), nil)
		require.Len(t, got, before+1)
		require.Contains(t, strings.Join(got, "\n"), "error topology: pc.ignore_sb = yes (ConfigMap ")
		require.Len(t, found(t, strings.Replace(fine, "    wsrep_on=ON\n", "    wsrep_on=ON\n    wsrep_provider_options=\"pc.ignore_quorum=no\"\n", 1), nil), before)
	}
}

// TestServicesThatAreLeftBehind checks which Services a switchover leaves behind.
func TestServicesThatAreLeftBehind(t *testing.T) {
	for name, tt := range map[string]struct{ selector, want string }{
		"the role":                {"{app: stock, rollcall.dev/role: primary}", ""},
		"replicas by the role":    {"{app: stock, rollcall.dev/role: replica}", ""},
		"all of them":             {"{app: stock}", ""},
		"other pods":              {"{app: other, statefulset.kubernetes.io/pod-name: stock-0}", ""},
		"the first pod":           {"{app: stock, statefulset.kubernetes.io/pod-name: stock-0}", "error service: it selects stock-0 only (statefulset.kubernetes.io/pod-name: stock-0): after a switchover it leads to a read-only server, and clients cannot write | select by rollcall.dev/role: primary instead of statefulset.kubernetes.io/pod-name: stock-0"},
		"the first by its number": {`{app: stock, apps.kubernetes.io/pod-index: "0"}`, "error service: it selects stock-0 only (apps.kubernetes.io/pod-index: 0)"},
		"another pod":             {"{app: stock, statefulset.kubernetes.io/pod-name: stock-1}", "warning service: it selects stock-1 only (statefulset.kubernetes.io/pod-name: stock-1): if clients write there"},
		"somebody's label":        {"{app: stock, role: master}", "info service: it selects by role: master, which is not in the pod template: who keeps that label has to follow each switchover"},
		"an operator's label":     {"{app: stock, mysql.oracle.com/cluster-role: PRIMARY}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := strings.Replace(chart(t, "switchable", "engine: MySQL"), "{app: stock, rollcall.dev/role: primary}", tt.selector, 1)
			manifest = strings.Replace(manifest, "{statefulset.kubernetes.io/pod-name: stock-1}", "{app: nothing}", 1) // no longer one for each
			manifest = strings.Replace(manifest, "{statefulset.kubernetes.io/pod-name: stock-0}", "{app: nothing}", 1)
			got := found(t, manifest, nil)
			if tt.want == "" {
				require.Len(t, got, 1, "%q", got)
				return
			}
			require.Len(t, got, 2, "%q", got)
			require.Contains(t, strings.Join(got, "\n"), tt.want)
			kept := found(t, strings.Replace(manifest, "engine: MySQL", "engine: MySQL, update: {primary: RestartInPlace}", 1), nil)
			require.Len(t, kept, 1, "the primary stays where it is")
		})
	}
	odd := strings.Replace(chart(t, "switchable", "engine: MySQL"), "rollcall.dev/role: primary}", "rollcall.dev/role: master}", 1)
	require.Contains(t, strings.Join(found(t, odd, nil), "\n"), "error service: it selects by rollcall.dev/role: master, which no pod has: nobody is behind it | select by rollcall.dev/role: primary for writes")
	for name, ports := range map[string]string{"the metrics": "[{port: 9104}]", "the group": "[{port: 33061}]", "of another container": "[{port: 80, targetPort: web}]"} {
		manifest := strings.Replace(chart(t, "switchable", "engine: MySQL"), "ports: [{port: 3306}]\n  selector: {app: stock, rollcall.dev/role: primary}", "ports: "+ports+"\n  selector: {app: stock, statefulset.kubernetes.io/pod-name: stock-0}", 1)
		manifest = strings.Replace(manifest, "{statefulset.kubernetes.io/pod-name: stock-1}", "{app: nothing}", 1)
		manifest = strings.Replace(manifest, "{statefulset.kubernetes.io/pod-name: stock-0}", "{app: nothing}", 1)
		require.Len(t, found(t, manifest, nil), 1, name)
	}
}

// TestServicesOfARunningDatabase checks that where the primary is known the Service that leads to
// it counts, and that the topology is the one that agents report.
func TestServicesOfARunningDatabase(t *testing.T) {
	manifest := strings.Replace(chart(t, "switchable", "engine: MySQL"), "{app: stock, rollcall.dev/role: primary}", "{app: stock, statefulset.kubernetes.io/pod-name: stock-1}", 1)
	manifest = strings.Replace(manifest, "{statefulset.kubernetes.io/pod-name: stock-0}", "{app: nothing}", 1)
	running := func(primary string, topology model.Topology) func(*Facts) {
		return func(f *Facts) {
			live(f)
			f.Secrets = []string{"prod/db-rollcall-credentials"}
			s := model.Snapshot{Cluster: model.Cluster{Namespace: "prod", Name: "db", Topology: topology}, Groups: []model.Group{{ID: "primary", Members: []model.Member{{ID: primary, Pod: primary, Leader: true}}}}}
			f.Live.Snapshots["prod/db"] = &s
		}
	}
	require.Contains(t, strings.Join(found(t, manifest, running("stock-1", model.TopologySwitchable)), "\n"), "error service: it selects stock-1 only")
	require.Contains(t, strings.Join(found(t, manifest, running("stock-0", model.TopologySwitchable)), "\n"), "warning service: it selects stock-1 only")
	got := strings.Join(found(t, manifest, running("stock-1", model.TopologyFixedPrimary)), "\n")
	require.Contains(t, got, "info topology: fixed primary: the agents report it")
	require.NotContains(t, got, "service")
}

// TestServicesThatCouldNotBeRead checks that nobody goes on without knowing where clients write.
func TestServicesThatCouldNotBeRead(t *testing.T) {
	unread := func(f *Facts) {
		live(f)
		f.Secrets, f.Services = []string{"prod/db-rollcall-credentials"}, nil
		f.Live.Tried("Services", errors.New("forbidden"))
	}
	got := found(t, chart(t, "switchable", "engine: MySQL"), unread)
	require.Contains(t, got[0], "error service: it is not known whether a switchover leaves a Service for writes behind: Services: forbidden")
	require.NotContains(t, strings.Join(found(t, chart(t, "switchable", "engine: MySQL, update: {primary: RestartInPlace}"), unread), "\n"), "service")
	require.NotContains(t, strings.Join(found(t, chart(t, "galera-environment", "engine: Galera"), unread), "\n"), "service")
}

// TestTheDatabasesContainer checks that a helper that stands first is not taken for the database, and
// that a person is asked where nothing tells which container it is.
func TestTheDatabasesContainer(t *testing.T) {
	manifest := strings.Replace(chart(t, "galera-included", ""), ", annotations: {rollcall.dev/container: mariadb}", "", 1)
	require.Contains(t, manifest, "name: metrics")
	require.NotContains(t, strings.Join(found(t, manifest, nil), "\n"), " container: ")
	unsure := strings.Replace(fine, "        - name: solr\n          image: solr:9.10\n", "        - {name: web, image: \"ours:1\"}\n        - name: solr\n          image: ours:2\n", 1)
	require.Contains(t, examine(t, unsure, nil)[0], "warning container: neither image nor port tells which of the containers web, solr is the database's: the agent would be made for web | annotate the pod template with rollcall.dev/container: NAME")
}

// TestATopologyThatCannotBeTold checks that it is asked for, with what cannot be seen.
func TestATopologyThatCannotBeTold(t *testing.T) {
	manifest := strings.Replace(chart(t, "switchable", "engine: MySQL"), "configMap: {name: stock}", "configMap: {name: gone}", 1)
	got := found(t, manifest, nil)
	require.Len(t, got, 1, "%q", got)
	require.Contains(t, got[0], "warning topology: topology not known: nothing that can be seen says how its servers replicate; not visible: ConfigMap gone, which is /etc/mysql/conf.d | say it in the DatabaseCluster")
	said := strings.Replace(manifest, "engine: MySQL", "engine: MySQL, update: {primary: RestartInPlace}", 1)
	require.Empty(t, found(t, said, nil))
}

// TestRolesThatDoNotFit checks that roles that can be seen are named where they make no database with
// one primary.
func TestRolesThatDoNotFit(t *testing.T) {
	fixed := chart(t, "fixed-primary", "")
	main, secondary := strings.Index(fixed, "kind: StatefulSet"), strings.LastIndex(fixed, "kind: StatefulSet")
	require.Less(t, main, secondary)
	apart := strings.LastIndex(fixed[:secondary], "---")
	alone := fixed[:strings.LastIndex(fixed[:main], "---")] + fixed[apart:]
	for manifest, want := range map[string]string{
		strings.Replace(alone, "value: shop-main}", "value: db.example.com}", 1):                          "warning topology: topology not known: StatefulSet shop-secondary has replicas only (MYSQL_REPLICATION_MODE is slave), and their primary, db.example.com, is none of its servers",
		strings.Replace(fixed, "replicas: 1", "replicas: 2", 1):                                           "warning topology: topology not known: StatefulSet shop-main has 2 servers that start as the primary (MYSQL_REPLICATION_MODE is master), and a database has one",
		strings.NewReplacer("value: slave", "value: master", "replicas: 2", "replicas: 1").Replace(fixed): "warning topology: topology not known: StatefulSets shop-main and shop-secondary both start as the primary (MYSQL_REPLICATION_MODE is master), and a database has one",
		strings.Replace(chart(t, "switchable", ""), "mysql:9.4", "percona/percona-server:8.4", 1):         "info topology: switchable: its servers start read-only",
	} {
		require.Contains(t, strings.Join(found(t, manifest, nil), "\n"), want, manifest)
	}
}

// TestOtherStatefulSetsOfADatabase checks that one of them is not taken for the whole.
func TestOtherStatefulSetsOfADatabase(t *testing.T) {
	f, err := Manifest([]byte(chart(t, "fixed-primary", "")))
	require.NoError(t, err)
	require.NoError(t, f.Only([]string{"shop-main"}))
	require.Len(t, f.Sets, 1)
	got := strings.Join(texts(Examine(f)), "\n")
	require.Contains(t, got, "info topology: fixed primary: ")
	require.NotContains(t, got, "single")
	require.Equal(t, []string{"shop-main"}, f.NamedConfigMaps())
}

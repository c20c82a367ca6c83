package enroll

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// charted are the facts of a chart of the doctor's tests.
func charted(t *testing.T, name string) *doctor.Facts {
	t.Helper()
	data, err := os.ReadFile("../doctor/testdata/databases/" + name + ".yaml")
	require.NoError(t, err)
	f, err := doctor.Manifest(data)
	require.NoError(t, err)
	f.Live = &doctor.Live{ControllersHaveAccounts: true, Install: "rollcall-system"}
	return f
}

// TestChartsAreEnrolledByTheirTopology checks what is written for a chart of each topology.
func TestChartsAreEnrolledByTheirTopology(t *testing.T) {
	for name, tt := range map[string]struct {
		sets    []string
		engine  model.Engine
		primary model.Primary
		begins  string // the line that says it
		ends    string
	}{
		"fixed-primary": {[]string{"shop-main", "shop-secondary"}, model.MySQL, model.PrimaryRestartInPlace,
			"topology FixedPrimary: StatefulSet shop-main has one server that accepts writes", "; its primary restarts in place, last, and nobody writes meanwhile"},
		"galera-environment": {[]string{"ledger"}, model.Galera, "", "topology Galera: StatefulSet ledger", "; each member takes writes, and one after the other leaves and comes back"},
		"galera-included":    {[]string{"orders"}, model.Galera, "", "topology Galera: StatefulSet orders", ""},
		"group-replication":  {[]string{"team"}, model.MySQL, "", "topology GroupReplication: StatefulSet team", "; its primary hands over to another member, last"},
		"single-server": {[]string{"blog"}, model.MariaDB, model.PrimaryRestartInPlace,
			"topology SingleServer: StatefulSet blog has one server", "; it restarts in place, and nobody reads or writes meanwhile"},
		"switchable": {[]string{"stock"}, model.MySQL, "", "topology Switchable: its servers ", "; its primary hands over to a replica, last"},
	} {
		p, err := Decide(charted(t, name), options(tt.sets...))
		require.NoError(t, err, name)
		require.Equal(t, tt.engine, p.Cluster.Spec.Engine, name)
		require.Equal(t, tt.primary, p.Cluster.Spec.Update.Primary, name)
		require.NotEmpty(t, p.Why, name)
		require.True(t, strings.HasPrefix(p.TopologyLine(), tt.begins), p.TopologyLine())
		require.True(t, strings.HasSuffix(p.TopologyLine(), tt.ends), p.TopologyLine())
	}
}

// TestPrimaryIsAsked checks that a person may say what the primary does, and must where nothing
// tells it.
func TestPrimaryIsAsked(t *testing.T) {
	o := options("db")
	_, err := Decide(facts(set("db", "mysql")), o)
	require.ErrorContains(t, err, "it cannot be told how the servers of StatefulSet db replicate: nothing that can be seen says how its servers replicate\nSay it: --primary Switchover where ")
	for _, primary := range []model.Primary{model.PrimarySwitchover, model.PrimaryRestartInPlace, model.PrimaryHold} {
		o.Primary = primary
		p, err := Decide(facts(set("db", "mysql")), o)
		require.NoError(t, err)
		require.Equal(t, primary, p.Cluster.Spec.Update.Primary)
	}
	o.Primary, o.Engine = "", model.MySQL
	_, err = Decide(facts(set("db", "registry.example/ours:1")), o)
	require.ErrorContains(t, err, "not visible: what the image registry.example/ours:1 brings\nSay it: ")
	p, err := Decide(facts(set("db", "registry.example/ours:1", switchable)), o)
	require.NoError(t, err)
	require.Equal(t, model.TopologySwitchable, p.Topology)
	o.Engine = ""
	there := cluster("db", model.Spec{Engine: model.MySQL})
	_, err = Decide(with(facts(set("db", "mysql", labelled("db"))), there), o)
	require.NoError(t, err, "what is there is left as it is")
	o.Primary = model.PrimaryHold
	_, err = Decide(with(facts(set("db", "mysql", labelled("db"))), there), o)
	require.ErrorContains(t, err, `--primary is Hold, and DatabaseCluster db, which is there and is left as it is, has spec.update.primary: ""`)
	_, err = Decide(facts(set("db", "solr")), o)
	require.ErrorContains(t, err, "--primary is Hold: it is for MySQL and MariaDB, and this is Solr")
	_, err = Decide(charted(t, "galera-included"), Options{Namespace: "prod", Sets: []string{"orders"}, Primary: model.PrimaryHold})
	require.ErrorContains(t, err, "each member of Galera takes writes")
	_, err = Decide(charted(t, "galera-included"), Options{Namespace: "prod", Sets: []string{"orders"}, Engine: model.MariaDB})
	require.ErrorContains(t, err, "--engine is MariaDB, and these are members of Galera: StatefulSet orders: wsrep_on is ON")

	got, err := ParsePrimary("restartinplace")
	require.NoError(t, err)
	require.Equal(t, model.PrimaryRestartInPlace, got)
	_, err = ParsePrimary("never")
	require.EqualError(t, err, `--primary is "never": must be one of Switchover, RestartInPlace, Hold`)
}

// TestAllStatefulSetsOfADatabaseAreNamed checks that a primary is not enrolled without its replicas.
func TestAllStatefulSetsOfADatabaseAreNamed(t *testing.T) {
	f := charted(t, "fixed-primary")
	for _, one := range []string{"shop-main", "shop-secondary"} {
		_, err := Decide(f, options(one))
		require.ErrorContains(t, err, "name both, for one DatabaseCluster: rollcall enroll shop-main shop-secondary -n prod --name shop")
	}
	for i := range f.Sets {
		f.Sets[i].Spec.Template.Labels = map[string]string{"component": f.Sets[i].Name}
	}
	f.Services = f.Services[:1]
	f.Services[0].Spec.Selector = map[string]string{"component": "shop-main"}
	_, err := Decide(f, options("shop-secondary"))
	require.ErrorContains(t, err, "StatefulSet shop-main is of the same database as shop-secondary", "its servers follow the Service of the other")
	p, err := Decide(f, Options{Namespace: "prod", Sets: []string{"shop-main", "shop-secondary"}, Name: "shop"})
	require.NoError(t, err)
	require.Len(t, p.Steps, 3)
	f.Sets[1].Spec.Template.Labels[v1alpha1.LabelCluster] = "shop"
	_, err = Decide(f, Options{Namespace: "prod", Sets: []string{"shop-main"}, Name: "shop"})
	require.ErrorContains(t, err, "name both", "a label of its pods alone puts nothing under Rollcall")
	f.Sets[1].Labels = map[string]string{v1alpha1.LabelCluster: "other"}
	f.Sets[0].Labels = map[string]string{v1alpha1.LabelCluster: "shop"}
	_, err = Decide(f, options("shop-main"))
	require.NoError(t, err, "a person has said that they are two databases")
}

// TestLeftByTopology checks that the values of the chart are named, and who restarts how.
func TestLeftByTopology(t *testing.T) {
	left := func(name string, o Options) string {
		p, err := Decide(charted(t, name), o)
		require.NoError(t, err)
		return p.Left("rollcall", nil)
	}
	got := left("fixed-primary", Options{Namespace: "prod", Sets: []string{"shop-main", "shop-secondary"}, Name: "shop"})
	require.Contains(t, got, "        primary:\n          podLabels:\n            rollcall.dev/cluster: shop\n        secondary:\n          podLabels:\n            rollcall.dev/cluster: shop\n")
	require.Contains(t, got, "Replicas go first. Nobody can write while the primary, shop-main-0, restarts, last.\n")
	require.Contains(t, got, "Follow it to its end.")
	require.NotContains(t, got, "Delete")
	require.NotContains(t, got, "which goes first")
	got = left("galera-environment", options("ledger"))
	require.Contains(t, got, "        podLabels:\n          rollcall.dev/cluster: ledger\n")
	require.NotContains(t, got, "primary")
	require.Contains(t, left("single-server", options("blog")), "nobody can read or write meanwhile.")
	held := options("blog")
	held.Primary = model.PrimaryHold
	require.Contains(t, left("single-server", held), "It waits until spec.update.primary is RestartInPlace.")
	p, err := Decide(charted(t, "single-server"), held)
	require.NoError(t, err)
	require.Contains(t, p.TopologyLine(), "and nothing follows it; it waits for a person")
	rolled := charted(t, "fixed-primary")
	for i := range rolled.Sets {
		rolled.Sets[i].Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	}
	p, err = Decide(rolled, Options{Namespace: "prod", Sets: []string{"shop-main", "shop-secondary"}, Name: "shop"})
	require.NoError(t, err)
	require.Contains(t, p.Left("rollcall", nil), "so far: primary.updateStrategy.rollingUpdate.partition: 0 and secondary.updateStrategy.rollingUpdate.partition: 0.")
	require.Contains(t, left("group-replication", options("team")), "The group elects another primary when the pod of its primary restarts.\n")
}

// TestWhichGaleraIsEnrolled checks that members of MariaDB are told by their ports, as an operator makes
// them, and that what its adapter refuses is not enrolled, whatever the user calls it.
func TestWhichGaleraIsEnrolled(t *testing.T) {
	operator := set("db", "mariadb-operator/mariadb-operator:25", func(s *appsv1.StatefulSet) {
		var ports []corev1.ContainerPort
		for _, port := range []int32{3306, 4567, 4568, 4444} {
			ports = append(ports, corev1.ContainerPort{ContainerPort: port})
		}
		s.Spec.Template.Spec.Containers = append(s.Spec.Template.Spec.Containers, corev1.Container{Name: "mariadb", Image: "mariadb:11.4", Ports: ports})
	})
	p, err := Decide(facts(operator), options("db"))
	require.NoError(t, err)
	require.Equal(t, model.Galera, p.Cluster.Spec.Engine)

	for _, image := range []string{"percona/percona-xtradb-cluster:8.0", "registry.example/ours-pxc:8"} {
		operator.Spec.Template.Spec.Containers[1].Image = image
		for _, engine := range []model.Engine{"", model.Galera, model.MySQL} {
			o := options("db")
			o.Engine = engine
			_, err = Decide(facts(operator), o)
			require.EqualError(t, err, "the image "+image+" of StatefulSet db is Percona XtraDB Cluster, which is not supported: agents refuse its servers (deploy/docs/compatibility.md)")
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// mysql is a StatefulSet of servers that start as its ConfigMap says.
func mysql(name string) *appsv1.StatefulSet {
	return solr(name, func(s *appsv1.StatefulSet) {
		c := &s.Spec.Template.Spec.Containers[0]
		c.Image, c.Args = "mysql:9.7", []string{"--report-host=$(POD_NAME).db", "--server-id=$(ID)"}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: "/etc/mysql/conf.d"}}
		s.Spec.Template.Labels = map[string]string{"app": name}
		s.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name + "-config"}},
		}}}
	})
}

// withMySQL gives the world the Secret, the configuration and the write Service of a database.
func withMySQL(e *enrollWorld, name, configuration string, selector map[string]string) {
	e.set(secretsPath+name+"-rollcall-credentials", &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-rollcall-credentials", Namespace: "prod"},
		Data:       map[string][]byte{"username": []byte("rollcall"), "password": []byte("secret")},
	})
	e.set("/api/v1/namespaces/prod/configmaps/"+name+"-config", &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-config", Namespace: "prod"}, Data: map[string]string{"my.cnf": configuration},
	})
	service := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name + "-writes", Namespace: "prod"}}
	service.Spec.Selector, service.Spec.Ports = selector, []corev1.ServicePort{{Port: 3306}}
	e.set("/api/v1/namespaces/prod/services", corev1.ServiceList{Items: []corev1.Service{service}})
}

const switchable = "[mysqld]\nsuper_read_only=ON\ngtid_mode=ON\nenforce_gtid_consistency=ON\n"

// A Service that a switchover would leave behind is named, and nothing is written, until it is
// changed or the primary is to stay where it is.
func TestEnrollKeepsWritesWithThePrimary(t *testing.T) {
	first := map[string]string{"app": "search", "statefulset.kubernetes.io/pod-name": "search-0"}
	e := newEnrollWorld(t, rolling(t), mysql("search"))
	withMySQL(e, "search", switchable, first)
	code, _, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFindings, code, stderr)
	said := strings.Join(strings.Fields(stderr), " ")
	require.True(t, strings.HasPrefix(stderr, "topology Switchable: its servers start read-only (ConfigMap search-config, my.cnf); its primary hands over to a replica, last\n"), stderr)
	require.Contains(t, said, "error service Service prod/search-writes it selects search-0 only")
	require.Contains(t, said, "nothing was written")
	require.Empty(t, e.writes)

	out := e.must("enroll", "search", "--primary", "RestartInPlace")
	require.True(t, strings.HasPrefix(out, "topology Switchable: "), out)
	require.Contains(t, out, "the agents' account needs: GRANT REPLICATION CLIENT, ")
	require.Contains(t, out, "databasecluster/search created")
	require.Contains(t, out, "its primary restarts in place, last, and nobody writes meanwhile\n")
	require.Equal(t, model.PrimaryRestartInPlace, e.made.Spec.Update.Primary)

	e = newEnrollWorld(t, rolling(t), mysql("search"))
	withMySQL(e, "search", switchable, map[string]string{"app": "search", "rollcall.dev/role": "primary"})
	e.must("enroll", "search")
	require.Empty(t, e.made.Spec.Update.Primary)
}

// What a topology needs is read from the cluster; what cannot be told is asked.
func TestEnrollAsksForATopologyThatItCannotSee(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), mysql("search"))
	withMySQL(e, "search", switchable, map[string]string{"app": "search"})
	delete(e.objects, "/api/v1/namespaces/prod/configmaps/search-config")
	code, _, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "it cannot be told how the servers of StatefulSet search replicate: nothing that can be seen says how its servers replicate; not visible: ConfigMap search-config")
	require.Empty(t, e.writes)
	code, _, stderr = e.run("enroll", "search", "--primary", "sometimes")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, `--primary is "sometimes": must be one of Switchover, RestartInPlace, Hold`)
	e.must("enroll", "search", "--primary", "hold")
	require.Equal(t, model.PrimaryHold, e.made.Spec.Update.Primary)
}

// An image whose name does not tell the database is examined as what the user says that it is.
func TestEnrollReadsTheConfigurationOfOtherImages(t *testing.T) {
	other := mysql("search")
	other.Spec.Template.Spec.Containers[0].Image = "registry.example/db-core:5"
	e := newEnrollWorld(t, rolling(t), other)
	withMySQL(e, "search", switchable, map[string]string{"app": "search", "rollcall.dev/role": "primary"})
	code, _, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "does not say which database it is: set --engine to one of ")
	out := e.must("enroll", "search", "--engine", "MySQL")
	require.True(t, strings.HasPrefix(out, "topology Switchable: its servers start read-only (ConfigMap search-config, my.cnf)"), out)
}

// The doctor reads the same of a cluster as of a chart.
func TestDoctorReadsConfiguration(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), mysql("search"))
	withMySQL(e, "search", strings.Replace(switchable, "super_read_only=ON", "super_read_only=OFF", 1), map[string]string{"app": "search"})
	code, stdout, stderr := e.run("doctor", "search")
	require.Equal(t, cli.ExitFindings, code, stderr)
	require.Contains(t, strings.Join(strings.Fields(stdout), " "), "error configuration StatefulSet prod/search super_read_only is not ON (ConfigMap search-config, my.cnf)")
	require.NotContains(t, stderr, "ConfigMap")
}

package database

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// pod is the template of a StatefulSet, in YAML.
func pod(t *testing.T, spec string) *appsv1.StatefulSet {
	t.Helper()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: "prod"}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &set.Spec.Template.Spec))
	return set
}

func configMap(name string, data map[string]string) corev1.ConfigMap {
	return corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod"}, Data: data}
}

func read(t *testing.T, spec string, maps ...corev1.ConfigMap) Settings {
	t.Helper()
	set := pod(t, spec)
	return settingsOf(set, Container(&set.Spec.Template), Objects{ConfigMaps: maps})
}

// TestWhereSettingsAreFrom checks the places that servers take their settings from, and their order.
func TestWhereSettingsAreFrom(t *testing.T) {
	own := configMap("own", map[string]string{"my.cnf": "[mysqld]\nserver_id=1\nreport_host=a\n", "other": "[mysqld]\nread_only=ON\n"})
	more := configMap("more", map[string]string{"x": "[mysqld]\nserver_id=2\n"})
	s := read(t, `
containers:
  - name: exporter
    image: prom/mysqld-exporter
    args: [--server-id=9]
  - name: db
    image: mysql:9
    args: [--report-host=b, --gtid-mode, "ON"]
    env: [{name: MYSQL_EXTRA_FLAGS, value: "--log-bin=here --report-host=c"}]
    volumeMounts: [{name: own, mountPath: /etc/my.cnf, subPath: my.cnf}, {name: more, mountPath: /etc/mysql/conf.d}]
volumes:
  - {name: own, configMap: {name: own}}
  - {name: more, projected: {sources: [{configMap: {name: more, items: [{key: x, path: y.cnf}]}}]}}
`, own, more)
	require.Empty(t, s.Hidden)
	require.Equal(t, []string{"gtid_mode", "log_bin", "report_host", "server_id"}, s.Names())
	for name, want := range map[string]Setting{
		"server_id": {"2", "ConfigMap more, x"}, "report_host": {"b", "the arguments of container db"}, "log_bin": {"here", "the chart's extra flags"}, "gtid_mode": {"", "the arguments of container db"},
	} {
		got, there := s.Get(name)
		require.True(t, there)
		require.Equal(t, want, got, name)
	}
	only := read(t, `
containers:
  - {name: db, image: "mysql:9", args: [--defaults-file=/etc/my.cnf], volumeMounts: [{name: own, mountPath: /etc/my.cnf, subPath: my.cnf}, {name: more, mountPath: /etc/mysql/conf.d}]}
volumes: [{name: own, configMap: {name: own}}, {name: more, configMap: {name: more, items: [{key: x, path: y.cnf}]}}]
`, own, more)
	got, _ := only.Get("server_id")
	require.Equal(t, "1", got.Value, "other files are not read")
}

// TestWhatCannotBeSeen checks that it is named.
func TestWhatCannotBeSeen(t *testing.T) {
	for spec, want := range map[string]string{
		`containers: [{name: db, image: "team/our-mysql-build:1"}]`:                                                                                                                                                                                "what the image team/our-mysql-build:1 brings",
		`containers: [{name: db, image: "mysql:9", command: [bash, -c, "mysqld --server-id=$RANDOM"]}]`:                                                                                                                                            "what the script does that starts container db",
		`{containers: [{name: db, image: "mysql:9", volumeMounts: [{name: c, mountPath: /etc/mysql/conf.d}]}], volumes: [{name: c, configMap: {name: gone}}]}`:                                                                                     "ConfigMap gone, which is /etc/mysql/conf.d",
		`{containers: [{name: db, image: "mysql:9", volumeMounts: [{name: c, mountPath: /etc/my.cnf.d}]}], volumes: [{name: c, emptyDir: {}}]}`:                                                                                                    "/etc/my.cnf.d, which is of volume c",
		`{containers: [{name: db, image: "mysql:9", volumeMounts: [{name: c, mountPath: /etc/mysql/my.cnf}]}], volumes: [{name: c, secret: {secretName: s}}]}`:                                                                                     "/etc/mysql/my.cnf, which is of volume c",
		`{containers: [{name: db, image: "mysql:9", volumeMounts: [{name: c, mountPath: /etc/mysql/conf.d}]}], volumes: [{name: c, configMap: {name: includes}}]}`:                                                                                 "/etc/absent.cnf, which is in no ConfigMap that can be seen",
		`{containers: [{name: db, image: "mysql:9", volumeMounts: [{name: c, mountPath: /tmp}, {name: d, mountPath: /opt/bitnami/mysql/conf}]}], volumes: [{name: c, emptyDir: {}}, {name: d, emptyDir: {}}, {name: e, secret: {secretName: s}}]}`: "",
	} {
		s := read(t, spec, configMap("includes", map[string]string{"a.cnf": "!include /etc/absent.cnf\n"}))
		if want == "" {
			require.Empty(t, s.Hidden)
			continue
		}
		require.Equal(t, []string{want}, s.Hidden, spec)
	}
}

// TestScripts checks that an option in a script of several lines may be meant for some servers only.
func TestScripts(t *testing.T) {
	spec := `{containers: [{name: db, image: "mysql:9", args: [sh, /scripts/start.sh], volumeMounts: [{name: c, mountPath: /scripts}]}], volumes: [{name: c, configMap: {name: scripts}}]}`
	s := read(t, spec, configMap("scripts", map[string]string{"start.sh": "options=\"--defaults-file=/config/my.cnf --server-id=$((n + 1))\"\nmysqld $options --skip-log-bin --initialize\nexec mysqld $options\n"}))
	for _, name := range []string{"server_id", "log_bin"} {
		state, _ := s.Switch(name)
		require.Equal(t, Unclear, state, name)
	}
	require.Equal(t, []string{"/config/my.cnf, which is in no ConfigMap that can be seen", "what the script does that starts container db"}, s.Hidden)
	require.Equal(t, map[string]string{"server_id": "$ORDINAL", "read_only": ""}, flagsIn(`exec mysqld --server-id=$ORDINAL "--read-only"`))
}

// TestStates checks what servers take for ON.
func TestStates(t *testing.T) {
	for value, want := range map[string]State{"": On, "1": On, "on": On, "TRUE": On, "mysql-bin": On, "0": Off, "Off": Off, "false": Off, "$(X)": Unclear, "`date`": Unclear} {
		require.Equal(t, want, stateOf(value), value)
	}
	state, _ := Settings{}.Switch("read_only")
	require.Equal(t, Unset, state)
}

// TestConfigMapsThatAreRead checks that all are named that may hold settings.
func TestConfigMapsThatAreRead(t *testing.T) {
	set := pod(t, `
containers:
  - name: db
    envFrom: [{configMapRef: {name: env}}]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: one, key: a}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: b}}}]
volumes: [{name: a, configMap: {name: files}}, {name: b, projected: {sources: [{configMap: {name: projected}}, {secret: {name: s}}]}}]
`)
	require.Equal(t, []string{"env", "files", "one", "projected"}, ConfigMaps(set))
	env := Environment(set, &set.Spec.Template.Spec.Containers[0], Objects{ConfigMaps: []corev1.ConfigMap{configMap("env", map[string]string{"X": "1"}), configMap("one", map[string]string{"a": "2"})}})
	require.Equal(t, map[string]string{"X": "1", "A": "2", "B": ""}, env)
}

package manifests

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// sqlManifest is what mysql.yaml or mariadb.yaml holds.
type sqlManifest struct {
	name    string
	config  map[string]string            // of the ConfigMap
	secrets map[string]map[string]string // by name
	set     appsv1.StatefulSet
}

func readSQL(t *testing.T, flavor mysqltest.Flavor) sqlManifest {
	t.Helper()
	m := sqlManifest{name: strings.ToLower(string(flavor)), secrets: map[string]map[string]string{}}
	text, err := os.ReadFile(m.name + ".yaml")
	require.NoError(t, err)
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var config corev1.ConfigMap // and a Secret, as far as is looked at here
		require.NoError(t, yaml.Unmarshal([]byte(doc), &config))
		switch config.Kind {
		case "ConfigMap":
			m.config = config.Data
		case "Secret":
			var secret corev1.Secret
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &secret))
			m.secrets[secret.Name] = secret.StringData
			if strings.HasSuffix(secret.Name, "-rollcall-credentials") {
				require.Equal(t, m.name, secret.Labels[v1alpha1.LabelCluster], "the agents may use it")
			}
		case "StatefulSet":
			require.NoError(t, yaml.UnmarshalStrict([]byte(doc), &m.set))
		}
	}
	return m
}

// environment returns the environment of the container, as Kubernetes makes it.
func (m sqlManifest) environment(t *testing.T, pod string) []string {
	t.Helper()
	var out []string
	for _, e := range m.set.Spec.Template.Spec.Containers[0].Env {
		switch from := e.ValueFrom; {
		case from.FieldRef != nil:
			require.Equal(t, "metadata.name", from.FieldRef.FieldPath)
			out = append(out, e.Name+"="+pod)
		default:
			value, ok := m.secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key]
			require.True(t, ok, "%s: there is no %s in %s", e.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			out = append(out, e.Name+"="+value)
		}
	}
	return out
}

// TestSQLAccounts checks that the accounts equal those of the tests with real servers, and that the
// agent uses the account of its Secret.
func TestSQLAccounts(t *testing.T) {
	for _, flavor := range mysqltest.Flavors {
		m := readSQL(t, flavor)
		var lines []string
		for line := range strings.Lines(m.config["start.sh"]) {
			lines = append(lines, strings.TrimSpace(line))
		}
		for line := range strings.Lines(mysqltest.Accounts(flavor)) {
			require.True(t, slices.Contains(lines, strings.TrimSpace(line)), "%s: %s", m.name, line)
		}
		require.Equal(t, mysqltest.AgentUser, m.secrets[m.name+"-rollcall-credentials"]["username"])
		require.Equal(t, mysqltest.ReplicaUser, m.secrets[m.name+"-rollcall-credentials"]["replication-username"])
	}
}

// TestSQLNeverAllowsWrites checks that nothing but an agent makes a server writable.
func TestSQLNeverAllowsWrites(t *testing.T) {
	for _, flavor := range mysqltest.Flavors {
		m := readSQL(t, flavor)
		require.Contains(t, m.config["my.cnf"], "read_only = ON")
		require.NotContains(t, m.config["start.sh"], "read_only")
		require.NotContains(t, m.config["start.sh"], "read-only=")
		require.Equal(t, appsv1.OnDeleteStatefulSetStrategyType, m.set.Spec.UpdateStrategy.Type)
	}
}

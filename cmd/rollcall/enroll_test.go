package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/cli"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
	"github.com/rollcall-dev/rollcall/coordinator/status"
)

// All that a person has to type, and what it says; the second time it only says.
func TestEnroll(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	code, stdout, stderr := e.run("enroll", "search")
	require.Zero(t, code, stderr)
	require.Equal(t, `statefulset/search names its partition: 0
statefulset/search labelled rollcall.dev/cluster=search
databasecluster/search created
databasecluster/search: Kubernetes refuses to remove pods that Rollcall has not let go

Left to do, in this order:

 1. Put the label into the pod template of StatefulSet search,
    by the values of the chart, and upgrade the release. Rollcall holds that change until
    you approve it.
    Have the chart name the partition of StatefulSet search, too,
    which only the object has so far: spec.updateStrategy.rollingUpdate.partition: 0.

        metadata:    # of the pod template
          labels:
            rollcall.dev/cluster: search

 2. Let Rollcall restart each pod once, one at a time, for its agent.

        rollcall approve search -n prod --what adopt

 3. Follow it to its end.

        rollcall status search -n prod --wait --timeout 1h
`, stdout)
	require.Equal(t, "note: the engine is Solr, as the image docker.io/library/solr:9.10 says\n", stderr)
	require.Equal(t, []string{
		"dry POST databaseclusters", "dry PATCH search", "dry PATCH search", "PATCH search", "PATCH search", "POST databaseclusters",
	}, e.writes, "all is tried before any of it is done, and the DatabaseCluster is the last")
	require.Zero(t, *e.sets["search"].Spec.UpdateStrategy.RollingUpdate.Partition)
	require.Equal(t, "search", e.sets["search"].Labels[v1alpha1.LabelCluster])
	require.Empty(t, e.sets["search"].Spec.Template.Labels, "nothing that restarts a pod")
	require.Equal(t, model.Solr, e.made.Spec.Engine)

	e.writes = nil
	code, stdout, stderr = e.run("enroll", "search", "-o", "yaml")
	require.Zero(t, code, stderr)
	require.Empty(t, e.writes, "the second time nothing is written")
	require.Contains(t, stderr, "databasecluster/search is there, and is left as it is\nnothing to write: the StatefulSets are set up already\n")
	require.Contains(t, stderr, "Left to do")
	require.Equal(t, `apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata:
  name: search
  namespace: prod
spec:
  engine: Solr
  policy:
    maxShardUnavailable: 1
    maxUnavailable: 25%
`, stdout)
}

// What a dry run prints is a shell's, and writes nothing.
func TestEnrollDry(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	stdout := e.must("enroll", "search", "--dry-run", "--name", "books", "--observe")
	require.Equal(t, `kubectl -n prod patch statefulset search -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
kubectl -n prod label statefulset search rollcall.dev/cluster=books
kubectl apply -f - <<'EOF'
apiVersion: rollcall.dev/v1alpha1
kind: DatabaseCluster
metadata:
  name: books
  namespace: prod
spec:
  engine: Solr
  policy:
    maxShardUnavailable: 1
    maxUnavailable: 25%
  update:
    mode: Observe
EOF
`, stdout)
	require.Empty(t, e.writes)
	check := exec.CommandContext(t.Context(), "bash", "-n")
	check.Stdin = strings.NewReader(stdout)
	said, err := check.CombinedOutput()
	require.NoError(t, err, string(said))

	require.Contains(t, e.must("enroll", "search", "--dry-run", "-o", "json"), `"kind": "DatabaseCluster"`)
	e.must("enroll", "search")
	require.Equal(t, "# nothing would be written: all of it is there\n", e.must("enroll", "search", "--dry-run"))
}

// What Rollcall cannot work with is found before anything is written.
func TestEnrollStopsAtErrors(t *testing.T) {
	mysql := solr("search", func(s *appsv1.StatefulSet) {
		c := &s.Spec.Template.Spec.Containers[0]
		c.Image, c.Args = "mysql:9.7", []string{"--read-only", "--gtid-mode=ON", "--enforce-gtid-consistency", "--report-host=$(POD_NAME).db", "--server-id=$(ID)"}
	})
	e := newEnrollWorld(t, rolling(t), mysql)
	code, stdout, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFindings, code)
	require.Empty(t, stdout)
	said := strings.Join(strings.Fields(stderr), " ")
	require.Contains(t, said, "there is no Secret prod/search-rollcall-credentials with the username and password of the agents")
	require.Contains(t, said, "make it (keys username, password) for the account that deploy/docs/mysql.md#accounts grants")
	require.Contains(t, stderr, "error: nothing was written: 1 error that Rollcall cannot work with\n")

	secret := &corev1.Secret{Data: map[string][]byte{"username": []byte("rollcall"), "password": nil}}
	e.set(secretsPath+"mine", secret)
	code, _, stderr = e.run("enroll", "search", "--credentials-secret", "mine")
	require.Equal(t, cli.ExitFindings, code)
	require.Contains(t, stderr, "Secret prod/mine has no password of the agents\n")
	code, stdout, stderr = e.run("enroll", "search", "--credentials-secret", "mine", "--dry-run", "-o", "yaml")
	require.Equal(t, cli.ExitFindings, code, "a dry run says so, too")
	require.Contains(t, stdout, "\n    credentialsSecret: mine\n    host: 127.0.0.1\n")
	require.Contains(t, stderr, "Secret prod/mine has no password of the agents\n")
	require.Empty(t, e.writes)

	secret.Data["password"] = []byte("secret")
	stdout = e.must("enroll", "search", "--credentials-secret", "mine")
	require.Contains(t, stdout, "see that search-2, which goes first, is not the primary.")
	require.Contains(t, stdout, "deploy/docs/mysql.md#move-the-role-by-hand")
	require.Equal(t, "mine", e.made.Spec.Connection.CredentialsSecret)
}

// Who enrolls a database names the Secret with its password, and so allows it, if allowed to.
func TestEnrollLabelsTheSecret(t *testing.T) {
	secret := func() *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "prod", UID: "u9", ResourceVersion: "5", Labels: map[string]string{v1alpha1.LabelCluster: "logs"}},
			Data:       map[string][]byte{"username": []byte("rollcall"), "password": []byte("secret")},
		}
	}
	const command = "kubectl -n prod label secret mine rollcall.dev/cluster=logs.search --overwrite\n"
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.set(secretsPath+"mine", secret())
	stdout := e.must("enroll", "search", "--credentials-secret", "mine", "--dry-run")
	require.Contains(t, stdout, command+"kubectl apply -f - <<'EOF'\n")
	require.Empty(t, e.writes)

	e.denied = "dry PATCH mine"
	code, _, stderr := e.run("enroll", "search", "--credentials-secret", "mine")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "nothing was written: label Secret mine in namespace prod: ")
	require.Contains(t, stderr, "Whoever may write the Secret allows it for the agents: "+command)

	e.denied = ""
	stdout = e.must("enroll", "search", "--credentials-secret", "mine")
	require.Contains(t, stdout, "secret/mine labelled rollcall.dev/cluster=logs.search: agents of search may use it\ndatabasecluster/search created\n")
	require.Equal(t, "logs.search", e.objects[secretsPath+"mine"].(*corev1.Secret).Labels[v1alpha1.LabelCluster])

	// What somebody else's DatabaseCluster names nobody allows by enrolling.
	e = newEnrollWorld(t, rolling(t), solr("search"))
	e.set(secretsPath+"mine", secret())
	e.made = &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "search", Namespace: "prod", UID: "c1"}, Spec: model.Spec{Engine: model.Solr}}
	e.made.Spec.Connection.CredentialsSecret, e.made.Spec.Connection.Host = "mine", "evil.example"
	e.show()
	code, _, stderr = e.run("enroll", "search")
	require.Equal(t, cli.ExitFindings, code)
	said := strings.Join(strings.Fields(stderr), " ")
	require.Contains(t, said, strings.TrimSpace(command))
	require.Contains(t, said, "spec.connection.host is evil.example, which Secret prod/mine does not allow")
	require.Empty(t, e.writes)
}

func TestEnrollSaysWhatItDoesNotStopAt(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search", func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.TerminationGracePeriodSeconds, s.Spec.Template.Spec.Containers[0].ReadinessProbe = nil, nil
		s.Spec.Template.Labels = map[string]string{"app": "solr"}
	}))
	e.set("/apis/policy/v1/namespaces/prod/poddisruptionbudgets", policyv1.PodDisruptionBudgetList{Items: []policyv1.PodDisruptionBudget{{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-chart", Namespace: "prod"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "solr"}}},
	}}})
	e.coordinate = func(c *v1alpha1.DatabaseCluster) {
		initialized(c)
		c.Status.Conditions = append(c.Status.Conditions, v1alpha1.Condition{
			Type: v1alpha1.ConditionForeignBudget, Status: metav1.ConditionTrue, Message: "PodDisruptionBudget of-the-chart selects search-0",
		})
	}
	e.board.Publish(rolling(t, func(s *model.Snapshot) { s.Cluster.GuardEnforcing = false }))
	timeout, stdout, stderr := e.waits("  waiting: PodDisruptionBudget of-the-chart selects search-0\n", "enroll", "search")
	require.NotContains(t, stdout, "Left to do")
	require.Contains(t, stderr, "warning  budget  StatefulSet prod/search\n")
	require.Contains(t, stderr, "note: how to mend them: rollcall doctor search -n prod\n")
	require.Contains(t, stderr, "error: everything was written, but after "+timeout+" DatabaseCluster search is not ready to go on: PodDisruptionBudget of-the-chart selects search-0 (Done: 0 of 0 updated, 0 unavailable)")
}

// A write that is refused when the others were done leaves something to go on from.
func TestEnrollGoesOn(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.denied = "dry POST databaseclusters"
	code, _, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "error: nothing was written: not permitted: DatabaseCluster search in namespace prod: ")
	require.Equal(t, []string{e.denied}, e.writes)

	e.denied = "POST databaseclusters"
	code, stdout, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stdout, "labelled")
	require.Contains(t, stderr, "what is said above was written, and restarts nothing; the same command goes on from there\n")

	e.denied, e.writes = "", nil
	require.Contains(t, e.must("enroll", "search"), "databasecluster/search created\n")
	require.Equal(t, []string{"dry POST databaseclusters", "POST databaseclusters"}, e.writes)
}

// TestEnrollByEvents checks that enroll uses Events if the coordinator does not answer.
func TestEnrollByEvents(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.ports["7950"] = "127.0.0.1:1"
	e.set("/api/v1/namespaces/prod/events", corev1.EventList{Items: []corev1.Event{
		{Reason: status.EventGuardEnforced, InvolvedObject: corev1.ObjectReference{UID: "c1"}},
	}})
	require.Contains(t, e.must("enroll", "search"), "Kubernetes refuses to remove pods")

	e.set("/api/v1/namespaces/prod/events", corev1.EventList{})
	e.waits("waiting: there is no Event GuardEnforced of the last hour, and the coordinator could not be asked: ", "enroll", "search")
}

func TestEnrollOnlyObserves(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	e.board.Publish(rolling(t, func(s *model.Snapshot) { s.Cluster.GuardEnforcing = false }))
	stdout := e.must("enroll", "search", "--observe")
	require.Contains(t, stdout, "databasecluster/search: the coordinator has decided; nothing is guarded, as it asks for\n")
	require.Contains(t, stdout, "keep the label out of the\n    pod template, or Kubernetes rolls that change by itself.")
	require.Contains(t, stdout, `kubectl -n prod patch dbc search --type=merge -p '{"spec":{"update":{"mode":"Auto"}}}'`)
	require.Contains(t, stdout, "rollcall enroll search -n prod\n")
}

func TestEnrollWithoutRollcall(t *testing.T) {
	e := newEnrollWorld(t, rolling(t), solr("search"))
	delete(e.objects, listPath)
	e.serving = nil
	code, _, stderr := e.run("enroll", "search")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "error: nothing was written: the API server does not know DatabaseClusters: Rollcall is not installed there\n")
	code, _, stderr = e.run("enroll", "nobody")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "error: there is no StatefulSet nobody in namespace prod; there are search\n")
}

// The pages name what enroll links to.
func TestEnrollLinksLeadSomewhere(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "docs", "mysql.md"))
	require.NoError(t, err)
	require.Contains(t, string(text), "\n### Pods that ran before Rollcall\n")
	require.Contains(t, string(text), "\n## Accounts\n")
}

package suite

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/audit"
	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// rarely are rights that not every run makes use of, and what does.
var rarely = map[audit.Right]string{
	"list databaseclusters.rollcall.dev": listed,
	"list nodes":                         listed,
	"list poddisruptionbudgets.policy":   listed,
	"list pods":                          listed,
	"list statefulsets.apps":             listed,
	"list validatingadmissionpolicies.admissionregistration.k8s.io":       listed,
	"list validatingadmissionpolicybindings.admissionregistration.k8s.io": listed,
	"get statefulsets.apps":                     "update.rollingUpdate: Partition; make measure",
	"patch statefulsets.apps":                   "update.rollingUpdate: Partition; make measure",
	"delete pods":                               "update.method: Delete, and pods whose node is gone; make measure",
	"update secrets":                            "certificates are renewed, or an authority rotates; TestAccountsDoTheirWork, the step Rotation",
	"create tokenreviews.authentication.k8s.io": "somebody shows a token: --send-token, programs, ServiceAccounts; TestPeopleGiveNothingAway",
	"update services":                           "somebody has changed the agents' Service; package provision has tests of it",
	"patch databaseclusters.rollcall.dev":       "guard-expire finds a finalizer; TestAccountsDoTheirWork, make measure",
}

// listed: an API server that streams what there is (WatchList, as that of these
// tests does) is not asked for lists; older ones are.
const listed = "Kubernetes without WatchList"

// TestZRights runs last (its file is the last): what the manifests let our accounts
// do is what they did in all the tests before, by the API server's own log; no more
// and no less.
func TestZRights(t *testing.T) {
	b := bed(t)
	for _, database := range []string{"solr", "opensearch", "mysql", "mariadb", "foundationdb"} {
		if !slices.Contains(shared.loaded, database) {
			t.Skipf("this judges a run of all tests, and this one had no %s", database)
		}
	}
	file, ok := b.AuditLog()
	if !ok {
		t.Skip("an existing cluster's audit log cannot be read")
	}
	ctx := t.Context()
	for _, account := range []string{"rollcall-coordinator", "rollcall-guard"} {
		t.Run(account, func(t *testing.T) {
			role, err := b.Kube.RbacV1().ClusterRoles().Get(ctx, account, metav1.GetOptions{})
			require.NoError(t, err)
			rules := slices.Clone(role.Rules)
			own, err := b.Kube.RbacV1().Roles(testbed.InstallNamespace).List(ctx, metav1.ListOptions{})
			require.NoError(t, err)
			for _, r := range own.Items {
				if r.Name == account {
					rules = append(rules, r.Rules...)
				}
			}
			judgeRights(t, rules, file, "system:serviceaccount:"+testbed.InstallNamespace+":"+account)
		})
	}
}

func judgeRights(t *testing.T, rules []rbacv1.PolicyRule, file, user string) {
	t.Helper()
	requests, err := audit.ReadFile(file, user, shared.began)
	require.NoError(t, err)
	require.NotEmpty(t, requests, "the log has nothing of %s", user)
	used, refused := audit.Used(requests)
	require.Empty(t, refused, "asked for, and not allowed")
	given := audit.Given(rules)
	t.Logf("%d requests, %d rights given, %d used", len(requests), len(given), len(used))
	for _, right := range used {
		require.Contains(t, given, right, "used, though no rule of ours gives it")
	}
	var idle []audit.Right
	for _, right := range given {
		if _, known := rarely[right]; !known && !slices.Contains(used, right) {
			idle = append(idle, right)
		}
	}
	require.Empty(t, idle, "given, and never used")
}

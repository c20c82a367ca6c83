package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestGiven(t *testing.T) {
	require.Equal(t, []Right{"create pods/eviction", "get pods", "patch pods", "update databaseclusters.rollcall.dev/status"}, Given([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch", "get"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}, ResourceNames: []string{"x"}},
		{APIGroups: []string{""}, Resources: []string{"pods/eviction"}, Verbs: []string{"create"}},
		{APIGroups: []string{"rollcall.dev"}, Resources: []string{"databaseclusters/status"}, Verbs: []string{"update"}},
	}))
}

func TestUsed(t *testing.T) {
	const log = `{"verb":"get","requestReceivedTimestamp":"2026-11-20T12:00:00Z","user":{"username":"c"},"responseStatus":{"code":200}}
{"verb":"patch","requestReceivedTimestamp":"2026-11-20T12:00:00Z","user":{"username":"c"},"objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":409}}
{"verb":"patch","requestReceivedTimestamp":"2026-11-20T12:00:00Z","user":{"username":"c"},"objectRef":{"resource":"pods","namespace":"a"},"responseStatus":{"code":200}}
{"verb":"list","requestReceivedTimestamp":"2026-11-20T12:00:00Z","user":{"username":"c"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"forbid"}}
{"verb":"create","requestReceivedTimestamp":"2026-11-20T12:00:00Z","user":{"username":"c"},"objectRef":{"apiGroup":"events.k8s.io","resource":"events"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"allow"}}
`
	requests, err := Read(strings.NewReader(log), "c", time.Time{})
	require.NoError(t, err)
	used, refused := Used(requests)
	require.Equal(t, []Right{"create events.events.k8s.io", "patch pods"}, used)
	require.Equal(t, []Right{"list secrets"}, refused)
}

package audit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const us = "system:serviceaccount:rollcall-system:rollcall-coordinator"

func line(user, verb, resource, namespace, at string) string {
	return fmt.Sprintf(`{"verb":%q,"user":{"username":%q},"objectRef":{"resource":%q,"namespace":%q,"name":"x"},"requestReceivedTimestamp":%q}`+"\n",
		verb, user, resource, namespace, at)
}

func TestCost(t *testing.T) {
	log := line(us, "patch", "pods", "demo", "2026-11-20T11:59:59Z") + // before
		line(us, "patch", "pods", "demo", "2026-11-20T12:00:00Z") +
		line(us, "create", "events", "demo", "2026-11-20T12:00:01Z") +
		line(us, "update", "leases", "rollcall-system", "2026-11-20T12:00:01Z") +
		line("system:node:node1", "patch", "pods", "demo", "2026-11-20T12:00:01Z") +
		line(us, "watch", "pods", "demo", "2026-11-20T12:00:01Z") +
		line(us, "list", "pods", "", "2026-11-20T12:00:02Z") +
		`{"verb":"patch","user":{"username":"` + us // being written
	from, err := time.Parse(time.RFC3339, "2026-11-20T12:00:00Z")
	require.NoError(t, err)
	requests, err := Read(strings.NewReader(log), us, from)
	require.NoError(t, err)
	require.Equal(t, Spent{Writes: []string{"patch pods demo/x"}, Lists: []string{"list pods /x"}}, Cost(requests, "demo"))
}

func TestALineThatIsNotOne(t *testing.T) {
	_, err := Read(strings.NewReader("nonsense of "+us+"\n"), us, time.Time{})
	require.ErrorContains(t, err, "audit log, line 1")
}

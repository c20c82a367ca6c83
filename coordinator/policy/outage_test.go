package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// fdb-0 stayed behind when the others went to a version that does not talk to its own. It finds no
// database, and so cannot say whether it is a member; its agent says Red. It hosts nothing of the
// database, and no other pod may go either.
func TestPodLeftInAnOutageFollows(t *testing.T) {
	s := decodeYAML(t, []byte(`
version: 1
now: 2026-11-21T12:00:00Z
cluster:
  namespace: prod
  name: fdb
  uid: c1
  engine: {sameMinor: true, settleSeconds: 60}
  spec: {engine: FoundationDB, policy: {unit: All}}
  status:
    lastProgress: 2026-11-20T12:00:00Z
    lastDeparture: 2026-11-20T12:00:00Z
    initialized: true
    approvals: [{what: outage, by: kim}]
health: {verdict: Red, reason: the gossip has it so from fdb-0}
pools:
  - {name: fdb, replicas: 3, revision: v2, version: "7.3.63"}
pods:
  - {name: fdb-0, uid: u0, pool: fdb, ordinal: 0, zone: a, revision: v1, report: {uid: u0, member: Unknown}}
  - {name: fdb-1, uid: u1, pool: fdb, ordinal: 1, zone: b, revision: v2, report: {uid: u1, engineVersion: "7.3.63"}}
  - {name: fdb-2, uid: u2, pool: fdb, ordinal: 2, zone: c, revision: v2, report: {uid: u2, engineVersion: "7.3.63"}}
`))
	plan := Decide(s)
	require.NotEmpty(t, plan.Steps, plan.Text())
	s.Health.Verdict = model.VerdictRecoverable
	plan = Decide(s)
	require.NotEmpty(t, plan.Steps, plan.Text())
}

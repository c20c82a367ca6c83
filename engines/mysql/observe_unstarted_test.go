package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// unstarted is the only other agent that answers: that of a pod whose server has never
// run in it. It has not learned its node, so it is reached by its pod.
type unstarted struct {
	engines.Peers
	pod   string
	state replication.State
}

func (p unstarted) Look(_ context.Context, name string, _ bool) ([]byte, error) {
	if name != p.pod {
		return nil, errors.New("nobody is called " + name)
	}
	return json.Marshal(p.state)
}

// TestAServerThatHasNeverStarted checks that its pod was made again, with an image that does not
// start. The primary has written nothing since, so it still lists the connection of the server
// before; but the member's own agent says that nobody listens there.
func TestAServerThatHasNeverStarted(t *testing.T) {
	now := time.Now()
	down := replication.State{Down: true, Problem: "no server listens: connection refused", Looked: now}
	for name, c := range map[string]struct {
		state replication.State
		want  engines.Membership
		copy  engines.MemberState
		says  engines.Verdict
	}{
		"nobody listens":          {down, engines.MembershipNotLive, engines.MemberDown, engines.VerdictRecoverable},
		"it does not answer":      {replication.State{Problem: "too many connections", Looked: now}, engines.MembershipUnknown, engines.MemberUnknown, engines.VerdictUnknown},
		"it has just told a name": {replication.State{Node: "db-1" + ".db", Serving: true, Looked: now}, engines.MembershipLive, engines.MemberUnknown, engines.VerdictUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			v := primaryWithTwo()
			v.Self.State.Replicas[0].Host += ".db"
			e := newEngine(nil, Options{Peers: unstarted{pod: "db-1", state: c.state}})
			v.Others[0] = e.lookAt(t.Context(), engines.Peer{Pod: "db-1", Alive: true, Since: now.Add(-time.Minute)}, true)
			o := topology.Observe(v)
			require.Equal(t, c.says, o.Health.Verdict, o.Health.Reason)
			require.Len(t, o.Nodes, 3, "whom the primary lists is the pod, by a longer name")
			require.Contains(t, o.Nodes, engines.Node{Name: "db-1", Address: "db-1", State: c.want})
			require.Equal(t, c.copy, enginetest.States(t, o, "data")["db-1"])
		})
	}
}

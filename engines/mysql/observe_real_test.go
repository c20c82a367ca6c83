package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// neighbours reach each other's adapters without agents.
type neighbours struct {
	own     int
	engines []*Engine
	nodes   []string
	away    map[int]bool // agents
}

func (n neighbours) List() []engines.Peer {
	var out []engines.Peer
	for i, node := range n.nodes {
		if i != n.own {
			out = append(out, engines.Peer{Pod: node, Node: node, Alive: !n.away[i]})
		}
	}
	return out
}

func (n neighbours) Look(ctx context.Context, node string, fresh bool) ([]byte, error) {
	for i, name := range n.nodes {
		if name == node && !n.away[i] {
			return n.engines[i].Look(ctx, fresh)
		}
	}
	return nil, errors.New("nobody there")
}

func (n neighbours) Step(context.Context, string, engines.Step) ([]byte, error) {
	return nil, errors.New("none")
}

// TestRealObserve checks what all members report while things happen in the database.
func TestRealObserve(t *testing.T) {
	mysqltest.Each(t, func(t *testing.T, flavor mysqltest.Flavor) {
		servers := mysqltest.Start(t, mysqltest.Options{Flavor: flavor, Servers: 3, SemiSync: true})
		away := map[int]bool{}
		list := make([]*Engine, len(servers))
		var nodes []string
		for _, s := range servers {
			nodes = append(nodes, s.Address())
		}
		for i, s := range servers {
			o := realOptions(s)
			o.Peers = neighbours{own: i, engines: list, nodes: nodes, away: away}
			e, err := New(o)
			require.NoError(t, err)
			list[i] = e
			t.Cleanup(func() { require.NoError(t, e.Close()) })
		}
		observe := func(i int) engines.Observation {
			t.Helper()
			for j, e := range list { // as agents do all the time
				if !away[j] && j != i {
					_, err := e.Observe(t.Context())
					require.NoError(t, err)
				}
			}
			o, err := list[i].Observe(t.Context())
			require.NoError(t, err)
			return o
		}
		await := func(i int, is func(o engines.Observation) bool) engines.Observation {
			t.Helper()
			var o engines.Observation
			for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
				if o = observe(i); is(o) {
					return o
				}
			}
			require.FailNow(t, "it never came to that", "%+v", o)
			return o
		}
		require.NoError(t, mysqltest.Insert(mysqltest.Table(t, servers[0]), 1))
		for i := range servers {
			o := await(i, func(o engines.Observation) bool { return o.Health.Verdict == engines.VerdictGreen && o.Settled })
			require.Equal(t, engines.MembershipLive, o.Member)
			require.Empty(t, o.Veto+o.Busy)
			require.Len(t, enginetest.Group(t, o, "data").Members, 3)
			require.Len(t, enginetest.Group(t, o, "acks").Members, 2)
			require.Equal(t, map[string]engines.MemberState{nodes[0]: engines.MemberActive, nodes[1]: engines.MemberActive, nodes[2]: engines.MemberActive}, enginetest.States(t, o, "data"))
			require.Equal(t, i == 0, o.Roles[0] == "primary")
			require.Equal(t, i == 0, len(o.After) == 2)
		}

		away[2] = true // its agent only
		o := observe(0)
		require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
		require.Equal(t, engines.MemberUnknown, enginetest.States(t, o, "data")[nodes[2]])
		require.Equal(t, engines.MemberActive, enginetest.States(t, o, "acks")[nodes[2]])
		servers[2].Kill()
		n := 10
		o = await(0, func(o engines.Observation) bool {
			n++ // the primary notices when it sends something, else with a heartbeat after half a minute
			servers[0].Exec(fmt.Sprintf("INSERT INTO app.numbers VALUES (%d)", n))
			return enginetest.States(t, o, "data")[nodes[2]] == engines.MemberDown
		})
		require.Equal(t, engines.VerdictRecoverable, o.Health.Verdict, o.Health.Reason)
		servers[2].Restart()
		away[2] = false
		await(2, func(o engines.Observation) bool { return o.Settled })

		servers[1].Exec("STOP REPLICA")
		o = observe(2)
		require.Equal(t, engines.VerdictYellow, o.Health.Verdict)
		require.Contains(t, o.Health.Reason, nodes[1]+" has stopped replicating")
		servers[1].AllowWrites()
		o = observe(2)
		require.Equal(t, engines.VerdictRed, o.Health.Verdict)
		require.Contains(t, o.Health.Reason, "allow writes")
		servers[1].Exec("INSERT INTO app.numbers VALUES (7)")
		servers[1].RefuseWrites()
		o = observe(1)
		require.Contains(t, o.Veto, "has transactions that the primary has not")
		require.Equal(t, engines.MemberDown, enginetest.States(t, o, "data")[nodes[1]])

		servers[0].Kill()
		o = observe(2)
		require.Equal(t, engines.VerdictRed, o.Health.Verdict)
		require.Equal(t, "no member allows writes", o.Health.Reason)
		require.Equal(t, engines.MembershipNotLive, observe(0).Member)
	})
}

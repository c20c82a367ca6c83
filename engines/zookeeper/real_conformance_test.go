package zookeeper

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/web"
	"github.com/rollcall-dev/rollcall/engines/zookeeper/zookeepertest"
)

// TestRealConformance runs the suite against real servers, with a proxy before each that misbehaves
// when told to. The leader is member 0.
// The suite drains two members at once, so there are five.
func TestRealConformance(t *testing.T) {
	e := zookeepertest.Start(t, zookeepertest.Options{Voters: 5, Words: enough})
	servers := slices.Clone(e.Servers)
	leader := slices.Index(servers, e.Leader())
	servers[0], servers[leader] = servers[leader], servers[0]
	var fronts []*zookeepertest.Front
	var names []string
	for _, s := range servers {
		fronts, names = append(fronts, zookeepertest.NewFront(t, s.Address())), append(names, nodeOf(int64(s.ID)))
	}
	const timeout = time.Second
	enginetest.Run(t, enginetest.Harness{
		Role: true, InPlace: true, Elects: true, Patience: 10 * time.Second, Eventually: 30 * time.Second,
		Start: func(t *testing.T) enginetest.Database {
			for _, f := range fronts {
				f.Set(enginetest.Healthy)
			}
			w := enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
				e, err := New(Options{Access: web.Access{Host: "127.0.0.1", Port: fronts[i].Port, Timeout: timeout}, AdminPort: servers[i].AdminPort, Peers: peers})
				require.NoError(t, err)
				return e
			})
			db := databaseOn(w, func(i int, f enginetest.Fault) { fronts[i].Set(f) })
			db.Leads = func(i int) int {
				if servers[i].Mode() == "leader" {
					return 1
				}
				return 0
			}
			db.Connections = func() (open int) {
				for _, f := range fronts {
					open += f.Open()
				}
				return open
			}
			return db
		},
	})
}

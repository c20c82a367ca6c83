package galera

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/enginetest"
	"github.com/rollcall-dev/rollcall/engines/mysql/mysqltest"
)

// TestRealConformance runs the suite against real members, with a proxy before each that misbehaves
// when told to.
func TestRealConformance(t *testing.T) {
	g := mysqltest.StartGalera(t, mysqltest.GaleraOptions{Members: 3})
	var fronts []*mysqltest.Front
	var names []string
	for _, s := range g.Members {
		f := mysqltest.NewFront(t, s)
		f.Secret = mysqltest.AgentPassword
		fronts, names = append(fronts, f), append(names, s.Name)
	}
	enginetest.Run(t, enginetest.Harness{
		Role: true, Leaderless: true, Patience: 10 * time.Second, Eventually: 30 * time.Second,
		Start: func(t *testing.T) enginetest.Database {
			for _, f := range fronts {
				f.Set(enginetest.Healthy)
			}
			w := enginetest.NewWired(names, func(i int, peers engines.Peers) *Engine {
				o := realOptions(g.Members[i], peers)
				o.Port, o.MaxBytes = fronts[i].Port, 256<<10
				e, err := New(o)
				require.NoError(t, err)
				return e
			})
			return enginetest.Database{
				Members:     names,
				Engine:      func(i int) engines.Engine { return w.Engine(i) },
				Fault:       func(i int, f enginetest.Fault) { fronts[i].Set(f) },
				FailChanges: func(int) {}, // there are none
				Leads:       func(int) int { return 0 },
				Hosts:       func(int) int { return 2 },
				Leftovers:   func() []string { return nil },
				Leaves:      w.Leaves,
				Secrets:     []string{mysqltest.AgentPassword},
				Connections: func() (open int) {
					for _, f := range fronts {
						open += f.Open()
					}
					return open
				},
				Close: w.Close,
			}
		},
	})
}

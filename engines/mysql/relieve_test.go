package mysql

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
)

// adopted is db-2, the only one with an agent, which follows db-0.
func adopted() view {
	v := seen()
	v.self, v.others = v.others[1], nil
	return v
}

func TestWhoMayLead(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(v *view)
		node string
		why  string
	}{
		"who is followed":                   {func(*view) {}, "db-0", "db-2 follows db-0, which has no agent"},
		"another than who is followed":      {func(*view) {}, "db-1", ""},
		"who was followed":                  {func(v *view) { v.self.state.Source.Receiving = false }, "db-0", "db-2 follows db-0"},
		"nothing comes from the other one":  {func(v *view) { v.self.state.Source.Receiving = false }, "db-1", "nobody knows which member takes writes"},
		"no replication":                    {func(v *view) { v.self.state.Source = nil }, "db-1", "nobody knows"},
		"the own server is silent":          {func(v *view) { v.self.state.Serving = false }, "db-1", "nobody knows"},
		"the own server takes writes":       {func(v *view) { v.self.state.Source, v.self.state.Writes = nil, Allowed }, "db-0", ""},
		"a group elects":                    {func(v *view) { v.self.state.Group = &GroupState{Primary: true, Quorum: true} }, "db-0", ""},
		"the source is a peer that is away": {func(v *view) { v.others = []member{{peer: engines.Peer{Node: "db-0"}}} }, "db-1", ""},
		"the source is a replica that tells": {func(v *view) {
			v.others = seen().others[:1]
			v.others[0].state.Source = nil
			v.self.state.Source.Host = "db-1"
		}, "db-0", "nobody knows"},
		"a chain": {func(v *view) {
			v.others = seen().others[:1]
			v.self.state.Source.Host = "db-1"
		}, "db-0", "db-1 follows db-0"},
	} {
		v := adopted()
		c.edit(&v)
		why := v.mayLead(c.node)
		if c.why == "" {
			require.Empty(t, why, name)
		} else {
			require.Contains(t, why, c.why, name)
		}
	}
}

// TestPrimaryWithoutAnAgentIsNotLetGo: a neighbour lets replicas go, and says of the
// primary what a person can do. Once another one takes writes it may go, too.
func TestPrimaryWithoutAnAgentIsNotLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: MariaDB, members: 3}, false)
		w.agents[0].end()
		w.agents[1].end()
		relieve := func(node string) (engines.Progress, error) {
			return engines.HandoffOnBehalf(t.Context(), w.agents[2].engine,
				engines.Order{Kind: engines.Handoff, Claim: "adopt", Node: node, NotAfter: time.Now().Add(time.Minute)})
		}
		progress, err := relieve("db-1")
		require.NoError(t, err)
		require.Equal(t, engines.Done, progress.State, progress.Detail)
		_, err = relieve("db-0")
		require.ErrorIs(t, err, engines.ErrOwnAgentOnly)
		require.ErrorContains(t, err, "db-2 follows db-0, which has no agent: move the role to another member by hand, or, when a pause of all writes does no harm, open the pod's guard and delete it")
		require.Equal(t, Allowed, w.list[0].writes)

		w.agents[1].begin()
		w.list[0].writes, w.list[0].source, w.list[0].threads = RefusedBySQL, "db-1", true
		w.list[1].writes, w.list[1].source = Allowed, ""
		progress, err = relieve("db-0")
		require.NoError(t, err)
		require.Equal(t, engines.Done, progress.State, progress.Detail)
	})
}

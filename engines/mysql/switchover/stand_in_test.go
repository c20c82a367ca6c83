package switchover

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
	"github.com/stretchr/testify/require"
)

// adopted is db-2, the only one with an agent, which follows db-0.
func adopted() Input {
	v := seen()
	v.Self, v.Others = v.Others[1], nil
	return v
}

func TestWhoMayLead(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(v *Input)
		node string
		why  string
	}{
		"who is followed":                          {func(*Input) {}, "db-0", "db-2 follows db-0, which has no agent"},
		"another than who is followed":             {func(*Input) {}, "db-1", ""},
		"who was followed":                         {func(v *Input) { v.Self.State.Source.Receiving = false }, "db-0", "db-2 follows db-0"},
		"nothing comes from the other one":         {func(v *Input) { v.Self.State.Source.Receiving = false }, "db-1", "nobody knows which member takes writes"},
		"no replication":                           {func(v *Input) { v.Self.State.Source = nil }, "db-1", "nobody knows"},
		"the own server is silent":                 {func(v *Input) { v.Self.State.Serving = false }, "db-1", "nobody knows"},
		"the own server takes writes":              {func(v *Input) { v.Self.State.Source, v.Self.State.Writes = nil, replication.Allowed }, "db-0", ""},
		"a group elects":                           {func(v *Input) { v.Self.State.Group = &replication.GroupState{Primary: true, Quorum: true} }, "db-0", ""},
		"the source is a peer that is unavailable": {func(v *Input) { v.Others = []topology.Member{{Peer: engines.Peer{Node: "db-0"}}} }, "db-1", ""},
		"the source is a replica that tells": {func(v *Input) {
			v.Others = seen().Others[:1]
			v.Others[0].State.Source = nil
			v.Self.State.Source.Host = "db-1"
		}, "db-0", "nobody knows"},
		"a chain": {func(v *Input) {
			v.Others = seen().Others[:1]
			v.Self.State.Source.Host = "db-1"
		}, "db-0", "db-1 follows db-0"},
	} {
		v := adopted()
		c.edit(&v)
		why := v.MayLead(c.node)
		if c.why == "" {
			require.Empty(t, why, name)
		} else {
			require.Contains(t, why, c.why, name)
		}
	}
}

package mysql

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/stretchr/testify/require"
)

// adopted is db-2, the only one with an agent, which follows db-0.
func adopted() input {
	v := seen()
	v.self, v.others = v.others[1], nil
	return v
}

func TestWhoMayLead(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(v *input)
		node string
		why  string
	}{
		"who is followed":                   {func(*input) {}, "db-0", "db-2 follows db-0, which has no agent"},
		"another than who is followed":      {func(*input) {}, "db-1", ""},
		"who was followed":                  {func(v *input) { v.self.state.Source.Receiving = false }, "db-0", "db-2 follows db-0"},
		"nothing comes from the other one":  {func(v *input) { v.self.state.Source.Receiving = false }, "db-1", "nobody knows which member takes writes"},
		"no replication":                    {func(v *input) { v.self.state.Source = nil }, "db-1", "nobody knows"},
		"the own server is silent":          {func(v *input) { v.self.state.Serving = false }, "db-1", "nobody knows"},
		"the own server takes writes":       {func(v *input) { v.self.state.Source, v.self.state.Writes = nil, Allowed }, "db-0", ""},
		"a group elects":                    {func(v *input) { v.self.state.Group = &GroupState{Primary: true, Quorum: true} }, "db-0", ""},
		"the source is a peer that is away": {func(v *input) { v.others = []member{{peer: engines.Peer{Node: "db-0"}}} }, "db-1", ""},
		"the source is a replica that tells": {func(v *input) {
			v.others = seen().others[:1]
			v.others[0].state.Source = nil
			v.self.state.Source.Host = "db-1"
		}, "db-0", "nobody knows"},
		"a chain": {func(v *input) {
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

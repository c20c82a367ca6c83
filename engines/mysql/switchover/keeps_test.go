package switchover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestKeeps checks what a primary that was ordered to keep writes says of them. Writes that are
// stopped are not kept, and what was begun is not left.
func TestKeeps(t *testing.T) {
	for name, c := range map[string]struct {
		view func() Input
		edit func(v *Input)
		want engines.Writes
	}{
		"all is well":                   {seen, func(*Input) {}, engines.WritesReady},
		"a long write":                  {seen, func(v *Input) { v.Self.State.Writing = time.Minute }, engines.WritesKept},
		"nobody can take over":          {seen, func(v *Input) { v.Others[0].State.Serving, v.Others[1].State.Serving = false, false }, engines.WritesKept},
		"it is silent":                  {seen, func(v *Input) { v.Self.State.Serving = false }, engines.WritesUnknown},
		"another one notes a try of it": {seen, func(v *Input) { v.Others[0].State.Switch = frozen().Others[0].State.Switch }, engines.WritesUnknown},
		"writes are stopped":            {frozen, func(*Input) {}, engines.WritesUnknown},
		"somebody made it read-only": {seen, func(v *Input) {
			v.Self.State.Writes, v.ClosedElsewhere = replication.RefusedBySQL, true
		}, engines.WritesUnknown},
		"nobody else is there": {seen, func(v *Input) { v.Others = nil }, engines.WritesReady},
		"a replica": {seen, func(v *Input) {
			v.Wrote = false
			v.Self, v.Others[0] = v.Others[0], v.Self
		}, engines.WritesUnknown},
		"it restarts in place":                               {stays, func(*Input) {}, engines.WritesReady},
		"it restarts in place once a replica has everything": {stays, func(v *Input) { v.Others[1].State.Executed = serverID(0) + ":1-99" }, engines.WritesKept},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.view()
			c.edit(&v)
			a := Next(v)
			require.Equal(t, c.want, v.Keeps(a), "%+v", a)
		})
	}
}

package mysql

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

// TestFullDiskHoldsTheRole checks that a replica that receives nothing and says that it does not
// lag costs no client anything, and takes over once it has space.
func TestFullDiskHoldsTheRole(t *testing.T) {
	for _, setup := range []simSetup{{flavor: replication.MySQL, members: 2}, {flavor: replication.MariaDB, members: 2}, {flavor: replication.MySQL, members: 3, acks: 1}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(setup, true)
			for _, s := range w.list[1:] {
				s.full = s.id == 1 || setup.acks == 0
			}
			for range 100 {
				time.Sleep(250 * time.Millisecond)
				w.tick()
				for _, a := range w.agents {
					a.turn()
				}
			}
			w.after(20*time.Second, func() {
				require.Equal(t, replication.Allowed, w.list[0].writes, w.story())
				w.list[1].full = false
				w.note("SPACE")
			})
			w.run()
			require.Empty(t, w.violations, w.story())
			held, then, _ := strings.Cut(w.story(), "SPACE")
			require.Contains(t, held, "its disk may be full")
			require.NotContains(t, held, "stopWrites")
			require.Equal(t, 1, strings.Count(then, "db-0: stopWrites"), w.story())
			require.NotEqual(t, replication.Allowed, w.list[0].writes)
		})
	}
}

package mysql

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTrail(t *testing.T) {
	const apart = 10 * time.Second
	at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
	look := func(executed string) State {
		return State{Serving: true, Started: noon, Writes: Allowed, Executed: executed}
	}
	var tr trail
	for _, c := range []struct {
		at   int
		look State
		want mark
	}{
		{0, look("a"), mark{}},
		{9, look("b"), mark{}},
		{10, look("c"), mark{at(0), "a"}},
		{19, look("d"), mark{at(0), "a"}},
		{20, State{}, mark{at(0), "a"}}, // it hangs
		{25, look("e"), mark{at(10), "c"}},
		{26, State{Serving: true, Started: noon, Source: &Source{}, Executed: "f"}, mark{}},
		{40, look("g"), mark{}},
		{51, look("h"), mark{at(40), "g"}},
		{52, State{Serving: true, Started: at(51), Executed: "a"}, mark{}}, // it may have lost its end
		{62, State{Serving: true, Started: at(51), Executed: "b"}, mark{at(52), "a"}},
	} {
		tr.add(c.look, at(c.at), apart)
		require.Equal(t, c.want, tr.old, "%d s", c.at)
		require.True(t, tr.old.executed == "" || at(c.at).Sub(tr.old.at) >= apart)
	}
}

// TestFullDiskHoldsTheRole: a replica that receives nothing and says that it does not
// lag costs no client anything, and takes over once it has space.
func TestFullDiskHoldsTheRole(t *testing.T) {
	for _, setup := range []simSetup{{flavor: MySQL, members: 2}, {flavor: MariaDB, members: 2}, {flavor: MySQL, members: 3, acks: 1}} {
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
				require.Equal(t, Allowed, w.list[0].writes, w.story())
				w.list[1].full = false
				w.note("SPACE")
			})
			w.run()
			require.Empty(t, w.violations, w.story())
			held, then, _ := strings.Cut(w.story(), "SPACE")
			require.Contains(t, held, "its disk may be full")
			require.NotContains(t, held, "stopWrites")
			require.Equal(t, 1, strings.Count(then, "db-0: stopWrites"), w.story())
			require.NotEqual(t, Allowed, w.list[0].writes)
		})
	}
}

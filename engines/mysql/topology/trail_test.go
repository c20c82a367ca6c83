package topology

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
)

func TestTrail(t *testing.T) {
	const apart = 10 * time.Second
	at := func(s int) time.Time { return observedAt.Add(time.Duration(s) * time.Second) }
	look := func(executed string) replication.State {
		return replication.State{Serving: true, Started: observedAt, Writes: replication.Allowed, Executed: executed}
	}
	var tr Trail
	for _, c := range []struct {
		at   int
		look replication.State
		want Mark
	}{
		{0, look("a"), Mark{}},
		{9, look("b"), Mark{}},
		{10, look("c"), Mark{at(0), "a"}},
		{19, look("d"), Mark{at(0), "a"}},
		{20, replication.State{}, Mark{at(0), "a"}}, // it hangs
		{25, look("e"), Mark{at(10), "c"}},
		{26, replication.State{Serving: true, Started: observedAt, Source: &replication.Source{}, Executed: "f"}, Mark{}},
		{40, look("g"), Mark{}},
		{51, look("h"), Mark{at(40), "g"}},
		{52, replication.State{Serving: true, Started: at(51), Executed: "a"}, Mark{}}, // it may have lost its end
		{62, replication.State{Serving: true, Started: at(51), Executed: "b"}, Mark{at(52), "a"}},
	} {
		tr.Add(c.look, at(c.at), apart)
		require.Equal(t, c.want, tr.Old, "%d s", c.at)
		require.True(t, tr.Old.Executed == "" || at(c.at).Sub(tr.Old.At) >= apart)
	}
}

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
	var tr History
	for _, c := range []struct {
		at   int
		look replication.State
		want Checkpoint
	}{
		{0, look("a"), Checkpoint{}},
		{9, look("b"), Checkpoint{}},
		{10, look("c"), Checkpoint{at(0), "a"}},
		{19, look("d"), Checkpoint{at(0), "a"}},
		{20, replication.State{}, Checkpoint{at(0), "a"}}, // it hangs
		{25, look("e"), Checkpoint{at(10), "c"}},
		{26, replication.State{Serving: true, Started: observedAt, Source: &replication.Source{}, Executed: "f"}, Checkpoint{}},
		{40, look("g"), Checkpoint{}},
		{51, look("h"), Checkpoint{at(40), "g"}},
		{52, replication.State{Serving: true, Started: at(51), Executed: "a"}, Checkpoint{}}, // it may have lost its end
		{62, replication.State{Serving: true, Started: at(51), Executed: "b"}, Checkpoint{at(52), "a"}},
	} {
		tr.Add(c.look, at(c.at), apart)
		require.Equal(t, c.want, tr.Old, "%d s", c.at)
		require.True(t, tr.Old.Executed == "" || at(c.at).Sub(tr.Old.At) >= apart)
	}
}

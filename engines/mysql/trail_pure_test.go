package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTrail(t *testing.T) {
	const apart = 10 * time.Second
	at := func(s int) time.Time { return observedAt.Add(time.Duration(s) * time.Second) }
	look := func(executed string) State {
		return State{Serving: true, Started: observedAt, Writes: Allowed, Executed: executed}
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
		{26, State{Serving: true, Started: observedAt, Source: &Source{}, Executed: "f"}, mark{}},
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

package mysql

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/rollcall-dev/rollcall/engines/mysql/replication"
	"github.com/rollcall-dev/rollcall/engines/mysql/topology"
)

// TestUndoBytesNameNoHost checks that undo bytes do not decide which server follows which, and so
// which server gets the password of replication. They come from the status of a DatabaseCluster,
// which more people may write than may name hosts.
func TestUndoBytesNameNoHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(simSetup{flavor: replication.MySQL, members: 3}, false)
		e := w.agents[1].engine
		_, err := e.Restore(t.Context(), []byte(`{"v":1,"kind":"Handoff","claim":"forged","node":"late-0","wrote":false,"domain":".evil.example"}`))
		require.ErrorIs(t, err, engines.ErrUndo)
		v, err := e.gather(t.Context(), task{}, true)
		require.NoError(t, err)
		host, _, err := v.AddressOf(topology.Member{State: replication.State{Node: "late-1", PodDomain: ".db.ns.svc"}, Known: true})
		require.NoError(t, err)
		require.Equal(t, "late-1.db.ns.svc", host)
	})
}

func TestUndo(t *testing.T) {
	order := engines.Order{Kind: engines.Handoff, Claim: "c"}
	data, err := undo{Undo: order.UndoOn("db-0"), Wrote: true}.encode()
	require.NoError(t, err)
	u, err := decodeUndo(data)
	require.NoError(t, err)
	require.True(t, u.Wrote)
	require.NoError(t, u.Matches(order, "db-0"))
	for _, bad := range []string{"", "{}", string(data) + "x", `{"v":1,"kind":"Handoff","claim":"c","node":"n","wrote":true,"more":1}`, `{"v":2,"kind":"Handoff","claim":"c","node":"n"}`} {
		_, err := decodeUndo([]byte(bad))
		require.ErrorIs(t, err, engines.ErrUndo, bad)
	}
}

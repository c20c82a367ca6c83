package mysql

import (
	"testing"

	"github.com/rollcall-dev/rollcall/engines"
	"github.com/stretchr/testify/require"
)

func TestUndo(t *testing.T) {
	order := engines.Order{Kind: engines.Handoff, Claim: "c"}
	data, err := undo{Undo: order.UndoOn("db-0"), Wrote: true, Domain: ".db"}.encode()
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

package engines

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUndoIsSmall(t *testing.T) {
	order := Order{Kind: Evacuate, Claim: strings.Repeat("c", 200)}
	data, err := order.UndoOn(strings.Repeat("n", 253) + ":8983_solr").Encode()
	require.NoError(t, err)
	require.Less(t, len(data), MaxUndo)
}

func TestUndoMatchesItsOrder(t *testing.T) {
	order := Order{Kind: Handoff, Claim: "c"}
	u := order.UndoOn("n")
	require.NoError(t, u.Matches(order, "n"))
	for says, err := range map[string]error{
		"planned for Handoff, applied for Evacuate": u.Matches(Order{Kind: Evacuate, Claim: "c"}, "n"),
		`planned for claim "c", applied for "d"`:    u.Matches(Order{Kind: Handoff, Claim: "d"}, "n"),
		`planned for node "n", applied on "m"`:      u.Matches(order, "m"),
	} {
		require.ErrorIs(t, err, ErrUndo)
		require.ErrorContains(t, err, says)
	}
}

func TestDecodeUndoRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{}`, `null`, `[]`, `{"v":2,"kind":"Handoff","claim":"c","node":"n"}`, `{"v":1,"kind":"Dance","claim":"c","node":"n"}`,
		`{"v":1,"kind":"Handoff","claim":"c"}`, `{"v":1,"kind":"Handoff","node":"n"}`, `{"v":1,"kind":"Handoff","claim":"a/b","node":"n"}`,
		`{"v":1,"kind":"Handoff","claim":"c","node":"n","more":1}`, `{"v":1,"kind":"Handoff","claim":"c","node":"n"}x`,
		`{"v":1,"kind":"Handoff","claim":"c","node":"` + strings.Repeat("n", MaxUndo) + `"}`,
	} {
		_, err := DecodeUndo([]byte(in))
		require.ErrorIs(t, err, ErrUndo, in)
	}
}

func FuzzDecodeUndo(f *testing.F) {
	f.Add([]byte(`{"v":1,"kind":"Handoff","claim":"c","node":"n"}`))
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		u, err := DecodeUndo(in)
		if err != nil {
			require.ErrorIs(t, err, ErrUndo)
			return
		}
		out, err := u.Encode()
		require.NoError(t, err)
		again, err := DecodeUndo(out)
		require.NoError(t, err)
		require.Equal(t, u, again)
	})
}

func TestPlanned(t *testing.T) {
	order := Order{Kind: Handoff, Claim: "c1"}
	undo, err := order.UndoOn("a").Encode()
	require.NoError(t, err)
	own := func() (string, error) { return "a", nil }
	node, err := order.Planned(undo, own)
	require.NoError(t, err)
	require.Equal(t, "a", node)

	away := errors.New("does not answer")
	_, err = order.Planned(undo, func() (string, error) { return "", away })
	require.ErrorIs(t, err, away)
	_, err = order.Planned(undo, func() (string, error) { return "b", nil })
	require.ErrorIs(t, err, ErrUndo)

	unasked := func() (string, error) { t.Error("nobody is asked"); return "", nil }
	_, err = Order{Claim: "c1"}.Planned(undo, unasked)
	require.ErrorIs(t, err, ErrOrder)
	_, err = order.Planned([]byte("{}"), unasked)
	require.ErrorIs(t, err, ErrUndo)
}

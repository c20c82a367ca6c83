package engines

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOrdersAreChecked(t *testing.T) {
	for says, order := range map[string]Order{
		"":                             {Kind: Handoff, Claim: "ns_c.pod-0:1", Node: "n"},
		"kind Unknown":                 {Claim: "c"},
		"can only be handed over":      {Kind: Evacuate, Claim: "c", Node: "n"},
		"must be 1 to 200 characters":  {Kind: Evacuate},
		`claim "a/b": must be letters`: {Kind: Handoff, Claim: "a/b"},
		`"` + strings.Repeat("c", 200): {Kind: Handoff, Claim: strings.Repeat("c", 201)},
	} {
		err := order.Check()
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, ErrOrder)
		require.ErrorContains(t, err, says)
		if err := order.CheckAny(); order.Node != "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, says)
		}
	}
}

func TestSubject(t *testing.T) {
	require.Equal(t, "local", Order{}.Subject("local"))
	require.Equal(t, "other", Order{Node: "other"}.Subject("local"))
}

func TestInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Second)
		require.NoError(t, InTime(time.Time{}))
		require.NoError(t, InTime(end))
		time.Sleep(time.Second + 1)
		require.ErrorIs(t, InTime(end), ErrTooLate)
	})
}

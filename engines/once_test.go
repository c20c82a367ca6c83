package engines

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnce(t *testing.T) {
	var once Once
	tried, result := 0, errors.New("too slow")
	work := func(context.Context) error { tried++; return result }
	for range 3 {
		require.ErrorIs(t, once.Do(t.Context(), "a", work), result)
	}
	require.Equal(t, 1, tried, "a failure is remembered")

	result = nil
	require.NoError(t, once.Do(t.Context(), "b", work))
	require.NoError(t, once.Do(t.Context(), "b", work))
	require.Equal(t, 2, tried, "another claim tries again")

	broken, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, once.Do(broken, "c", work))
	require.NoError(t, once.Do(t.Context(), "c", work))
	require.Equal(t, 4, tried, "an attempt that was broken off is no attempt")
}

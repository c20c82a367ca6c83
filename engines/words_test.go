package engines

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSome(t *testing.T) {
	require.Empty(t, Some(nil))
	require.Equal(t, "a, b, c", Some([]string{"a", "b", "c"}))
	require.Equal(t, "a, b, c and 2 more", Some([]string{"a", "b", "c", "d", "e"}))
}

func TestTally(t *testing.T) {
	var late Tally[time.Duration]
	late.Add(time.Second)
	require.Equal(t, "late: 1s", late.Text("late:"))
	late.Add(time.Minute)
	require.Equal(t, 2, late.N)
	require.Equal(t, "late: 1s and 1 more", late.Text("late:"))

	var names Tally[string]
	names.Add("x/0")
	require.Equal(t, "no leader of x/0", names.Text("no leader of"))
}

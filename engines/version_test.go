package engines

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"2.19.4": {2, 19, 4}, "1.3.20": {1, 3, 20}, "3.0.0-beta1": {3, 0, 0}, "3.6.0-SNAPSHOT": {3, 6, 0},
	} {
		got, err := ParseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "2", "2.19", "two.1.0", "2.x.0", "-1.2.3", "1.2.3.4"} {
		_, err := ParseVersion(text)
		require.Error(t, err, text)
	}
	v, w := Version{2, 9, 0}, Version{2, 19, 0}
	require.Negative(t, v.Compare(w), "numbers, not text")
	require.Positive(t, w.Compare(v))
	require.Zero(t, v.Compare(v))
}

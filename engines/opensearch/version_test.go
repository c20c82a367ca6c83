package opensearch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]version{
		"2.19.4": {2, 19, 4}, "1.3.20": {1, 3, 20}, "3.0.0-beta1": {3, 0, 0}, "3.6.0-SNAPSHOT": {3, 6, 0},
	} {
		got, err := parseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "2", "2.19", "two.1.0", "2.x.0", "-1.2.3", "1.2.3.4"} {
		_, err := parseVersion(text)
		require.Error(t, err, text)
	}
	require.True(t, older("2.9.0", "2.19.0"), "numbers, not text")
	require.True(t, older("2.19.4", "3.0.0"))
	require.False(t, older("3.0.0", "3.0.0"))
	require.False(t, older("", "3.0.0"), "what is not known is not known to be older")
}

func TestFacts(t *testing.T) {
	f := new(Engine).Facts()
	require.Equal(t, 1, f.MaxMajorStep)
	require.NotEmpty(t, f.NodeDowngradeRefused)
}

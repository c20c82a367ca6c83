package solr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersions(t *testing.T) {
	for text, want := range map[string]version{
		"9.10.0": {9, 10}, "9.9.0": {9, 9}, "8.11.4": {8, 11}, "10.0.0-SNAPSHOT": {10, 0}, "9.3": {9, 3},
	} {
		got, err := parseVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "9", "nine.ten", "9.x.0", "-1.2", "9.-1"} {
		_, err := parseVersion(text)
		require.Error(t, err, text)
	}
	require.True(t, version{9, 10}.atLeast(version{9, 9}), "numbers, not text")
	require.True(t, version{10, 0}.atLeast(version{9, 10}))
	require.False(t, version{9, 2}.atLeast(balanceSince))
	require.True(t, version{9, 3}.atLeast(balanceSince))
}

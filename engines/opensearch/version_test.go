package opensearch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOlder(t *testing.T) {
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

package replication

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlacesOfOneLogAreCompared(t *testing.T) {
	for _, c := range []struct {
		a, b           Place
		reached, known bool
	}{
		{Place{"bin.000002", 4}, Place{"bin.000001", 900}, true, true},
		{Place{"bin.999999", 4}, Place{"bin.1000000", 4}, false, true},
		{Place{"bin.000002", 4}, Place{"bin.000002", 4}, true, true},
		{Place{"bin.000002", 4}, Place{"bin.000002", 5}, false, true},
		{Place{"bin.000002", 9}, Place{"other.000001", 4}, false, false},
		{Place{}, Place{}, false, false},
		{Place{"bin", 1}, Place{"bin", 1}, false, false},
		{Place{"bin.x", 1}, Place{"bin.x", 1}, false, false},
	} {
		reached, known := c.a.AtLeast(c.b)
		require.Equal(t, c.reached, reached, "%s %s", c.a, c.b)
		require.Equal(t, c.known, known, "%s %s", c.a, c.b)
	}
	require.Equal(t, "bin.000002:4", Place{"bin.000002", 4}.String())
}

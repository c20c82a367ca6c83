package inspect

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTopOfAView(t *testing.T) {
	view := "1\n2\n3\n4\n5\n"
	for rows, want := range map[int]string{
		0: view, 1: view, 6: view, 5: "1\n2\n3\n... and 2 more lines: see status\n", 3: "1\n... and 4 more lines: see status\n",
	} {
		require.Equal(t, want, string(topOf([]byte(view), rows)), rows)
	}
}

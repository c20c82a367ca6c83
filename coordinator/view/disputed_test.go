package view

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of a leader that only a majority names it is told that others disagree. After a change that not
// all have seen nobody disagrees who would know.
func TestDisputed(t *testing.T) {
	disputed := func(edits ...edit) bool {
		s, basis := Look(made(edits...))
		return basis.Disputed(s.Groups[0].ID)
	}
	require.False(t, disputed())
	require.True(t, disputed(says(2, leads(2))))
	require.False(t, disputed(says(0, leads(1)), says(1, leads(1)), observedAt(2, noon.Add(-2*time.Second))), "the old leader knows better than who has not looked since")
}

package race

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPart(t *testing.T) {
	tried := func(every int, detector, some bool) (n int) {
		for i := range 60 {
			if part(i, every, detector, some) {
				n++
			}
		}
		return n
	}
	require.Equal(t, 60, tried(15, false, false), "by hand and nightly")
	require.Equal(t, 20, tried(15, false, true), "on each commit")
	require.Equal(t, 60, tried(4, false, true))
	require.Equal(t, 4, tried(15, true, false), "with the detector")
	require.Equal(t, 4, tried(15, true, true))
}

func TestHeavy(t *testing.T) {
	ran := false
	t.Run("heavy", func(t *testing.T) {
		Heavy(t)
		ran = true
	})
	require.NotEqual(t, Enabled, ran)
}
